import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
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
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  mkdirSync(modules, { recursive: true });
  for (const [path, { dev = false }] of Object.entries(packages)) {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    if (name === undefined || dev || !existsSync(join(project, path))) continue;
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
    50_000,
  );
  return { url, text: () => text, child };
}

const statusOf = async (url: string, path: string) => (await fetch(`${url}${path}`)).status;
const pages = ['/widget.js', '/voice', '/phone'];

test('the packed package serves chat, voice and phone with production dependencies only, and its messages name its own commands', async () => {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: project,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as { filename: string }[];
  const home = join(folder, 'packed/node_modules/outrigger');
  mkdirSync(home, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, packed?.filename ?? ''), '--strip-components=1', '-C', home]);
  expect(readdirSync(join(home, 'hub/web'))).toEqual(['dist']);
  expect(readdirSync(join(home, 'shared'))).not.toContain('web');
  linkProductionModules(join(folder, 'packed/node_modules'));
  const { url, text } = await startHub(home, join(folder, 'packed-data'));
  for (const path of pages) expect([path, await statusOf(url, path)]).toEqual([path, 200]);
  // The chat page with an unknown site key, and its first script.
  const html = await (await fetch(`${url}/chat`)).text();
  const script = /src="(widget\/assets\/[^"]+)"/.exec(html)?.[1];
  expect(await statusOf(url, `/${script}`)).toBe(200);
  expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({
    status: 'ready',
    parts: { pages: { ok: true } },
  });
  await until(
    () => text().includes('npx outrigger-companion pair CODE'),
    () => `the hub printed: ${text()}`,
  );
  expect(text()).toContain('npx outrigger node pair');
  const { bin } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { bin: Record<string, string> };
  expect(Object.keys(bin)).toEqual(['outrigger', 'outrigger-companion']);
  const start = await (await fetch(url)).text();
  expect([text(), start].filter((output) => output.includes('npm run'))).toEqual([]);
});

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
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
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
