import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasVisibleCharacter, visibleLine, visibleText } from './visible-text.ts';

describe('visible text marks misleading characters', () => {
  test.each([
    ['bidirectional controls', '\u061C\u200E\u200F\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069'],
    ['zero-width characters', '\u200B\u200C\u200D\u2060\u2061\u2064\uFEFF\u00AD\u034F\u180E'],
    ['invisible fillers', '\u115F\u1160\u3164\uFFA0\u17B4\u2800'],
    ['tags', '\u{E0001}\u{E0020}\u{E0041}\u{E007F}'],
    ['variation selectors', '\uFE00\uFE0F\u{E0100}\u{E01EF}\u180B'],
    ['interlinear annotation', '\uFFF9\uFFFA\uFFFB'],
    ['Unicode spaces', '\u00A0\u2003\u200A\u202F\u205F'],
    ['controls and separators', '\u0000\u001B\u007F\u009B\u2028\u2029\u0085'],
  ])('%s', (_what, characters) => {
    for (const character of characters) {
      const mark = `a⟨U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}⟩b`;
      expect([visibleText(`a${character}b`), visibleLine(`a${character}b`)]).toEqual([mark, mark]);
    }
  });

  test('at their position in the text', () => {
    expect(visibleText('pay 100\u202E001')).toBe('pay 100⟨U+202E⟩001');
  });

  test('without changing letters, digits and symbols of any script, or line breaks of a text', () => {
    for (const plain of ['Grüße, 東京　駅 שלום العربية हिन्दी 👍 €–“x”', 'é e\u0301'])
      expect([visibleText(plain), visibleLine(plain)]).toEqual([plain, plain]);
    expect(visibleText('a\r\n\tb\rc')).toBe('a\n\tb⟨U+000D⟩c');
    expect(visibleLine('a\nb\tc')).toBe('a⟨U+000A⟩b⟨U+0009⟩c');
  });

  test('with a short mark for any number of characters', () => {
    expect(visibleLine('\u200B'.repeat(100_000)).length).toBeLessThan(100);
  });

  test('and so many combining marks on one letter that they would cover other lines', () => {
    expect(visibleText(`a${'\u0301'.repeat(600)}b`)).toMatch(/^a⟨U\+0301.* and 592 more⟩b$/);
  });

  test('so that marking a marked text changes nothing', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 40 }),
        (text) =>
          visibleText(visibleText(text)) === visibleText(text) && visibleLine(visibleLine(text)) === visibleLine(text),
      ),
      { numRuns: 40 },
    );
  });
});

describe('a text has a visible character', () => {
  test.each(['a', '0', '-', '名', '\u0627', '👩\u200D💻', '\u200Ba\u202E', ' . '])('%j', (text) => {
    expect(hasVisibleCharacter(text)).toBe(true);
  });

  test.each([
    '',
    ' ',
    '\t\n',
    '\u00A0\u3000',
    '\u200B',
    '\u202E\u2066',
    '\u00AD',
    '\uFEFF',
    '\u3164\u115F\u2800',
    '\u{E0041}',
  ])('but not in %j', (text) => {
    expect(hasVisibleCharacter(text)).toBe(false);
  });
});
