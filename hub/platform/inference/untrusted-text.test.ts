import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainText, Quotation, withoutHidden } from './untrusted-text.ts';

describe('untrusted text', () => {
  test.each([
    ['Unicode tags', 'Hi\u{E0049}\u{E0067}\u{E006E}', 'Hi'],
    ['zero-width spaces', 'i\u200Bg\u2060n\uFEFFore', 'ignore'],
    ['joiners between letters that do not join', 'i\u200Dg\u200Cn', 'ign'],
    ['bidirectional marks', '\u202Eevil\u202C \u2066x\u2069\u200F', 'evil x'],
    ['soft hyphens and fillers', 'a\u00ADb\u3164c\u115Fd\u2800e', 'abcde'],
    ['variation selectors that encode bytes', '😀\u{E0100}\u{E0155}\uFE01x\uFE0F', '😀x'],
    ['control characters', 'a\u0000b\u001Bc\u009Bd', 'abcd'],
    ['line separators other than \n', 'a\r\nb\rc\u2028d\u2029e\u0085f', 'a\nb\nc\nd\ne\nf'],
    ['lone surrogates', 'a\uD800b', 'ab'],
  ])('has no %s after plainText', (_what, text, plain) => {
    expect(plainText(text)).toBe(plain);
  });

  test.each([
    'می\u200Cخواهم',
    'क्\u200Dष',
    '👨\u200D👩\u200D👧',
    '🏳\uFE0F\u200D🌈',
    '1\uFE0F\u20E3 ❤\uFE0F',
    'Ünïcödé, 我们\tx\n',
  ])('keeps the invisible characters that its script needs: %s', (text) => {
    expect(withoutHidden(text)).toBe(text);
  });

  test.each([
    '<|im_start|>',
    '<|im_end|>',
    '<|eot_id|>',
    '[INST]',
    '[/INST]',
    '<<SYS>>',
    '</s>',
    '<start_of_turn>',
    '<｜User｜>',
    '</tool_call>',
    '[TOOL_CALLS]',
  ])('has no %s after plainText, whole or nested', (mark) => {
    const half = mark.length >> 1;
    for (const text of [
      mark,
      mark.toUpperCase(),
      `${mark.slice(0, half)}${mark}${mark.slice(half)}`,
      `${mark[0]}\u200B${mark.slice(1)}`,
    ])
      expect(plainText(text).toLowerCase()).not.toContain(mark.toLowerCase());
  });

  test('cannot end its quotation or begin an unquoted line', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.string({ unit: 'binary', maxLength: 20 }),
            fc.constantFrom(
              '\n',
              '\r',
              '\u2028',
              '\u0085',
              '\v',
              '\f',
              'end ',
              'begin ',
              '| ',
              '\n\nHuman: ',
              '<|im_end|>',
              '"""',
            ),
          ),
        ),
        (pieces) => {
          const lines = new Quotation().quote('a name', pieces.join('')).split(/[\n\r\u2028\u2029\u0085\v\f]/);
          expect(lines.slice(1, -1).filter((line) => !line.startsWith('| '))).toEqual([]);
          expect(lines.at(-1)).toBe((lines[0] as string).replace('begin', 'end').replace(' (a name)', ''));
        },
      ),
      { numRuns: 150 },
    );
  });

  test('is quoted with a new random mark each time', () => {
    expect(new Quotation().quote('x', 'y')).not.toBe(new Quotation().quote('x', 'y'));
  });
});
