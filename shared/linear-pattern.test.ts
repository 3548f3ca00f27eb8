import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LinearPattern, PatternError } from './linear-pattern.ts';

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
  ['^[[(?^|)$*]+$', '[(?^|)$*', true],
  ['^[\\]a\\\\-]+$', ']\\a-', true],
  ['^\\u{1f600}\\ud83d\\ude00[\\u{1f600}]$', '😀😀😀', true],
  ['^\\ud83d', '\ud83d', true],
  ['^\\ud83d', '😀', false],
  ['^\\cJ\\0\\/$', '\n\0/', true],
  ['((((){1000}){1000}){1000}){1000}', '', true],
  ['^(){999999999999}$', '', true],
  [`^${'('.repeat(90)}a${')'.repeat(90)}$`, 'a', true],
])('matching %s against %j returns %s', (source, text, expected) => {
  expect(matches(source, text)).toBe(expected);
});

test.each([
  ['(a', 'Unterminated group'],
  ['a)', 'Unmatched'],
  ['[a', 'Unterminated character class'],
  ['a{2', 'Incomplete quantifier'],
  ['a{x}', 'Incomplete quantifier'],
  ['a{3,2}', 'numbers out of order'],
  ['*a', 'Nothing to repeat'],
  ['a**', 'Nothing to repeat'],
  ['^*', 'Nothing to repeat'],
  [']', 'Lone quantifier brackets'],
  ['(?i)a', 'Invalid group'],
  ['[[:alpha:]]', 'Lone quantifier brackets'],
  ['\\Aa', 'Invalid escape'],
  ['\\', 'at end of pattern'],
  ['\\u12', 'Invalid Unicode escape'],
  ['[z-a]', 'Range out of order'],
  ['[\\d-z]', 'Invalid character class'],
  ['[a-\\d]', 'Invalid character class'],
  ['(?=a)', 'only (?: is supported'],
  ['(?<!a)b', 'only (?: is supported'],
  ['(?<n>a)', 'only (?: is supported'],
  ['(?i:a)', 'only (?: is supported'],
  ['(a)\\1', '\\1, which is not supported'],
  ['(?<n>a)\\k<n>', '\\k, which is not supported'],
  ['\\bword', '\\b, which is not supported'],
  ['\\p{L}', '\\p, which is not supported'],
  ['[^\\P{L}]', '\\P, which is not supported'],
  ['a{1001}', 'too large'],
  ['(((a{100}){100}){100}){100}', 'too large'],
  [`a{1,${'9'.repeat(190)}}`, 'too large'],
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

test('random syntax is refused, or matches the same texts as in ECMAScript', () => {
  const parts = [
    ...'ab^$.*+?()[]{}|/-,19:=<\n',
    '\\',
    '\\\\',
    '(?:',
    '\\d',
    '[^',
    '{1,2}',
    '\\u{61}',
    '\\x6',
    '\\u006',
    '\\ud83d',
    '\\ude00',
    '😀',
  ];
  const texts = fc.array(fc.constantFrom('a', 'b', '1', '-', '[', '\\', '\n', '\ud83d', '\ude00', '😀'), {
    maxLength: 5,
  });
  const native = (source: string) => {
    try {
      return new RegExp(source, 'u');
    } catch {
      return null;
    }
  };
  const seen = { refused: 0, matched: 0, unmatched: 0 };
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...parts), { maxLength: 12 }),
      fc.array(texts, { minLength: 1, maxLength: 5 }),
      (pieces, someTexts) => {
        const source = pieces.join('');
        const expected = native(source);
        let pattern: LinearPattern;
        try {
          pattern = new LinearPattern(source);
        } catch (error) {
          expect(error).toBeInstanceOf(PatternError);
          if (expected !== null) expect((error as PatternError).message).toMatch(/supported|too large/);
          seen.refused += 1;
          return;
        }
        expect(expected).not.toBeNull();
        for (const text of someTexts.map((letters) => letters.join(''))) {
          expect(pattern.test(text, plenty())).toBe(expected?.test(text));
          seen[expected?.test(text) === true ? 'matched' : 'unmatched'] += 1;
        }
      },
    ),
    { numRuns: 20_000 },
  );
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(500);
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
