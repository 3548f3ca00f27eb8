import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { inheritedEnv } from '../fixtures/processes.ts';

let database: TestDatabase;
let folder: string;
const env = () => ({ ...inheritedEnv(), OUTRIGGER_HOME: join(folder, 'home'), DATABASE_URL: database.url });
const program = resolve('hub/cli/cli.ts');

function run(input: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [program, ...args],
      { env: env(), timeout: 60_000 },
      (error, stdout, stderr) => done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}
const chat = (...args: string[]) => run('', 'chat', ...args, '--workspace', 'ours');

beforeAll(async () => {
  database = await acquireDatabase();
  folder = await mkdtemp(join(tmpdir(), 'outrigger-chat-cli-'));
  await run('', 'workspace', 'create', '--name', 'ours');
  const ann = ['user', 'create', '--email', 'ann@example.org', '--role', 'admin', '--workspace', 'ours'];
  await run('correct horse battery\n', ...ann);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

test('conversations are listed, followed, answered, assigned and closed on a terminal', async () => {
  expect((await chat('list')).stdout).toBe('none\n');
  expect((await chat('link', 'customer-1', '--name', 'Bo \u202Egnp.exe')).stdout).toMatch(
    /^http:\/\/127\.0\.0\.1:4400\/chat\?siteKey=wgt_\S+&token=cvt_\S+\n$/,
  );
  const [{ id }] = JSON.parse((await chat('list', '--json')).stdout) as [{ id: string }];
  const listed = (await chat('list')).stdout;
  expect(listed).toContain(id);
  // What would turn the text around is shown as what it is.
  expect(listed).not.toContain('\u202E');

  const following = spawn(process.execPath, [program, 'chat', 'follow', '--workspace', 'ours'], { env: env() });
  let followed = '';
  following.stdout.on('data', (chunk) => (followed += String(chunk)));
  // It looks for what is new once it knows what was there, which it does not say: a note at a time tells.
  await expect
    .poll(
      async () => {
        await chat('reply', id, 'Are you there?', '--note');
        return followed;
      },
      { timeout: 60_000 },
    )
    .toContain(`note by agent: Are you there?`);
  expect(await chat('reply', id, 'Hello Bo')).toMatchObject({ code: 0 });
  await expect.poll(() => followed).toContain('agent: Hello Bo');
  const ended = new Promise((done) => following.once('exit', (code) => done(code)));
  following.kill('SIGINT');
  expect(await ended).toBe(0);

  expect((await chat('assign', id, 'ann@example.org')).stdout).toBe(`${id} is assigned to ann@example.org\n`);
  expect((await chat('list', '--view', 'mine', '--as', 'ann@example.org')).stdout).toContain(id);
  expect((await chat('close', id)).stdout).toBe(`${id} is closed\n`);
  expect(await chat('reply', id, 'late')).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^outrigger: The conversation .* is closed/) as string,
  });
  expect((await chat('show', id)).stdout).toMatch(/agent: Hello Bo\n/);
});

test('the lines for a site are printed, and sites are allowed one after the other', async () => {
  expect((await chat('site')).stdout).toMatch(
    /^<script async src="http:\/\/\S+\/widget\.js" data-site-key="wgt_\S+"><\/script>\n\nMay be shown by: no site yet/,
  );
  await chat('site', '--allow', 'https://a.example.org');
  expect((await chat('site', '--allow', 'https://b.example.org')).stdout).toContain(
    'May be shown by: https://a.example.org, https://b.example.org\n',
  );
  expect(await chat('site', '--allow', 'https://b.example.org/shop')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^outrigger: allowedOrigins\.2 must be an origin such as/) as string,
  });
});

test('what can not be done is said in one line', async () => {
  expect(await chat('show', 'nonsense')).toMatchObject({ code: 1, stderr: 'outrigger: id must be a UUID\n' });
  expect(await chat('list', '--as', 'nobody@example.org')).toMatchObject({
    code: 1,
    stderr: 'outrigger: nobody@example.org is no member of the workspace ours\n',
  });
});
