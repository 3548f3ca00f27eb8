import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pagesOf } from './pictures/dashboard-pages.ts';

const dashboard = join(import.meta.dirname, '../hub/web/dashboard');
const sourceOf = (file: string) => readFileSync(join(dashboard, file), 'utf8');

/** The addresses of the pictures, with the same id for every object. */
const addresses = Object.values(pagesOf(new Proxy({} as Parameters<typeof pagesOf>[0], { get: () => 'id' })));
const paths = addresses.map((path) => path.replace(/\?.*/, '').replace(/^\/app\/?/, '/'));

/** The addresses of a route with and without its optional parameter, each with the paths that it matches. */
const addressesOf = (route: string): (readonly [address: string, pattern: RegExp])[] => {
  const required = route.replace(/\/\{-\$\w+\}$/, '');
  const patternOf = (address: string) => new RegExp(`^${address.replaceAll(/\{-\$\w+\}|\$\w+/g, '[^/]+')}$`);
  return [...new Set([required, route])].map((address) => [address, patternOf(address)] as const);
};

test('every route of the dashboard has a picture', () => {
  const routes = [...sourceOf('app/router.tsx').matchAll(/^  path: '([^']+)',$/gm)].map(([, path = '']) => path);
  expect(routes.length).toBeGreaterThan(20);
  const missing = routes
    .flatMap(addressesOf)
    .filter(([, pattern]) => !paths.some((path) => pattern.test(path)))
    .map(([address]) => address);
  expect(missing).toEqual([]);
});

test('every page to sign in, to sign up and for passwords has a picture', () => {
  const folder = join(import.meta.dirname, '../hub/products/core/identity');
  const pages = readdirSync(folder)
    .filter((name) => name.endsWith('pages.ts'))
    .flatMap((name) => [...readFileSync(join(folder, name), 'utf8').matchAll(/method: 'GET',\s+path: '([^']+)'/g)])
    .map(([, path]) => path);
  expect(pages).toEqual(expect.arrayContaining(['/sign-in', '/sign-up', '/join']));
  expect(pages.filter((path) => !addresses.includes(path as string))).toEqual([]);
});

/** The names in a part of a source file. */
const namesIn = (file: string, part: RegExp, name: RegExp): string[] =>
  [...(part.exec(sourceOf(file))?.[1] ?? '').matchAll(name)].map(([, found = '']) => found);

test.each([
  [
    'section of the settings',
    '/settings/',
    namesIn('features/settings/sections.ts', /const sections = \{\n(.*?)\n\} as const/s, /^ {2}'?([\w-]+)'?: \{/gm),
  ],
  [
    'tab of a workflow',
    '/workflows/id/',
    namesIn('features/workflows/workflow-page.tsx', /const tabNames = \['overview', (.*)\]/, /'(\w+)'/g),
  ],
  ['tab of a node', '/nodes/id/', namesIn('features/nodes/node-page.tsx', /const tabs = \{(.*)\}/, /(\w+): /g)],
  ['view of a run', '/runs/id?view=', namesIn('features/run/run-search.ts', /const runViews = \[(.*)\]/, /'(\w+)'/g)],
])('every %s has a picture', (_part, prefix, names) => {
  expect(names.length).toBeGreaterThan(2);
  expect(names.filter((name) => !addresses.includes(`/app${prefix}${name}`))).toEqual([]);
});
