import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { inheritedEnv } from '../fixtures/processes.ts';
import { testSecretKey } from '../fixtures/secrets.ts';
import { chatScene } from '../fixtures/visitor.ts';
import type { ChatScene } from '../fixtures/visitor.ts';

// Each command is a process, which takes more than 10 seconds on a busy machine.
vi.setConfig({ testTimeout: 300_000 });

const program = resolve('hub/cli/cli.ts');
const password = 'correct horse battery';
const email = 'remote-agent@example.org';
let hub: TestHub;
let scene: ChatScene;
let folder: string;

beforeAll(async () => {
  hub = await startHub({ SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000' });
  scene = await chatScene(hub);
  folder = await mkdtemp(join(tmpdir(), 'outrigger-remote-'));
  const { tenantId, workspace } = scene;
  await workspace.session.call('addMember', { params: { tenantId }, body: { email, password, role: 'agent' } });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** The environment of a machine without a hub. */
const env = () => ({
  ...inheritedEnv(),
  OUTRIGGER_HOME: join(folder, 'home'),
  XDG_CONFIG_HOME: join(folder, 'config'),
});

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

const run = (args: string[], { input = '', own = {} }: { input?: string; own?: Record<string, string> } = {}) =>
  new Promise<Ran>((done) => {
    const options = { env: { ...env(), ...own }, timeout: 120_000 };
    const child = execFile(process.execPath, [program, ...args], options, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    child.stdin?.end(input);
  });
const chat = (...args: string[]) => run(['chat', ...args, '--hub', hub.url]);
const logIn = (typedPassword = password) =>
  run(['login', '--hub', hub.url, '--email', email], { input: `${typedPassword}\n` });
const logins = () => join(folder, 'config', 'outrigger', 'logins.json');

test('a command on a machine without a hub names the remedy and creates no data folder', async () => {
  for (const args of [['list'], ['follow'], ['site'], ['link', 'customer-1']]) {
    const { code, stderr } = await run(['chat', ...args]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^outrigger: There is no hub in the data folder .*--hub URL/),
    ]);
  }
  await expect(readdir(join(folder, 'home'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('an agent signs in from another machine, works in the inbox as themselves, and signs out', async () => {
  expect(await chat('list')).toMatchObject({
    code: 1,
    stderr: `outrigger: You are not signed in; sign in with: npx outrigger login --hub ${hub.url} --email YOUR_EMAIL\n`,
  });
  expect(await logIn('a wrong password')).toMatchObject({ code: 1, stdout: '' });
  const signedIn = await logIn();
  expect(signedIn.stdout).toContain(`signed in to ${hub.url} as ${email} (agent)`);
  const kept = await readFile(logins(), 'utf8');
  const { token } = (JSON.parse(kept) as Record<string, { token: string }>)[hub.url] as { token: string };
  expect((await stat(logins())).mode & 0o777).toBe(0o600);
  expect([kept, signedIn.stdout, signedIn.stderr].map((text) => text.includes(password))).toEqual([
    false,
    false,
    false,
  ]);
  expect(signedIn.stdout).not.toContain(token);

  const visitor = await scene.visitor('far away');
  await visitor.api.call('sendVisitorMessage', { body: { content: 'Anybody?', clientId: 'one' } });
  const id = visitor.conversationId;
  expect((await chat('list')).stdout).toContain(id);
  const following = spawn(process.execPath, [program, 'chat', 'follow', id, '--hub', hub.url], { env: env() });
  let followed = '';
  following.stdout.on('data', (chunk) => (followed += String(chunk)));
  await expect.poll(() => followed).toContain('visitor: Anybody?');
  expect(await chat('reply', id, 'Me.')).toMatchObject({ code: 0 });
  await expect.poll(() => followed).toContain('agent: Me.');
  const ended = new Promise((done) => following.once('exit', (code) => done(code)));
  following.kill('SIGINT');
  expect(await ended).toBe(0);

  expect((await chat('assign', id, email)).stdout).toBe(`${id} is assigned to ${email}\n`);
  expect((await chat('list', '--view', 'mine')).stdout).toMatch(new RegExp(`${id}.*${email}`));
  expect((await chat('resolve', id)).stdout).toBe(`${id} is resolved\n`);
  expect((await chat('show', id)).stdout).toMatch(/visitor: Anybody\?\n.*agent: Me\.\n/);
  const { data } = await scene.workspace.session.call('listMembers', {
    params: { tenantId: scene.tenantId },
    query: {},
  });
  const self = data.find((member) => member.email === email)?.id;
  const written = await visitor.api.call('listVisitorMessages', {});
  expect(written.data.at(-1)).toMatchObject({ content: 'Me.', senderId: self });
  // An agent has no admin rights from the command line either.
  expect((await chat('site', '--allow', 'https://a.example.org')).stderr).toMatch(/^outrigger: .*admin/);

  expect((await run(['logout', '--hub', hub.url])).stdout).toBe(`signed out of ${hub.url}\n`);
  expect(await readFile(logins(), 'utf8')).not.toContain(token);
  await expect(hub.client(token).call('readMe')).rejects.toMatchObject({ status: 401 });
  // The token of another sign-in, for a script.
  const { token: other } = await hub.client().call('logIn', { body: { email, password } });
  const scripted = await run(['chat', 'list', '--view', 'all'], {
    own: { OUTRIGGER_TOKEN: other, OUTRIGGER_HUB: hub.url },
  });
  expect(scripted.stdout).toContain(id);
});

test('--as is refused with --hub, and credentials are never sent in clear text', async () => {
  await logIn();
  expect(await chat('list', '--as', 'admin@example.org')).toMatchObject({
    code: 2,
    stderr: 'outrigger: --as works only on the machine of the hub; with --hub you act as the signed-in member\n',
  });
  for (const url of ['http://hub.example.com', 'ftp://127.0.0.1', 'https://ann:secret@hub.example.com', 'hub'])
    expect(await run(['login', '--hub', url, '--email', email], { input: `${password}\n` })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^outrigger: --hub .*must /) as string,
    });
});

test('--as on the machine of the hub is recorded in the audit log', async () => {
  const { conversationId } = await scene.mint();
  const own = { DATABASE_URL: hub.database.url, SECRET_KEY: testSecretKey };
  const [workspace] = await hub.database.query<{ name: string }>('SELECT name FROM tenants WHERE id = $1', [
    scene.tenantId,
  ]);
  const local = (...args: string[]) => run(['chat', ...args, '--workspace', workspace?.name ?? ''], { own });
  expect(await local('reply', conversationId, 'For them', '--as', email)).toMatchObject({ code: 0, stderr: '' });
  expect(await local('list', '--as', email)).toMatchObject({ code: 0 });
  const { data } = await scene.workspace.session.call('listAuditLog', {
    params: { tenantId: scene.tenantId },
    query: { actor: 'cli' },
  });
  expect(data).toMatchObject([
    { action: 'member.impersonated', details: { command: 'chat list', conversationId: null } },
    { action: 'member.impersonated', details: { command: 'chat reply', conversationId } },
  ]);
});
