import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { cli, inheritedEnv, startHubProcess } from '../fixtures/processes.ts';

// Each command is a process, which takes more than 10 seconds on a busy machine.
vi.setConfig({ testTimeout: 300_000 });

let database: TestDatabase;
let folder: string;
const env = () => ({ ...inheritedEnv(), OUTRIGGER_HOME: join(folder, 'home'), DATABASE_URL: database.url });
const program = resolve('hub/cli/cli.ts');

function run(input: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [program, ...args],
      { env: env(), timeout: 120_000 },
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

test('chat commands list, follow, answer, assign and close conversations', async () => {
  expect((await chat('list')).stdout).toBe('none\n');
  expect((await chat('link', 'customer-1', '--name', 'Bo \u202Egnp.exe')).stdout).toMatch(
    /^http:\/\/127\.0\.0\.1:4400\/chat\?siteKey=wgt_\S+&token=cvt_\S+\n$/,
  );
  const [{ id }] = JSON.parse((await chat('list', '--view', 'all', '--json')).stdout) as [{ id: string }];
  const listed = (await chat('list', '--view', 'all')).stdout;
  expect(listed).toContain(id);
  // Characters that reverse the text are escaped.
  expect(listed).not.toContain('\u202E');

  const following = spawn(process.execPath, [program, 'chat', 'follow', '--workspace', 'ours'], { env: env() });
  let followed = '';
  following.stdout.on('data', (chunk) => (followed += String(chunk)));
  // The command prints nothing when it is ready. Adds notes until the first one is printed.
  await expect
    .poll(
      async () => {
        await chat('reply', id, 'Are you there?', '--note');
        return followed;
      },
      { timeout: 120_000 },
    )
    .toContain(`note by agent: Are you there?`);
  expect(await chat('reply', id, 'Hello Bo')).toMatchObject({ code: 0 });
  await expect.poll(() => followed).toContain('agent: Hello Bo');
  const ended = new Promise((done) => following.once('exit', (code) => done(code)));
  following.kill('SIGINT');
  expect(await ended).toBe(0);

  expect((await chat('assign', id, 'ann@example.org')).stdout).toBe(`${id} is assigned to ann@example.org\n`);
  expect((await chat('list', '--view', 'mine', '--as', 'ann@example.org')).stdout).toMatch(
    new RegExp(`${id}.*ann@example\\.org`),
  );
  expect((await chat('close', id)).stdout).toBe(`${id} is closed\n`);
  expect(await chat('reply', id, 'late')).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^outrigger: The conversation .* is closed/) as string,
  });
  expect((await chat('show', id)).stdout).toMatch(/agent: Hello Bo\n/);
});

const hasScript = spawnSync('script', ['--version']).status === 0;

test.skipIf(!hasScript)('Ctrl-C and Ctrl-D end chat follow without an error (needs script)', async () => {
  const link = JSON.parse((await chat('link', 'customer-2', '--json')).stdout) as { conversationId: string };
  for (const key of ['\u0003', '\u0004']) {
    const command = `exec '${process.execPath}' '${program}' chat follow ${link.conversationId} --workspace ours`;
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { env: env() });
    let shown = '';
    terminal.stdout.on('data', (chunk) => (shown += String(chunk)));
    const ended = new Promise((done) => terminal.once('exit', (code) => done(code)));
    await chat('reply', link.conversationId, 'before');
    // The message appears when it is stored, next to the typed text.
    terminal.stdin.write(`typed\n`);
    await expect.poll(() => shown).toMatch(/agent: before[^]*agent: typed/);
    terminal.stdin.write(key);
    expect(await ended).toBe(0);
  }
});

test('chat follow reports that the hub is unreachable, and continues once it is back', async () => {
  const ours = { OUTRIGGER_HOME: join(folder, 'embedded'), PORT: '0', HOST: '127.0.0.1' };
  await mkdir(ours.OUTRIGGER_HOME);
  const alone = { ...inheritedEnv(), ...ours };
  expect(spawnSync(process.execPath, [program, 'chat', 'follow'], { env: alone, encoding: 'utf8' })).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(
      /^outrigger: There is no hub in the data folder .*\. Set OUTRIGGER_HOME .* --hub URL\.\n$/,
    ) as string,
  });
  const hub = await startHubProcess(ours);
  const { conversationId } = JSON.parse(await cli(ours, 'chat', 'link', 'customer-1', '--json')) as {
    conversationId: string;
  };
  await cli(ours, 'chat', 'reply', conversationId, 'before');
  const following = spawn(process.execPath, [program, 'chat', 'follow', conversationId], { env: alone });
  let followed = '';
  let errors = '';
  following.stdout.on('data', (chunk) => (followed += String(chunk)));
  following.stderr.on('data', (chunk) => (errors += String(chunk)));
  const ended = new Promise((done) => following.once('close', (code) => done(code)));
  await expect.poll(() => followed).toContain('agent: before\n');
  await hub.stop();
  await expect.poll(() => errors).toContain('The hub is unavailable');
  await startHubProcess(ours);
  await cli(ours, 'chat', 'reply', conversationId, 'after');
  await expect.poll(() => followed).toContain('agent: after\n');
  following.kill('SIGINT');
  expect(await ended).toBe(0);
  expect(followed.match(/agent: /g)).toHaveLength(2);
  expect(errors.split('\n').slice(1)).toEqual([
    'The hub is unavailable; reconnecting. Press Ctrl-C to stop.',
    'The hub is available again.',
    '',
  ]);
});

test('chat site prints the snippet for a site, and allows one site per command', async () => {
  expect((await chat('site')).stdout).toMatch(
    /^<script async src="http:\/\/\S+\/widget\.js" data-site-key="wgt_\S+"><\/script>\n\nAllowed sites: no site yet/,
  );
  await chat('site', '--allow', 'https://a.example.org/');
  expect((await chat('site', '--allow', 'https://b.example.org')).stdout).toContain(
    'Allowed sites: https://a.example.org, https://b.example.org\n',
  );
  expect(await chat('site', '--allow', 'https://b.example.org/shop')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^outrigger: --allow https:\/\/b\.example\.org\/shop: must be an origin such as/,
    ) as string,
  });
});

test('a failed chat command prints a one-line error', async () => {
  expect(await chat('show', 'nonsense')).toMatchObject({ code: 2, stderr: 'outrigger: id must be a UUID\n' });
  expect(await chat('list', '--as', 'nobody@example.org')).toMatchObject({
    code: 1,
    stderr: 'outrigger: nobody@example.org is not a member of the workspace ours\n',
  });
});

test('chat assign works for a member of a workspace with more than 100 members', async () => {
  await database.query(
    `INSERT INTO users (id, tenant_id, email, password_hash, role)
     SELECT gen_random_uuid(), id, 'member' || n || '@example.org', '', 'agent' FROM tenants, generate_series(1, 120) AS n WHERE name = 'ours'`,
  );
  const { conversationId } = JSON.parse((await chat('link', 'customer-3', '--json')).stdout) as {
    conversationId: string;
  };
  expect(await chat('assign', conversationId, 'ann@example.org', '--as', 'ann@example.org')).toMatchObject({ code: 0 });
  expect(await chat('assign', conversationId, 'member7@example.org')).toMatchObject({ code: 0 });
});
