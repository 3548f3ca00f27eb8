import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { electronArguments, electronPath, needsElectron } from '../fixtures/electron-runtime.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startApp } from './app.ts';
import { hasDesktop, hasKeyStore, startDesktop } from './desktop.ts';

describe.skipIf(electronPath === null || !hasDesktop)(`storage of the device secret ${needsElectron}`, () => {
  let hub: TestHub;
  let workspace: TestWorkspace;
  beforeAll(async () => {
    hub = await startHub();
    workspace = await hub.workspace();
  });
  afterAll(() => hub?.[Symbol.asyncDispose]());
  const newCode = async () => (await workspace.api.call('createAutomationNode', { body: {} })).pairingCode;
  const isKnown = async (nodeId: string) =>
    (await workspace.api.call('listAutomationNodes', { query: { limit: 100 } })).data.some(
      ({ id, status }) => id === nodeId && status !== 'revoked',
    );
  const identityIn = async (dataFolder: string) =>
    JSON.parse(await readFile(join(dataFolder, 'identity.json'), 'utf8')) as Record<string, string>;

  test.skipIf(!hasKeyStore)(
    'the device secret is stored in the key store if there is one, and only the app reads it (needs gnome-keyring)',
    async () => {
      await using desktop = await startDesktop();
      await desktop.startKeyStore();
      await using app = await startApp(desktop);
      expect((await app.companion())?.keyStore.name).toContain('keyring');
      expect(await app.call('pair', { code: await newCode(), hub: hub.url })).toHaveProperty('result');
      expect((await app.companion())?.paired).toMatchObject({ hub: hub.url, secretIn: 'key_store' });
      const identity = await identityIn(app.dataFolder);
      expect(identity).not.toHaveProperty('deviceSecret');
      expect(identity['sealedSecret']).toEqual(expect.any(String));
      await expect.poll(async () => (await app.companion())?.connection.isUp).toBe(true);

      // A new process of the app can read the secret.
      await app.kill();
      await using again = await startApp(desktop, { dataFolder: app.dataFolder });
      await expect.poll(async () => (await again.companion())?.connection.isUp).toBe(true);

      // Doctor in a terminal without a screen uses the app, which has the secret and the screen.
      const doctor = async () => {
        const { DISPLAY: _screen, ...env } = desktop.env;
        const args = [resolve('node-agent/runtime/cli.ts'), 'doctor', '--json', '--data-folder', app.dataFolder];
        const result = await promisify(execFile)(process.execPath, args, { env }).catch((error: unknown) => error);
        const checks = JSON.parse((result as { stdout: string }).stdout) as { check: string; state: string }[];
        return Object.fromEntries(checks.map(({ check, state }) => [check, state]));
      };
      expect(await doctor()).toMatchObject({ hub: 'ok', screen: 'ok' });

      // --unpair revokes the node at the hub even if the app does not run and the terminal has no screen.
      const nodeId = (await again.companion())?.paired?.nodeId as string;
      await again.kill();
      await expect.poll(doctor).toMatchObject({ hub: 'warn', running: 'warn' });
      const { DISPLAY: _none, ...env } = desktop.env;
      const args = [...electronArguments(), '--unpair', '--data-folder', app.dataFolder];
      const { stdout } = await promisify(execFile)(electronPath as string, args, { env, timeout: 120_000 });
      expect(stdout).toContain('The hub revoked the node.');
      expect(await isKnown(nodeId)).toBe(false);
      expect(existsSync(join(app.dataFolder, 'identity.json'))).toBe(false);
    },
  );

  test('the device secret is stored in a file without a key store, after the owner agrees', async () => {
    await using desktop = await startDesktop();
    await using app = await startApp(desktop);
    expect((await app.companion())?.keyStore.name).toBeNull();
    const code = await newCode();
    expect(await app.call('pair', { code, hub: hub.url })).toMatchObject({
      error: { message: expect.stringContaining('no key store') as string },
    });
    expect((await app.companion())?.paired).toBeNull();
    expect(await app.call('pair', { code, hub: hub.url, secretInFile: true })).toHaveProperty('result');
    expect((await app.companion())?.paired).toMatchObject({ secretIn: 'file' });
    await expect.poll(async () => (await app.companion())?.connection.isUp).toBe(true);

    const nodeId = (await app.companion())?.paired?.nodeId as string;
    expect(await app.again('--unpair')).toBe(0);
    expect((await app.companion())?.paired).toBeNull();
    expect(await isKnown(nodeId)).toBe(false);
  });
});
