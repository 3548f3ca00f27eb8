import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nameBlanks } from './exact-text.ts';

const named = (text: string) => nameBlanks(text, (kind, count) => `${count} ${kind}`);

test('long runs of line breaks and spaces are named', () => {
  expect(named(`ok${'\n'.repeat(1_892)}rm`)).toBe('ok⟨1892 lineBreaks⟩\nrm');
  expect(named(`ok${' \n'.repeat(5)}    rm`)).toBe('ok⟨5 lineBreaksAndSpaces⟩\n    rm');
  expect(named(`a${' '.repeat(200)}b${'\t'.repeat(20)}c`)).toBe('a⟨200 spaces⟩b⟨20 spacesAndTabs⟩c');
  expect(named('a\r\nb\u3000c')).toBe('a⟨U+000D⟩\nb⟨U+3000⟩c');
});

test('line breaks at the end are named, because they show nothing', () => {
  expect(named('yes\n')).toBe('yes⟨1 lineBreak⟩');
  expect(named('yes\n\n')).toBe('yes⟨2 lineBreaks⟩');
});

test('code is as it was written', () => {
  const code = 'if true; then\n    echo  "two  spaces"\n\n\tdone\nfi';
  expect(named(code)).toBe(code);
});

test('everything but blank characters stays, and no text becomes long and blank', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r', 'x', '⟨'), maxLength: 200 }), (text) => {
      const shown = named(text);
      expect([...shown].filter((character) => character === 'x').length).toBe(text.split('x').length - 1);
      expect(shown).not.toMatch(/\n[ \t]*\n[ \t]*\n[ \t]*\n| {17}/);
    }),
    { numRuns: 100 },
  );
});

test('a long text of blank characters takes no long time', () => {
  expect(named(`${' '.repeat(2_000_000)}x`)).toBe('⟨2000000 spaces⟩x');
});
