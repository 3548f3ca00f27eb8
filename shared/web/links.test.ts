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
])('the link in %j is %s', (text, address) => {
  expect(linkOf(text)).toBe(address);
  expect(
    linkParts(text)
      .map((part) => part.text)
      .join(''),
  ).toBe(text);
});

test.each([')', ').', '.'])('a URL followed by 400,000 times %j is found in linear time', (tail) => {
  const text = `http://a.example${tail.repeat(400_000)}`;
  expect(linkOf(text)).toBe('http://a.example');
  expect(linkOf(`${text}/x`)).toContain('http://a.example');
});
