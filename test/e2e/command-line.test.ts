import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { permissionSummaries } from '../../shared/contract/define.ts';
import { startHub } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { inheritedEnv } from '../fixtures/processes.ts';
import { testSecretKey } from '../fixtures/secrets.ts';
import { defaultSpeechReply, startSpeechServer } from '../fixtures/speech-server.ts';

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await acquireDatabase();
  folder = await mkdtemp(join(tmpdir(), 'outrigger-cli-'));
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const cli = (...args: string[]) => cliWith({}, ...args);

function cliWith(settings: Record<string, string>, ...args: string[]): Promise<Ended> {
  const env = { ...inheritedEnv(), OUTRIGGER_HOME: join(folder, 'home'), DATABASE_URL: database.url, ...settings };
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [resolve('hub/cli/cli.ts'), ...args],
      { env, timeout: 120_000 },
      (error, stdout, stderr) => done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    child.stdin?.end();
  });
}

const refusal = (pattern: RegExp, code = 1): Ended => ({
  code,
  stdout: '',
  stderr: expect.stringMatching(new RegExp(`^outrigger: ${pattern.source}.*\\n$`)) as string,
});

test('a command without an existing workspace fails with instructions to create it, also when other workspaces exist', async () => {
  const where =
    /There is no workspace yet: the first start of the hub \(npx outrigger start\) creates "demo" and prints a link/;
  for (const args of [['token', 'create', '--product', 'automations'], ['link']])
    expect(await cli(...args)).toEqual(refusal(where));
  expect(await cli('workspace', 'create', '--name', 'ours')).toMatchObject({ code: 0 });
  expect(await cli('link')).toEqual(
    refusal(/There is no workspace "demo"; create it with: npx outrigger workspace create --name "demo"/),
  );
  const token = await cli('token', 'create', '--product', 'chat', '--workspace', 'ours', '--json');
  const [{ id }] = (await database.query<{ id: string }>("SELECT id FROM tenants WHERE name = 'ours'")) as [
    { id: string },
  ];
  expect(JSON.parse(token.stdout)).toMatchObject({
    tenantId: id,
    key: expect.stringMatching(/^key_live_/) as string,
  });
  expect(await cli('link', '--workspace', 'ours')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('/sign-in?code=') as string,
  });
  expect(await cli('link', '--workspace', 'ours', '--to', 'https://evil.example/')).toEqual(
    refusal(/--to must be a page of the hub, such as \/app\/runs/, 2),
  );
  expect(await cli('link', '--workspace', 'ours', '--to', '/app/runs?status=failed')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\/sign-in\?code=[\w-]+&to=%2Fapp%2Fruns%3Fstatus%3Dfailed$/m) as string,
  });
});

test('token create --help lists each permission with its meaning', async () => {
  const { code, stdout } = await cli('token', 'create', '--help');
  expect(code).toBe(0);
  const listed = stdout
    .slice(stdout.indexOf('\nPermissions:\n'))
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.trim().split(/\s{2,}/));
  expect(listed).toEqual(Object.entries(permissionSummaries));
});

test('invalid values get the error of the API, in one line that names the value', async () => {
  await writeFile(join(folder, 'file'), '');
  expect(await cli('token', 'revoke', 'nope', '--workspace', 'ours')).toEqual(refusal(/id must be/, 2));
  expect(await cli('workspace', 'create', '--name', '')).toEqual(refusal(/workspaceName must/, 2));
  expect(await cli('node', 'pair', '--name', '', '--workspace', 'ours')).toEqual(refusal(/name must/, 2));
  expect(await cli('workflow', 'export', '--out', join(folder, 'file', 'out'), '--workspace', 'ours')).toEqual(
    refusal(/The folder .*out is not writable \(ENOTDIR\); fix its permissions, or choose another with --out/),
  );
});

test('calls import reads a CSV, names each invalid line and fails, and calls compare says what is missing', async () => {
  const file = join(folder, 'calls.csv');
  const at = '2026-03-01T10:00:00.000Z';
  await writeFile(
    file,
    `callSid,direction,result,startedAt,endedAt\nCA1,inbound,missed,${at},${at}\nCA2,inbound,lost,${at},${at}\n`,
  );
  const importing = ['calls', 'import', file, '--workspace', 'ours', '--provider', 'twilio'];
  const imported = await cli(...importing, '--json');
  expect([imported.code, JSON.parse(imported.stdout)]).toEqual([
    1,
    {
      read: 1,
      changed: 1,
      skipped: 0,
      old: 0,
      refused: 1,
      problems: [{ line: 3, message: expect.stringMatching(/^result /) as string }],
    },
  ]);
  const again = await cli(...importing);
  expect(again.stdout).toMatch(/^1 calls read, 0 records changed, .* 1 lines refused\nline 3: result /);
  const since = ['calls', 'reconcile', '--provider', 'twilio', '--workspace', 'ours', '--since'];
  expect(await cli(...since, '2026-03-01')).toEqual(refusal(/No connection to Twilio has an accountSid/));
});

test('doctor calls the servers in the settings, gives a remedy for each failure, and exits with an error', async () => {
  await using model = await startModelServer();
  await using speech = await startSpeechServer();
  speech.reply = (request) => (request.kind === 'transcription' ? { status: 401 } : defaultSpeechReply(request));
  const settings = {
    AI_BASE_URL: model.baseUrl,
    AI_MODEL: 'alpha',
    STT_BASE_URL: speech.baseUrl,
    STT_MODEL: 'ears',
    TTS_BASE_URL: speech.baseUrl,
    TTS_MODEL: 'voice',
  };
  await using portOwner = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(portOwner, 'listening');
  const PORT = String((portOwner.address() as AddressInfo).port);
  const ended = await cliWith({ ...settings, PORT }, 'doctor', '--json');
  expect(ended.code).toBe(1);
  expect(JSON.parse(ended.stdout)).toMatchObject([
    { check: 'Node.js', ok: true },
    { check: 'pages', ok: true },
    { check: 'settings', ok: true },
    { check: 'database', ok: true },
    { check: 'port', ok: false, detail: expect.stringContaining(`${PORT} of 127.0.0.1 is in use; stop`) as string },
    { check: 'model', ok: true },
    { check: 'text-to-speech', ok: true },
    { check: 'speech-to-text', ok: false, detail: expect.stringContaining('set STT_API_KEY') as string },
    { check: 'SIP server', ok: true },
  ]);
});

test('doctor recognizes a hub with another data folder on the port', async () => {
  await using own = await acquireDatabase();
  await using hub = await startHub({}, own);
  const settings = { PORT: new URL(hub.url).port, DATABASE_URL: own.url, SECRET_KEY: testSecretKey };
  const { stdout } = await cliWith(settings, 'doctor', '--json');
  expect(JSON.parse(stdout)).toContainEqual({ check: 'port', ok: true, detail: `a hub answers at ${hub.url}` });
});

test('doctor reports invalid settings once and skips the checks that need them', async () => {
  const settings = { PORT: 'many', AI_BASE_URL: 'nonsense', AI_MODEL: 'alpha' };
  const ended = await cliWith(settings, 'doctor', '--json');
  expect(ended.code).toBe(1);
  const [, , settingsCheck, ...rest] = JSON.parse(ended.stdout) as {
    check: string;
    ok: boolean | null;
    detail: string;
  }[];
  expect(settingsCheck).toMatchObject({ check: 'settings', ok: false });
  expect(settingsCheck?.detail.match(/PORT|AI_\w+/g)).toEqual(['PORT', 'AI_BASE_URL']);
  expect(rest.map(({ check, ok }) => [check, ok])).toEqual(
    ['database', 'port', 'model', 'text-to-speech', 'speech-to-text', 'SIP server'].map((check) => [check, null]),
  );
  for (const { detail } of rest) expect(detail).toMatch(/^not checked/);
  expect((await cliWith(settings, 'doctor')).stdout).toMatch(/^- {5}database +not checked/m);
});
