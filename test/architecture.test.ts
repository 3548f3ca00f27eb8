import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { importTable } from './architecture/import-table.ts';
import { findCycle, importsOf } from './architecture/imports.ts';
import { refusal, rules } from './architecture/rules.ts';

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx'], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(path))
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }));

describe('the import table', () => {
  test('holds for every file of the project', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(files.flatMap(importsOf).flatMap((found) => refusal(found) ?? [])).toEqual([]);
  });

  test.each(rules.map((rule) => [rule.name, rule] as const))(
    'refuses a forbidden import planted in %s',
    (_name, rule) => {
      expect(refusal(rule.forbids)).toContain(rule.forbids.from);
    },
  );

  test.each([
    ['a static import', "import { x } from '../hub/app.ts';"],
    ['a type import', "import type { App } from '../hub/app.ts';"],
    ['a re-export', "export { x } from '../hub/app.ts';"],
    ['a re-export of all', "export * from '../hub/app.ts';"],
    ['a dynamic import', "await import('../hub/app.ts');"],
    ['a require', "const app = require('../hub/app.ts');"],
    ['a computed import', 'await import(name);'],
  ])('sees %s', (_form, text) => {
    expect(importsOf({ path: 'shared/planted.ts', text }).map(refusal)).toEqual([
      expect.stringContaining('shared/planted.ts may not import'),
    ]);
  });

  test('stands in docs/architecture.md as it is enforced', () => {
    expect(readFileSync('docs/architecture.md', 'utf8')).toContain(
      `<!-- imports -->\n${importTable()}\n<!-- /imports -->`,
    );
  });

  test('lets nobody import in a circle', () => {
    expect(findCycle(files.filter(({ path }) => !path.startsWith('test/')).flatMap(importsOf))).toBeNull();
    expect(
      findCycle([
        { from: 'a.ts', target: 'b.ts' },
        { from: 'b.ts', target: 'a.ts' },
      ]),
    ).toEqual(['a.ts', 'b.ts', 'a.ts']);
  });

  test('lets only entry points of the hub read the environment', () => {
    const readers = files
      .filter(({ path, text }) => path.startsWith('hub/') && text.includes('process.env'))
      .map(({ path }) => path);
    expect(
      readers.filter(
        (path) =>
          !['hub/main.ts', 'hub/cli/context.ts'].includes(path) &&
          !/^hub\/(demo|dev)\//.test(path) &&
          !path.endsWith('.test.ts'),
      ),
    ).toEqual([]);
  });
});
