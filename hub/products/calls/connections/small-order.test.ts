import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { isOfSmallOrder } from './small-order.ts';

test('isOfSmallOrder recognizes the keys that accept forged signatures and no regular key', () => {
  const key = (hex: string) => Buffer.from(hex, 'hex').toString('base64');
  for (const hex of [
    '00'.repeat(32),
    `${'00'.repeat(31)}80`,
    `01${'00'.repeat(31)}`,
    `ec${'ff'.repeat(30)}7f`,
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  ])
    expect(isOfSmallOrder(key(hex)), hex).toBe(true);
  const { publicKey } = generateKeyPairSync('ed25519');
  expect(isOfSmallOrder(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64'))).toBe(
    false,
  );
});
