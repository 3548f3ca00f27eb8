import { expect, test } from 'vitest';
import { linkParts } from './links.ts';

const linkOf = (text: string) => linkParts(text).find(({ href }) => href !== undefined)?.text;

test.each([
  ['see http://a.example/b.', 'http://a.example/b'],
  ['(http://a.example/b)', 'http://a.example/b'],
  ['http://a.example/b_(c)', 'http://a.example/b_(c)'],
  ['(see http://a.example/b_(c)).', 'http://a.example/b_(c)'],
  ['http://a.example/b).).', 'http://a.example/b'],
  ['http://a.example/(b.)!', 'http://a.example/(b.)'],
  ['http://a.example/b))x', 'http://a.example/b))x'],
])('the address in %j is %s', (text, address) => {
  expect(linkOf(text)).toBe(address);
  expect(
    linkParts(text)
      .map((part) => part.text)
      .join(''),
  ).toBe(text);
});

test.each([')', ').', '.'])('an address with %j behind it without end is found without end of patience', (tail) => {
  const text = `http://a.example${tail.repeat(400_000)}`;
  expect(linkOf(text)).toBe('http://a.example');
  expect(linkOf(`${text}/x`)).toContain('http://a.example');
});
