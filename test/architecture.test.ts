import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { importTable } from './architecture/import-table.ts';
import { findCycle, importsOf } from './architecture/imports.ts';
import { retiredNamesOf } from './architecture/retired-words.ts';
import { refusal, rules } from './architecture/rules.ts';
import { slowPatternsIn } from './architecture/slow-patterns.ts';
import { ambiguousNames, statementsOf } from './architecture/statements.ts';
import { tableWritesOf } from './architecture/table-writes.ts';

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
  ])('detects %s', (_form, text) => {
    expect(importsOf({ path: 'shared/planted.ts', text }).map(refusal)).toEqual([
      expect.stringContaining('shared/planted.ts may not import'),
    ]);
  });

  test('equals the table in docs/internals/architecture.md', () => {
    expect(readFileSync('docs/internals/architecture.md', 'utf8')).toContain(
      `<!-- imports -->\n${importTable()}\n<!-- /imports -->`,
    );
  });

  test('allows no import cycle', () => {
    expect(findCycle(files.filter(({ path }) => !path.startsWith('test/')).flatMap(importsOf))).toBeNull();
    expect(
      findCycle([
        { from: 'a.ts', target: 'b.ts' },
        { from: 'b.ts', target: 'a.ts' },
      ]),
    ).toEqual(['a.ts', 'b.ts', 'a.ts']);
  });

  test('allows only entry points of the hub to read the environment', () => {
    const readers = files
      .filter(({ path, text }) => path.startsWith('hub/') && text.includes('process.env'))
      .map(({ path }) => path);
    expect(
      readers.filter(
        (path) =>
          !['hub/main.ts', 'hub/cli/context.ts', 'hub/web/build.ts'].includes(path) &&
          !/^hub\/(demo|dev)\//.test(path) &&
          !path.endsWith('.test.ts'),
      ),
    ).toEqual([]);
  });
});

describe('a statement in SQL', () => {
  const sources = files.filter(({ path }) => path.startsWith('hub/') && !path.endsWith('.test.ts'));

  test('has a name that no other statement uses', () => {
    const statements = sources.flatMap(statementsOf);
    expect(statements.length).toBeGreaterThan(100);
    expect(ambiguousNames(statements)).toEqual([]);
  });

  test.each([
    ['a string', "tx.query('a', 'SELECT 1', []);", "db.systemStatement<Row>('a', `SELECT 2`, []);"],
    [
      'a string whose name depends on a condition',
      "tx.query(x ? 'b' : 'a', 'SELECT 1', []);",
      "tx.query('a', 'SELECT 2', []);",
    ],
    ['a constant', "tx.query('a', statement, []);", "this.#deps.db.systemStatement('a', statement, []);"],
  ])('is reported if its name also stands for %s in another file', (_what, one, other) => {
    const planted = [
      { path: 'hub/one.ts', text: one },
      { path: 'hub/other.ts', text: other },
    ].flatMap(statementsOf);
    expect(ambiguousNames(planted)).toEqual(['a (hub/one.ts, hub/other.ts)']);
  });

  test('may share its name with the same statement', () => {
    const planted = ['hub/one.ts', 'hub/other.ts'].flatMap((path) =>
      statementsOf({ path, text: "tx.query('a', 'SELECT 1', []);" }),
    );
    expect(planted).toHaveLength(2);
    expect(ambiguousNames(planted)).toEqual([]);
  });

  const isRaw = (text: string) => /\.execute(<[^;]*>)?\(\s*sql`/.test(text);

  test('is never a raw statement for the query builder', () => {
    expect(sources.filter(({ text }) => isRaw(text)).map(({ path }) => path)).toEqual([]);
    expect(isRaw('await tx.execute<{ n: number }>(\n  sql`SELECT 1 AS n`,\n);')).toBe(true);
  });
});

describe('what has to wait for a commit', () => {
  // A caller can forget to call a returned function, or call it although the transaction was rolled back.
  const returned = /\bcommitted\??: \(\) => |Promise<\(?\(\) => void\b/;

  const sources = files.filter(({ path }) => /^hub\/(engine|products|platform\/db)\//.test(path));

  test('is left to the transaction by `onCommit`, `publish` and `wakeWorkers`, and not returned to its caller', () => {
    expect(sources.length).toBeGreaterThan(100);
    expect(sources.filter(({ text }) => returned.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test.each([
    'interface Written { committed: () => void }',
    'async function write(tx: Transaction): Promise<() => void> {',
    'receive(tx: Transaction): Promise<(() => void) | null>;',
  ])('is seen when it is returned: %s', (text) => {
    expect(text).toMatch(returned);
  });

  // Such an event may arrive before the commit, or although the transaction was rolled back.
  const published =
    /\bafterCommit\b|\b[eE]vents\.publish\(|\b(?:publish|wake)[A-Z]\w*\(\s*(?:[\w#]+\.)*#?\w*[eE]vents\b/;

  test('is published by `tx.publish`: only events about what no transaction writes are published without one', () => {
    const publishers = sources.filter(({ path, text }) => !path.endsWith('.test.ts') && published.test(text));
    expect(publishers.map(({ path }) => path)).toEqual([
      'hub/products/ai/replies/answer-turn.ts',
      'hub/products/ai/replies/delta-publisher.ts',
      'hub/products/calls/trunk/trunk-keeper.ts',
      'hub/products/chat/agents/presences.ts',
      'hub/products/chat/live/agent-socket-gateway.ts',
      'hub/products/chat/live/live-chat.ts',
      'hub/products/chat/live/visitor-socket-gateway.ts',
      'hub/products/chat/visitor-page/visitor-chat.ts',
      'hub/products/nodes/connections/channels.ts',
    ]);
  });

  test.each([
    'this.#deps.events.publish(nodeTopic(id), {});',
    'afterCommit(() => wake(tenantId));',
    'publishAccessChange(this.#deps.events, tenantId);',
    "publishChatChange(this.#events, tenantId, id, { kind: 'conversation' });",
    'wakeTrunks(platform.events);',
  ])('is seen when it is published without a transaction: %s', (text) => {
    expect(text).toMatch(published);
  });
});

describe('a test of the API', () => {
  test('writes to tables only through the helpers of test/fixtures/stage', () => {
    const tests = files.filter(({ path }) => /^test\/api\/[^/]+\.test\.ts$/.test(path));
    expect(tests.length).toBeGreaterThan(50);
    expect(tests.flatMap(tableWritesOf)).toEqual([]);
  });

  test.each([
    ['an insert', "await hub.database.query('insert into runs (id) values ($1)', [id]);"],
    ['an update', "await hub.database.query<Row>(\n  `UPDATE runs r SET status = 'failed' WHERE id = $1`, [id]);"],
    ['a delete', "tx.query('', 'delete from runs', []);"],
    ['a write after WITH', 'db.query(`WITH one AS (SELECT 1) INSERT INTO runs (id) SELECT 1 FROM one`);'],
    ['a write inside WITH', 'db.query(`with gone as (delete from runs returning id) select id from gone`);'],
    ['a second statement', "client.query('BEGIN; UPDATE runs SET attempt = 2');"],
    ['a write to a computed table', 'db.query(`delete from ${table}`);'],
    ['a constant', "const statement = 'delete from runs';"],
    ['a statement of the query builder', 'tx.execute(sql`update runs set attempt = ${2}`);'],
  ])('is reported with %s', (_what, text) => {
    expect(tableWritesOf({ path: 'test/api/planted.test.ts', text })).toEqual([
      expect.stringContaining('test/api/planted.test.ts: '),
    ]);
  });

  test.each([
    "db.query('select id from runs where status = $1 for update', ['deleted']);",
    "db.query('with made as (select 1) select * from made');",
    'text.includes(\'insert into "audit_log"\');',
    "test('update a run and delete from its list', () => undefined);",
  ])('may contain %s', (text) => {
    expect(tableWritesOf({ path: 'test/api/planted.test.ts', text })).toEqual([]);
  });
});

describe('a regular expression', () => {
  test('takes linear time on every text', () => {
    const sources = files.filter(({ path }) => /^(?:hub|node-agent|shared)\//.test(path) && !path.includes('.test.'));
    expect(sources.flatMap(slowPatternsIn)).toEqual([]);
  });

  test('does not block the process, and texts are normalized by normalizeText', () => {
    const sources = files.filter(({ path }) => path.startsWith('hub/') && !path.includes('.test.'));
    expect(sources.filter(({ text }) => /\.normalize\(/.test(text)).map(({ path }) => path)).toEqual([
      'hub/platform/normalize.ts',
    ]);
  });

  test.each([
    'text.split(/\\s*;\\s*/)',
    "text.replace(/\\/+$/, '')",
    '/^(?:a+)+$/.test(text)',
    '/{{\\s*(.*?)\\s*}}/.exec(text)',
  ])('is reported if it does not take linear time: %s', (text) => {
    expect(slowPatternsIn({ path: 'hub/planted.ts', text })).toHaveLength(1);
  });
});

describe('a name', () => {
  const sources = files.filter(({ path }) => /^(?:hub|node-agent|shared)\//.test(path));

  test('uses the terms of the glossary and none of the retired words', () => {
    expect(sources.flatMap(retiredNamesOf)).toEqual([]);
  });

  test.each([
    ['a variable', 'const heldRun = 1;'],
    ['a function', 'function tellReaders() {}'],
    ['a parameter', 'const run = (whoever: string) => whoever;'],
    ['a destructured parameter', 'function run({ run: heldRun }: { run: string }) { return heldRun; }'],
    ['a class', 'class Farewells {}'],
    ['a private field', 'class Calls { #doomed = 1; }'],
    ['a property of a type', 'interface Call { saidAt: Date }'],
  ])('is reported with a retired word in %s', (_what, text) => {
    expect(retiredNamesOf({ path: 'hub/planted.ts', text })).toHaveLength(1);
  });

  test.each([
    'const { heldRun: run } = engine;',
    "const code = 'owner_said_no';",
    'const columns = { is_held: true };',
    'import { heldRun as run } from "./engine.ts";',
    'const household = 1;',
  ])('may be %s', (text) => {
    expect(retiredNamesOf({ path: 'hub/planted.ts', text })).toEqual([]);
  });
});
