import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { arabic } from './arabic.ts';
import { english } from './english.ts';
import type { TextLoaders } from './english.ts';
import { german } from './german.ts';

/** All tables of a language. */
const loadAll = async (loaders: TextLoaders): Promise<object> =>
  Object.fromEntries(
    await Promise.all(Object.entries(loaders).map(async ([table, load]) => [table, await load()] as const)),
  );

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
])('%s has every text of the dashboard with the same placeholders', async (_language, loaders) => {
  expect(placeholdersOf(await loadAll(loaders))).toEqual(placeholdersOf(await loadAll(english)));
});

test('German has one word for approvals, and one for machines', async () => {
  const others = /[Gg]enehmig|[Mm]aschine|\bNodes?\b(?!\.js)/;
  expect(textsOf(await loadAll(german)).filter(([, text]) => others.test(text))).toEqual([]);
});

test('no sentence is left in English in Arabic', async () => {
  const translated = new Map(textsOf(await loadAll(arabic)));
  // Names, keys and units of one or two words are often the same.
  const isSentence = (text: string) => /[a-z]{3,} [a-z]{2,} [a-z]{2,}/i.test(text);
  const same = textsOf(await loadAll(english)).filter(
    ([name, text]) => isSentence(text) && translated.get(name) === text,
  );
  expect(same).toEqual([]);
});

const dashboard = resolve(import.meta.dirname, '..');
const router = join(dashboard, 'app/router.tsx');
const tables = Object.keys(english).filter((table) => table !== 'common');

/** The tables of texts that a source file uses. */
const usedIn = (source: string) => {
  // Both `words.inbox` and `const { inbox } = words`.
  const destructured = [...source.matchAll(/\{([^{}]*)\} = (?:useWords\(\)|(?:useLanguage\(\)\.)?words);/g)]
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => name.split(':')[0]?.trim());
  const properties = [...source.matchAll(/(?:\bwords|useWords\(\))\.(\w+)/g)].map(([, name]) => name);
  return tables.filter((table) => destructured.includes(table) || properties.includes(table));
};

/** The tables that a file and its imports in the dashboard use. */
function usedFrom(path: string, found = new Set<string>(), seen = new Set([router])): Set<string> {
  if (seen.has(path)) return found;
  seen.add(path);
  const source = readFileSync(path, 'utf8');
  for (const table of usedIn(source)) found.add(table);
  for (const [, imported = ''] of source.matchAll(/(?:^import (?!type)[^;]*? from |\bimport\()'(\.[^']+\.tsx?)'/gm))
    usedFrom(resolve(dirname(path), imported), found, seen);
  return found;
}

test('each page loads the tables of texts that it and its parts use, and no others', () => {
  const pages = [
    ...readFileSync(router, 'utf8').matchAll(/lazyPage\(\s*\[([^\]]*)\],\s*\(\) => import\('([^']+)'\)/g),
  ].map(([, names = '', path = '']) => ({ path, loaded: [...names.matchAll(/\w+/g)].map(String).toSorted() }));
  expect(pages.length).toBeGreaterThan(20);
  const used = pages.map(({ path }) => ({
    path,
    loaded: [...usedFrom(resolve(dirname(router), path))].toSorted(),
  }));
  expect(pages).toEqual(used);
});

test('the frame around the pages uses only the texts that every page has', () => {
  expect([...usedFrom(join(dashboard, 'main.tsx'))]).toEqual([]);
});

/** The actions that the products write to the audit log. */
function auditActions(): string[] {
  const products = resolve(dashboard, '../../products');
  const sources = readdirSync(products, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(products, file), 'utf8'));
  return sources.flatMap((source) => {
    const lines = source.split('\n').filter((line) => /\baction: |#record\(/.test(line));
    const whole = lines.flatMap((line) =>
      [...line.matchAll(/'([a-z_-]+\.[a-z_]+)'/g)].map(([, action = '']) => action),
    );
    // In some files, the action has a fixed first part.
    const [, first] = /action: `([a-z_]+)\.\$\{what\}`/.exec(source) ?? [];
    const parts =
      first === undefined ? [] : [...source.matchAll(/\bactor, '([a-z_]+)'/g)].map(([, part]) => `${first}.${part}`);
    return [...whole, ...parts];
  });
}

test('every action of the audit log has a text', async () => {
  const { audit } = await english.settings();
  const actions = [...new Set(auditActions())].toSorted();
  expect(actions).toEqual(
    expect.arrayContaining(['member.invited', 'call_connection.secret_rotated', 'sip_trunk.updated']),
  );
  expect(actions.filter((action) => !Object.hasOwn(audit.actions, action))).toEqual([]);
});
