import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { processesWith } from '../fixtures/companion.ts';
import { inheritedEnv, startHubProcess } from '../fixtures/processes.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-start-'));
  chmodSync(folder, 0o711);
});
afterEach(() => {
  chmodSync(folder, 0o711);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

const base = () => ({ OUTRIGGER_HOME: join(folder, 'home'), PORT: '0' });

/** Starts a hub that must refuse to start. Returns its exit code and errors. */
function refused(
  env: Record<string, string>,
  args: string[] = [],
  cwd = folder,
): Promise<{ code: number | null; stderr: string }> {
  return new Promise((done) => {
    const child = spawn(process.execPath, [resolve('hub/main.ts'), ...args], {
      env: { ...inheritedEnv(), LOG_LEVEL: 'fatal', ...env },
      cwd,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), 120_000);
    child.once('close', (code) => {
      clearTimeout(timer);
      done({ code, stderr: stderr.replaceAll(/^Creating the embedded database.*\n/gm, '') });
    });
  });
}
const line = (pattern: RegExp) => ({
  code: 1,
  stderr: expect.stringMatching(new RegExp(`^outrigger: ${pattern.source}.*\\n$`)) as string,
});

describe('starting the hub', () => {
  test('creates its data folder, prints a sign-in link, and stops with its database', async () => {
    const hub = await startHubProcess({ ...base(), OUTRIGGER_HOME: folder });
    expect(hub.startOutput).toContain(`${hub.url}/sign-in?code=`);
    // On a busy machine the first probes of a part can take longer than they may.
    await expect.poll(async () => (await fetch(`${hub.url}/readyz`)).json()).toMatchObject({ status: 'ready' });
    expect(processesWith(join(folder, 'postgres')).length).toBeGreaterThan(0);
    expect(await hub.stop()).toBe(0);
    // A shell around the database ends a moment after it.
    await expect.poll(() => processesWith(join(folder, 'postgres'))).toEqual([]);
  });

  test('works after kill -9 with the same data, and the database ends with the hub', async () => {
    const env = { ...base(), OUTRIGGER_HOME: folder, SIGN_UP: 'open' };
    const first = await startHubProcess(env);
    await fetch(`${first.url}/auth/signup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'a@example.org', password: 'long enough password', workspaceName: 'kept' }),
    });
    await first.kill();
    await expect.poll(() => processesWith(join(folder, 'postgres'))).toEqual([]);
    const second = await startHubProcess(env);
    // Only the first start prints a sign-in link. Later starts print the command for a new link.
    expect(second.startOutput).toMatch(/Sign in +npx outrigger link\n/);
    const login = await fetch(`${second.url}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'a@example.org', password: 'long enough password' }),
    });
    expect(login.status).toBe(200);
    expect(await second.stop()).toBe(0);
  });

  test('fails for a taken port or a data folder in use, and names the port and the other hub', async () => {
    const otherServer = createServer();
    await new Promise<void>((done) => otherServer.listen(0, '127.0.0.1', done));
    const { port } = otherServer.address() as AddressInfo;
    expect(await refused({ ...base(), PORT: String(port) })).toMatchObject(
      line(new RegExp(`Port ${port} of 127\\.0\\.0\\.1 is in use`)),
    );
    otherServer.close();
    const hub = await startHubProcess({ ...base(), OUTRIGGER_HOME: folder });
    expect(await refused({ ...base(), OUTRIGGER_HOME: folder })).toMatchObject(
      line(new RegExp(`Another hub \\(process ${hub.child.pid}, ${hub.url}\\)`)),
    );
    await hub.stop();
  });

  test('fails for invalid settings and names each of them', async () => {
    const { code, stderr } = await refused({
      ...base(),
      PORT: 'abc',
      DATABASE_URL: 'mysql://x',
      SECRET_KEY: 'short',
      TRUSTED_PROXIES: '1.2.3.4.5',
    });
    expect(code).toBe(1);
    for (const name of [
      'PORT must be a whole number',
      'DATABASE_URL must be a postgres',
      'SECRET_KEY must be 64',
      'TRUSTED_PROXIES must be',
    ])
      expect(stderr).toContain(name);
    expect(stderr).not.toContain('short');
    writeFileSync(join(folder, '.env'), 'PORT=1\nthis is no setting\n');
    expect(await refused(base())).toMatchObject(line(/\.env, line 2, is not NAME=value/));
    // Some editors on Windows write a byte order mark before the first name.
    writeFileSync(join(folder, '.env'), '\uFEFFTRUSTED_PROXIES=1.2.3.4.5\r\n');
    expect(await refused(base())).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('TRUSTED_PROXIES must be') as string,
    });
    rmSync(join(folder, '.env'));
    expect(await refused(base(), ['--role', 'boss'])).toMatchObject(line(/--role must be api, worker or all/));
    for (const role of ['api', 'worker'])
      expect(await refused(base(), ['--role', role])).toMatchObject(line(/--role \w+ needs DATABASE_URL/));
    expect(await refused(base(), ['--nonsense'])).toMatchObject(line(/Unknown option/));
  });

  test('fails without its database or Redis, with a wrong key, or with an invalid data folder', async () => {
    expect(await refused({ ...base(), DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })).toMatchObject(
      line(/The database can't be used: ECONNREFUSED/),
    );
    writeFileSync(join(folder, 'file'), '');
    expect(await refused({ ...base(), OUTRIGGER_HOME: join(folder, 'file', 'home') })).toMatchObject(
      line(/The data folder .* is not writable/),
    );
    const env = { ...base(), OUTRIGGER_HOME: folder };
    expect(await refused({ ...env, REDIS_URL: 'redis://127.0.0.1:1' })).toMatchObject(
      line(/Redis at 127\.0\.0\.1:1 can't be used: ECONNREFUSED/),
    );
    const hub = await startHubProcess(env);
    await hub.stop();
    expect(await refused({ ...env, SECRET_KEY: '0'.repeat(64) })).toMatchObject(
      line(/SECRET_KEY differs from the key/),
    );
  });
});
