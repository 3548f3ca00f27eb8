import { expect, test } from 'vitest';
import { settingsSchema, stricterOf } from './settings.ts';

type Fields = Record<string, unknown>;

const localSettings = settingsSchema(() => true);

/** Each setting by its path, with a more and a less permissive value; null for a setting that is no permission. */
const permissions: Record<string, [more: unknown, less: unknown] | null> = {
  paused: [false, true],
  // Other tests cover the ends of permissions, which have an effect only together with their power.
  until: null,
  sharedFolders: [['/home/ann'], []],
  'files.allowed': [true, false],
  'files.hidden': [['/home/ann'], []],
  'files.downloads': [['/home/ann'], []],
  'capture.screen': [true, false],
  'capture.camera': [true, false],
  'capture.audio': [true, false],
  'capture.keepPictures': [true, false],
  'system.allowed': [true, false],
  'system.programs': [['git', 'make'], ['git']],
  'system.ask': [false, true],
  // Deny rules are merged from both; allow rules only if both have them.
  'system.rules': null,
  'system.variables': [['TOKEN', 'API_KEY'], ['TOKEN']],
  'browser.allowed': [true, false],
  'browser.headed': null,
  'browser.allowHosts': [['example.org', 'example.com'], ['example.org']],
  'browser.blockHosts': [[], ['example.org']],
  'browser.privateHosts': [['127.0.0.1:4700'], []],
  'browser.evaluate': [true, false],
  'browser.withoutSandbox': [true, false],
  'browser.maxPages': null,
  'browser.idleSeconds': null,
};

const isGroup = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
const pathsOf = (value: Fields, before = ''): string[] =>
  Object.entries(value).flatMap(([key, inner]) =>
    isGroup(inner) ? pathsOf(inner, `${before}${key}.`) : `${before}${key}`,
  );
const at = (path: string, value: unknown) => {
  const settings = localSettings.parse({ system: { allowed: true }, browser: { allowed: true } }) as unknown as Fields;
  const keys = path.split('.');
  const last = keys.pop() as string;
  keys.reduce<Fields>((group, key) => group[key] as Fields, settings)[last] = value;
  return localSettings.parse(settings);
};
const read = (settings: object, path: string) =>
  path.split('.').reduce<unknown>((group, key) => (group as Fields)[key], settings);

test('every setting is listed in this test as a permission or as none', () => {
  expect(pathsOf(localSettings.parse({})).toSorted()).toEqual(Object.keys(permissions).toSorted());
});

test.each(
  Object.entries(permissions).flatMap(([path, values]) => (values === null ? [] : [[path, ...values] as const])),
)('merging two settings keeps the stricter value of %s, whatever their order', (path, more, less) => {
  expect(read(stricterOf(at(path, more), at(path, less)), path)).toEqual(less);
  expect(read(stricterOf(at(path, less), at(path, more)), path)).toEqual(less);
});

test('merging two lists without common entries turns the power off instead of leaving an empty list that allows all', () => {
  const own = localSettings.parse({
    system: { allowed: true, programs: ['uname'] },
    browser: { allowed: true, allowHosts: ['example.org'] },
  });
  const other = localSettings.parse({
    system: { allowed: true, programs: ['sh'] },
    browser: { allowed: true, allowHosts: ['example.com'] },
  });
  expect(stricterOf(own, other)).toMatchObject({
    system: { allowed: false, programs: ['uname'] },
    browser: { allowed: false, allowHosts: ['example.org'] },
  });
});
