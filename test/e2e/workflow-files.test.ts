import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { inheritedEnv } from '../fixtures/processes.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let folder: string;
const name = `files ${process.hrtime.bigint()}`;

beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace(name);
  folder = await mkdtemp(join(tmpdir(), 'outrigger-files-'));
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function cli(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = {
    ...inheritedEnv(),
    OUTRIGGER_HOME: join(folder, 'home'),
    DATABASE_URL: hub.database.url,
    SECRET_KEY: 'ab'.repeat(32),
    NO_COLOR: '1',
  };
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [resolve('hub/cli/cli.ts'), 'workflow', ...args, '--workspace', name],
      { env, timeout: 120_000 },
      (error, stdout, stderr) => done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    child.stdin?.end();
  });
}

const inputs = { type: 'object' as const, properties: { guest: { type: 'string' as const, default: 'Ann' } } };

test('workflows are exported to files without secrets, and imported from the files after a diff is shown', async () => {
  const made = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'Night Watch',
      triggerJson: { type: 'webhook', webhook: { token: 'the-token-of-the-hub', events: ['order.paid'] } },
      stepsJson: [{ type: 'log', message: 'one' }],
      inputs,
    },
  });
  await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'Other', stepsJson: [{ type: 'log', message: 'x' }] },
  });
  const out = join(folder, 'out');
  expect(await cli('export', '--out', out)).toMatchObject({ code: 0 });
  expect((await readdir(out)).length).toBe(2);
  const path = join(out, (await readdir(out)).find((file) => file.startsWith('night-watch-')) as string);
  const text = await readFile(path, 'utf8');
  expect(text).not.toContain('the-token-of-the-hub');
  expect(JSON.parse(text)).toMatchObject({
    outrigger: 'workflow',
    id: made.id,
    name: 'Night Watch',
    active: true,
    stepsJson: [{ type: 'log', message: 'one' }],
    inputs,
  });

  // Importing an unchanged file changes nothing.
  expect(await cli('import', path, '--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('is unchanged') as string,
  });
  await writeFile(path, text.replace('"one"', '"two"'));
  const shown = await cli('import', path, '--dry-run');
  expect([
    shown.code,
    shown.stdout
      .split('\n')
      .filter((line) => /^[+-] /.test(line))
      .map((line) => line.replaceAll(/\s+/g, ' ')),
  ]).toEqual([0, ['- "message": "one",', '+ "message": "two",']]);
  expect((await workspace.api.call('listAutomationWorkflows', {})).data.find(({ id }) => id === made.id)?.version).toBe(
    1,
  );
  // Without --yes and without a terminal, nothing changes.
  expect(await cli('import', path)).toMatchObject({ code: 1, stderr: expect.stringContaining('--yes') as string });
  expect(await cli('import', path, '--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('update') as string,
  });
  const changed = (await workspace.api.call('listAutomationWorkflows', {})).data.find(({ id }) => id === made.id);
  expect(changed).toMatchObject({
    version: 2,
    stepsJson: [{ message: 'two' }],
    inputs,
    triggerJson: { webhook: { token: 'the-token-of-the-hub', events: ['order.paid'] } },
  });

  // A file of another hub creates a new workflow with a new webhook token.
  await workspace.api.call('deleteAutomationWorkflow', { params: { id: made.id } });
  const { stdout } = await cli('import', path, '--yes', '--json');
  expect(JSON.parse(stdout)).toMatchObject([{ name: 'Night Watch', action: 'create' }]);
  const fresh = (await workspace.api.call('listAutomationWorkflows', {})).data.find(
    ({ name: found }) => found === 'Night Watch',
  );
  expect(fresh?.inputs).toEqual(inputs);
  expect(fresh?.triggerJson).toMatchObject({
    webhook: { token: expect.stringMatching(/^[A-Za-z0-9_-]{32}$/) as string },
  });
});

test('an invalid file is refused with its path and the error', async () => {
  const bad = join(folder, 'bad.json');
  for (const [content, complaint] of [
    ['{', 'is not JSON'],
    ['{"name":"x"}', 'is not a workflow file'],
    ['{"outrigger":"workflow","name":"x","stepsJson":[]}', 'stepsJson must have at least one step'],
    [
      '{"outrigger":"workflow","name":"x","stepsJson":[{"type":"log","message":"x"}],"inputs":{"type":"object","properties":{"a":{}}}}',
      'inputs.properties.a.type is required',
    ],
    ['{"outrigger":"workflow","name":"x","stepsJson":[{"type":"skill","skillId":"no.such"}]}', 'there is no skill'],
  ] as const) {
    await writeFile(bad, content);
    const result = await cli('import', bad, '--yes');
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining(complaint) as string });
    expect(result.stderr).not.toMatch(/\bat [A-Za-z]+ \(/);
  }
  expect(await cli('import', join(folder, 'missing.json'))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the file does not exist') as string,
  });
  expect(await cli('export', 'no such workflow')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no workflow') as string,
  });
});
