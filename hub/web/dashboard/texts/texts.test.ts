import { expect, test } from 'vitest';
import { arabic } from './arabic.ts';
import { english } from './english.ts';
import { german } from './german.ts';

/** All texts of a table with their names, such as `common.roles.admin`. */
function textsOf(table: object, prefix = ''): [string, string][] {
  return Object.entries(table).flatMap(([name, value]) =>
    typeof value === 'string' ? [[prefix + name, value]] : textsOf(value as object, `${prefix}${name}.`),
  );
}

const placeholdersOf = (table: object) =>
  textsOf(table).map(([name, text]) => [name, (text.match(/\{\w+\}/g) ?? []).toSorted()]);

test.each([
  ['German', german],
  ['Arabic', arabic],
])('%s has every text of the dashboard with the same placeholders', (_language, table) => {
  expect(placeholdersOf(table)).toEqual(placeholdersOf(english));
});

test('no sentence is left in English in Arabic', () => {
  const translated = new Map(textsOf(arabic));
  // Names, keys and units of one or two words are often the same.
  const isSentence = (text: string) => /[a-z]{3,} [a-z]{2,} [a-z]{2,}/i.test(text);
  const same = textsOf(english).filter(([name, text]) => isSentence(text) && translated.get(name) === text);
  expect(same).toEqual([]);
});
