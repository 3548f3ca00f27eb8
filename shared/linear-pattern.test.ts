import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LinearPattern } from './linear-pattern.ts';
import { PatternError } from './pattern-syntax.ts';

const plenty = () => ({ left: Number.POSITIVE_INFINITY });
const matches = (source: string, text: string) => new LinearPattern(source).test(text, plenty());
const workOf = (source: string, text: string) => {
  const budget = { left: 1e12 };
  new LinearPattern(source).test(text, budget);
  return 1e12 - budget.left;
};

test.each([
  ['^[a-z]+$', 'abc', true],
  ['^[a-z]+$', 'abc1', false],
  ['b', 'abc', true],
  ['^(?:cat|dog)s?$', 'dogs', true],
  ['^(?:cat|dog)s?$', 'dogss', false],
  ['^\\d{4}-\\d{2}$', '2026-11', true],
  ['^\\d{4}-\\d{2}$', '2026-1', false],
  ['^[^\\s,]{2,}$', 'a b', false],
  ['^.$', '😀', true],
  ['^[\\w.-]+@[\\w-]+\\.\\w+$', 'ada@example.org', true],
  ['^$', '', true],
  ['(a|)*$', 'b', true],
  ['^[\\u0041-\\x43\\-]+$', 'AB-C', true],
  ['^[\\D]$', '1', false],
  ['^[^\\W_]$', '_', false],
])('matching %s against %j returns %s', (source, text, expected) => {
  expect(matches(source, text)).toBe(expected);
});

test.each([
  ['(a', 'does not close a group'],
  ['a)', 'closes a group that it does not open'],
  ['[a', 'does not close ['],
  ['a{2', 'does not close {'],
  ['a{x}', '{ without a count'],
  ['a{3,2}', 'from more to fewer'],
  ['a{1001}', 'more than 1000 times'],
  ['*a', 'repeats nothing'],
  ['a**', 'repeats a repetition'],
  ['^*', 'repeats ^ or $'],
  [']', 'by itself'],
  ['(?=a)', 'only (?: is supported'],
  ['(?<!a)b', 'only (?: is supported'],
  ['(?<n>a)', 'only (?: is supported'],
  ['(a)\\1', '\\1, which is not supported'],
  ['\\bword', '\\b, which is not supported'],
  ['\\p{L}', '\\p, which is not supported'],
  ['\\', 'ends with \\'],
  ['\\u12', '4 hexadecimal digits'],
  ['\\ud83d', 'an unpaired surrogate'],
  ['[z-a]', 'ends before it begins'],
  ['[\\d-z]', 'from a set'],
  ['[a-\\d]', 'to a set'],
  ['(((a{100}){100}){100}){100}', 'too large'],
  ['((((){1000}){1000}){1000}){1000}', 'too large'],
  [`${'('.repeat(30)}a${')'.repeat(30)}`, 'nests more than 20'],
  ['a'.repeat(201), 'more than 200 characters'],
])('the pattern %j is refused because it %s', (source, reason) => {
  expect(() => new LinearPattern(source)).toThrow(PatternError);
  expect(() => new LinearPattern(source)).toThrow(reason);
});

const { source: someSource } = fc.letrec<{ source: string; atom: string; sequence: string }>((tie) => ({
  atom: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(
      'a',
      'b',
      '-',
      '.',
      '\\d',
      '\\W',
      '\\s',
      '[ab]',
      '[^a]',
      '[a-c1]',
      '[\\D]',
      '[^\\s-]',
      '\\.',
      '^',
      '$',
      '😀',
    ),
    tie('source').map((inner) => `(?:${inner})`),
    tie('source').map((inner) => `(${inner})`),
  ),
  sequence: fc
    .array(fc.tuple(tie('atom'), fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '{0}', '{2,}', '*?')), {
      maxLength: 4,
    })
    .map((items) => items.map(([atom, times]) => (atom === '^' || atom === '$' ? atom : `${atom}${times}`)).join('')),
  source: fc.array(tie('sequence'), { minLength: 1, maxLength: 3 }).map((options) => options.join('|')),
}));

test('patterns match the same texts as ECMAScript regular expressions with the flag u', () => {
  const texts = fc.array(fc.constantFrom('a', 'b', 'c', '1', '-', '.', ' ', '\n', '😀'), { maxLength: 8 });
  fc.assert(
    fc.property(someSource, texts, (source, letters) => {
      fc.pre(source.length <= 60);
      const text = letters.join('');
      expect(matches(source, text)).toBe(new RegExp(source, 'u').test(text));
    }),
    { numRuns: 3_000 },
  );
});

describe('the matching work grows linearly with the text', () => {
  test.each([
    ['^(a+)+$', 'a', '!'],
    ['^(a|a)*$', 'a', '!'],
    ['(.*)*x', 'a', ''],
    ['^(a?){20}a{20}$', 'a', 'b'],
    ['a*a*a*a*a*b', 'a', ''],
    ['^([\\w.]+@)+$', 'a.', '!'],
    ['\\s+$', ' ', 'x'],
  ])('%s', (source, unit, end) => {
    const work = (times: number) => workOf(source, unit.repeat(times) + end);
    expect(work(4_000)).toBeLessThanOrEqual(work(2_000) * 2.05);
    expect(work(2_000)).toBeLessThanOrEqual(2_000 * unit.length * 200);
  });

  test('for random patterns', () => {
    fc.assert(
      fc.property(someSource, fc.constantFrom('a', 'ab', '1 ', '-.'), (source, unit) => {
        fc.pre(source.length <= 60);
        const work = (times: number) => workOf(source, unit.repeat(times));
        expect(work(800)).toBeLessThanOrEqual(work(400) * 2.1 + 1_000);
      }),
      { numRuns: 300 },
    );
  });

  test('matching returns null when the work budget is used up', () => {
    const budget = { left: 10_000 };
    expect(new LinearPattern('^(a|a)*$').test('a'.repeat(1_000_000), budget)).toBeNull();
    expect(budget.left).toBeGreaterThan(-2_000);
  });
});
