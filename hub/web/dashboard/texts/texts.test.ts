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

test('no text is the English one in Arabic, except names and symbols', () => {
  const translated = new Map(textsOf(arabic));
  const same = textsOf(english).filter(([name, text]) => /[a-z]{4}/i.test(text) && translated.get(name) === text);
  expect(same.filter(([, text]) => !/^(Outrigger|\{[^}]+\}[\s·:/]*)+$/.test(text))).toEqual([]);
});
