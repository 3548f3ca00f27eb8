import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../fixtures/free-port.ts';
import { inheritedEnv } from '../fixtures/processes.ts';
import { until } from '../fixtures/until.ts';

const project = resolve('.');
const remedy = 'npm ci --include=dev && npm prune --omit=dev';
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-production-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

/** The packages that `npm ci --omit=dev` installs, by the lock file. */
function linkProductionModules(modules: string): void {
  const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; link?: boolean }>;
  };
  mkdirSync(modules, { recursive: true });
  for (const [path, { dev = false, link = false }] of Object.entries(packages)) {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    if (name === undefined || dev || link || !existsSync(join(project, path))) continue;
    mkdirSync(join(modules, name, '..'), { recursive: true });
    symlinkSync(join(project, path), join(modules, name));
  }
  if (existsSync(join(modules, 'vite'))) throw new Error('vite is not a development dependency any more');
}

/** A production checkout, whose development packages are missing and whose pages were never built. */
function checkout(name: string): string {
  const copy = join(folder, name);
  for (const part of ['hub', 'node-agent', 'shared', 'migrations', 'package.json'])
    cpSync(join(project, part), join(copy, part), {
      recursive: true,
      filter: (path) => !path.startsWith(join(project, 'hub/web/dist')),
    });
  linkProductionModules(join(copy, 'node_modules'));
  return copy;
}

interface StartedHub {
  url: string;
  text: () => string;
  child: ChildProcess;
}

async function startHub(home: string, data: string): Promise<StartedHub> {
  const port = await freePort();
  const child = spawn(process.execPath, [join(home, 'hub/outrigger.js'), 'start'], {
    cwd: home,
    env: { ...inheritedEnv(), OUTRIGGER_HOME: data, PORT: String(port), NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await until(
      () => child.exitCode !== null || child.signalCode !== null,
      () => 'the hub did not exit',
    );
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  const url = `http://127.0.0.1:${port}`;
  await until(
    () =>
      fetch(`${url}/healthz`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    () => `the hub printed: ${text}`,
  );
  return { url, text: () => text, child };
}

const statusOf = async (url: string, path: string) => (await fetch(`${url}${path}`)).status;
const pages = ['/widget.js', '/voice', '/phone'];

test('a production checkout without built pages fails to install, and doctor says what to do', async () => {
  const home = checkout('bare');
  const run = (args: string[], settings: Record<string, string> = {}) => {
    const env = { ...inheritedEnv(), ...settings };
    try {
      return {
        code: 0,
        stderr: '',
        stdout: execFileSync(process.execPath, args, { cwd: home, encoding: 'utf8', env, stdio: 'pipe' }),
      };
    } catch (error) {
      const { status, stdout, stderr } = error as { status: number; stdout: string; stderr: string };
      return { code: status, stdout, stderr };
    }
  };
  expect(run(['hub/web/build.ts'])).toMatchObject({ code: 1, stderr: expect.stringContaining(remedy) as string });

  const settings = { OUTRIGGER_HOME: join(folder, 'doctor-data'), PORT: String(await freePort()) };
  const doctor = run(['hub/outrigger.js', 'doctor', '--json'], settings);
  expect(doctor.code).toBe(1);
  expect(JSON.parse(doctor.stdout)).toContainEqual({
    check: 'pages',
    ok: false,
    detail: expect.stringContaining(remedy) as string,
  });
});

test('a hub without built pages logs an error, and its pages and /readyz say what to do', async () => {
  const { url, text } = await startHub(checkout('started'), join(folder, 'bare-data'));
  const readiness = async () => {
    const response = await fetch(`${url}/readyz`);
    return [response.status, await response.json()];
  };
  // On a busy machine the first probes of a part can take longer than they may.
  await expect.poll(readiness).toEqual([
    200,
    expect.objectContaining({
      status: 'degraded',
      parts: expect.objectContaining({
        pages: { ok: false, message: expect.stringContaining(remedy) as string },
      }) as object,
    }),
  ]);
  for (const path of [...pages, '/chat', '/assets/scalar.js'])
    expect([path, await statusOf(url, path)]).toEqual([path, 503]);
  await until(
    () =>
      text()
        .split('\n')
        .some((line) => line.includes('"level":50') && line.includes(remedy)),
    () => `no error is logged: ${text()}`,
  );
});

test('a build without vite keeps the pages that were built before', () => {
  const home = checkout('kept');
  cpSync(join(project, 'hub/web/dist'), join(home, 'hub/web/dist'), { recursive: true });
  const before = readFileSync(join(home, 'hub/web/dist/assets.json'), 'utf8');
  execFileSync(process.execPath, ['hub/web/build.ts'], { cwd: home, stdio: 'ignore' });
  expect(readFileSync(join(home, 'hub/web/dist/assets.json'), 'utf8')).toBe(before);
});
