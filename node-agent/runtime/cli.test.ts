import { execFile, execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../test/fixtures/free-port.ts';
import { inheritedEnv } from '../../test/fixtures/processes.ts';

const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'outrigger-cli-')));
  mkdirSync(join(home, 'data'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Runs the command line as the owner does. Returns its output and exit code. */
const runCli = (...args: string[]) => runCliWith({}, ...args);
const runCliWith = (env: Record<string, string>, ...args: string[]) =>
  promisify(execFile)(process.execPath, [resolve('node-agent/runtime/cli.ts'), ...args], {
    env: { ...inheritedEnv(), OUTRIGGER_COMPANION_HOME: join(home, 'data'), ...env },
    timeout: 120_000,
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );

async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test('status and doctor list files as allowed while a folder is shared', async () => {
  expect((await runCli('status')).stdout).toContain('allowed    nothing\n');
  const folder = join(home, 'shared');
  mkdirSync(folder);
  await runCli('share', folder);
  await runCli('allow', 'screen');
  expect((await runCli('status')).stdout).toContain('allowed    screen, files\n');
  const checks = JSON.parse((await runCli('doctor', '--json')).stdout) as object[];
  expect(checks).toContainEqual(expect.objectContaining({ check: 'allowed', detail: 'screen, files' }));
  await runCli('deny', 'files');
  expect((await runCli('status')).stdout).toContain('allowed    screen\n');
});

test('status names shared folders that a link now leads elsewhere, with a remedy', async () => {
  const [shared, project, other] = ['shared', 'project', 'other'].map((name) => join(home, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [shared, project, other]) mkdirSync(folder);
  await runCli('share', shared);
  await runCli('rules', 'allow', 'make test', '--in', project);
  expect((await runCli('status')).stdout).not.toContain('MOVED');
  for (const folder of [shared, project]) {
    rmSync(folder, { recursive: true });
    symlinkSync(other, folder);
  }
  const { stdout } = await runCli('status');
  expect(stdout).toMatch(
    /^MOVED {6}.*\/shared leads to another folder now and is not shared: put the folder back, or run/m,
  );
  expect(stdout).toMatch(/^MOVED {6}.*\/project leads to another folder now, so rule [-\da-f]{36} permits nothing/m);
  expect((await runCli('rules')).stdout).toContain('leads to another folder now, so it permits nothing');
});

test.each([
  ['Asia/Kolkata', '+05:30'],
  ['Pacific/Marquesas', '-09:30'],
  ['UTC', '+00:00'],
])('times are printed in the local time of the reader, with its offset: %s', async (zone, offset) => {
  const cli = (...args: string[]) => runCliWith({ TZ: zone }, ...args);
  const allowed = (await cli('allow', 'camera', '--for', '8h')).stdout;
  const { until } = (JSON.parse((await cli('status', '--json')).stdout) as { settings: { until: { camera: string } } })
    .settings;
  const [{ time }] = JSON.parse((await cli('audit', '--limit', '1', '--json')).stdout) as [{ time: string }];
  const status = (await cli('status')).stdout;
  const audit = (await cli('audit', '--limit', '1')).stdout;
  for (const [text, iso] of [
    [allowed, until.camera],
    [status, until.camera],
    [audit, time],
  ] as const) {
    const [, day, clock, printedOffset] = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) ([+-]\d\d:\d\d)/.exec(text) ?? [];
    expect(printedOffset, text).toBe(offset);
    // The text has whole seconds.
    expect(Date.parse(`${day}T${clock}${offset}`), text).toBe(Math.floor(Date.parse(iso) / 1000) * 1000);
  }
});

test('audit verify ends the command that repairs the log with a line break', async () => {
  symlinkSync(join(home, 'nowhere'), join(home, 'data', 'audit.jsonl'));
  const { code, stdout } = await runCli('audit', 'verify');
  expect(code).toBe(1);
  expect(stdout).toMatch(/: outrigger-companion audit set-aside\nNo companion runs, so the log was not compared/);
});

test('sharing a folder again reports the options that it keeps', async () => {
  const folder = join(home, 'shared');
  mkdirSync(folder);
  await runCli('share', folder, '--include-hidden', '--receive-downloads');
  expect((await runCli('share', folder)).stdout).toContain('list, read and save downloads in');
  expect((await runCli('share', folder)).stdout).toContain('with its hidden files and key stores');
});

test('hosts adds to a list, and removes a host only with --remove', async () => {
  await runCli('hosts', '--private', '127.0.0.1:3000', '--block', 'ads.example');
  const added = await runCli('hosts', '--private', '127.0.0.1:4000');
  expect(added.stdout).toContain('private    127.0.0.1:3000, 127.0.0.1:4000');
  expect(added.stdout).toContain('blocked    ads.example');
  expect((await runCli('hosts', '--private', '127.0.0.1:3000', '--remove')).stdout).toContain(
    'private    127.0.0.1:4000\n',
  );
  expect(await runCli('hosts', '--block', 'shop.example', '--remove')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('shop.example is not in the list') as string,
  });
  expect((await runCli('hosts', '--private')).stdout).toContain('private    none');
});

test('variables adds names and removes them, and status and the log show them', async () => {
  expect((await runCli('variables')).stdout).toBe('You allowed no variables.\n');
  await runCli('variables', 'allow', 'API_TOKEN', 'REGION');
  expect((await runCli('variables', 'remove', 'REGION')).code).toBe(0);
  expect(JSON.parse((await runCli('variables', '--json')).stdout)).toEqual(['API_TOKEN']);
  expect((await runCli('status')).stdout).toContain('variables  API_TOKEN\n');
  const entries = JSON.parse((await runCli('audit', '--json')).stdout) as { type: string; summary: string }[];
  expect(entries.map(({ summary }) => summary)).toEqual([
    'variables add names ["API_TOKEN","REGION"]',
    'variables remove names ["REGION"]',
  ]);
  expect(await runCli('variables', 'remove', 'REGION')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('REGION is not in the list, which has API_TOKEN') as string,
  });
});

test.each(['OUTRIGGER_COMPANION_HOME', 'outrigger_home', 'A-B', 'A=B', ''])(
  'variables refuses the name "%s", which cannot be allowed',
  async (name) => {
    expect(await runCli('variables', 'allow', 'API_TOKEN', name)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`"${name}" must be the name of a variable, such as API_TOKEN`) as string,
    });
    expect(JSON.parse((await runCli('variables', '--json')).stdout)).toEqual([]);
  },
);

test.each(['LD_PRELOAD', 'PATH', 'Path', 'NODE_OPTIONS', 'GIT_SSH_COMMAND', 'https_proxy'])(
  'variables allows %s, which can load code, only after a confirmation',
  async (name) => {
    expect(await runCli('variables', 'allow', name)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${name} can make an approved program run other code`) as string,
    });
    expect(JSON.parse((await runCli('variables', '--json')).stdout)).toEqual([]);
    await runCli('variables', 'allow', name, '--yes');
    expect(JSON.parse((await runCli('variables', '--json')).stdout)).toEqual([name]);
  },
);

test.each(['{', '{ "capture": 1 }'])(
  'with invalid settings (%s) status and doctor show everything else, and pause says how to repair them',
  async (text) => {
    await runCli('allow', 'screen');
    const settings = join(home, 'data', 'settings.json');
    writeFileSync(settings, text);
    const status = await runCli('status');
    expect(status.code).toBe(1);
    expect(status.stdout).toMatch(
      /^BROKEN {5}.*settings\.json is broken[^]*paired {5}no\nrunning {4}no\n[^]*allowed {4}nothing/,
    );
    expect(JSON.parse((await runCli('status', '--json')).stdout)).toMatchObject({
      running: null,
      broken: [{ file: 'settings' }],
      settings: { capture: { screen: false }, files: { allowed: false } },
    });
    const checks = JSON.parse((await runCli('doctor', '--json')).stdout) as { check: string; state: string }[];
    expect(checks).toContainEqual(expect.objectContaining({ check: 'settings', state: 'fail' }));
    expect(checks.map(({ check }) => check)).toEqual(expect.arrayContaining(['disk', 'pairing', 'running', 'log']));
    expect(await runCli('pause')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('until then every command is refused, also without a pause') as string,
    });
    // Follows the instruction of the message.
    rmSync(settings);
    expect(await runCli('settings', 'accept')).toMatchObject({ code: 0 });
    expect(await runCli('status')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('allowed    nothing') as string,
    });
  },
);

test('share refuses the data folders of this companion and of another one', async () => {
  const other = join(home, 'other');
  mkdirSync(join(other, 'journal'), { recursive: true });
  appendFileSync(join(other, 'control.key'), 'key');
  for (const path of [join(home, 'data'), join(home, 'data', 'journal'), other, join(other, 'journal')]) {
    const { code, stderr } = await runCli('share', path);
    expect([code, stderr]).toEqual([1, expect.stringContaining('is in the data folder of a companion') as string]);
  }
  expect(JSON.parse((await runCli('settings', '--json')).stdout)).toMatchObject({ sharedFolders: [] });
});

const pairWith = (hub: string) => runCli('pair', 'ABCD-EFGH', '--hub', hub);
const machineWords = /ECONN|ENOTFOUND|EAI_|HPE_|SSL|EPROTO|SELF_SIGNED|UND_|fetch failed/;

describe('pairing with a wrong address explains the problem and the remedy', () => {
  const messageFor = async (hub: string) => {
    const { code, stderr } = await pairWith(hub);
    expect([code, stderr]).toEqual([1, expect.not.stringMatching(machineWords)]);
    return stderr;
  };

  test('when nothing listens', async () => {
    expect(await messageFor(`http://127.0.0.1:${await freePort()}`)).toContain(
      'nothing listens there; check the address',
    );
  });

  test('when no host has the name', async () => {
    expect(await messageFor('https://no-such-host.invalid')).toMatch(/no host has this name|cannot be looked up now/);
  });

  test('when another service listens', async () => {
    const port = await listen(createServer((socket) => socket.on('error', () => undefined).end('220 mail\r\n')));
    expect(await messageFor(`http://127.0.0.1:${port}`)).toContain('not a web server');
    expect(await messageFor(`https://127.0.0.1:${port}`)).toContain('does not use https');
  });

  test('when another site answers or redirects', async () => {
    const port = await listen(
      createHttpServer((request, response) =>
        request.url?.startsWith('/moved/') === true
          ? response.writeHead(301, { location: 'https://example.org/' }).end()
          : response.writeHead(404).end('<h1>Not here</h1>'),
      ),
    );
    expect(await messageFor(`http://127.0.0.1:${port}`)).toContain(
      'did not come from a hub (HTTP 404); is the address right?',
    );
    expect(await messageFor(`http://127.0.0.1:${port}/moved`)).toContain('redirects to another address');
  });

  test.skipIf(!hasOpenssl)('when its certificate is not trusted (needs openssl)', async () => {
    const [key, cert] = [join(home, 'key.pem'), join(home, 'cert.pem')];
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'];
    execFileSync('openssl', [...made, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    const port = await listen(createHttpsServer({ key: readFileSync(key), cert: readFileSync(cert) }));
    expect(await messageFor(`https://127.0.0.1:${port}`)).toContain(
      'not signed by an authority that this machine trusts',
    );
  });
});

test('invalid arguments end with exit code 2 and a message without validator terms', async () => {
  for (const words of [
    ['allow', 'screen', '--for', 'a while'],
    ['rules', 'allow', 'git **', '--for', '0m'],
    ['audit', '--limit', 'all'],
    ['answer', 'this-one', 'once'],
    ['rules', 'remove', 'this-one'],
  ])
    expect([words, await runCli(...words)]).toEqual([
      words,
      expect.objectContaining({ code: 2, stderr: expect.not.stringMatching(/Invalid|expected/) as string }),
    ]);
});

test('JSON output contains no character that reverses or clears the text of a terminal', async () => {
  const summary = 'pay\u202E001\u009B2J\u200B\u{E0041} Grüße 東京';
  const line = { time: '2026-01-01T00:00:00.000Z', commandId: 'c', type: 'node.ping', summary, durationMs: 1 };
  appendFileSync(
    join(home, 'data', 'audit.jsonl'),
    `${JSON.stringify({ ...line, approvedBy: null, outcome: 'succeeded', message: null })}\n`,
  );
  const { stdout } = await runCli('audit', '--json');
  expect(stdout).toContain(String.raw`pay\u202e001\u009b2J\u200b\udb40\udc41 Grüße 東京`);
  expect(JSON.parse(stdout)).toMatchObject([{ summary }]);
});
