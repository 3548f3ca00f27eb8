import { expect, test } from 'vitest';
import { anonymizeAddress } from './anonymous-address.ts';

test.each([
  ['203.0.113.77', '203.0.113.0'],
  ['::ffff:203.0.113.77', '203.0.113.0'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::'],
  ['::1', '::'],
  ['nonsense', null],
])('%s is anonymized to %s', (address, kept) => {
  expect(anonymizeAddress(address)).toBe(kept);
});
