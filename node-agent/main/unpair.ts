import { spawn } from 'node:child_process';
import { app } from 'electron';
import { askCompanion } from '../runtime/control/client.ts';
import type { DataFolder } from '../runtime/data-folder.ts';
import { DeviceSecrets } from '../runtime/device-secrets.ts';
import type { HostPort } from '../runtime/host-port.ts';
import { unpair } from '../runtime/pairing.ts';
import { findAutostart, ownAppImage } from './installation.ts';
import { keyStoreName, seal, unseal } from './key-store.ts';
import { forgetLinks } from './link-registration.ts';

const runningDeadlineMs = 30_000;

const headless = '--ozone-platform=headless';

/** Whether Electron can start so far that it can ask the key store; without a screen it ends instead. */
export const hasDisplay = () =>
  process.platform !== 'linux' ||
  process.argv.includes(headless) ||
  process.env['DISPLAY'] !== undefined ||
  process.env['WAYLAND_DISPLAY'] !== undefined;

/** Has another process of the app do it that pretends to have a screen; false where that does not work either. */
function unpairInHeadlessProcess(): Promise<boolean> {
  const args = [...process.argv.slice(1), headless, '--disable-gpu'];
  // Chromium complains of all that it does not find.
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'ignore'], timeout: runningDeadlineMs });
  return new Promise((done) => {
    child.once('error', () => done(false));
    child.once('exit', (code) => done(code === 0));
  });
}

/** The key store alone, for a start that opens no window. */
async function keyStoreHost(): Promise<HostPort | null> {
  if (!hasDisplay()) return null;
  await app.whenReady();
  return {
    offer: { keyStore: await keyStoreName(), captures: [] },
    call: async (method, params) =>
      (method === 'seal'
        ? { sealed: await seal((params as { text: string }).text) }
        : { text: await unseal((params as { sealed: string }).sealed) }) as never,
  };
}

/**
 * Forgets the hub of a data folder, and takes back what starts the app, as whoever uninstalls it wants it, says what became of it, and ends the process.
 * An app that runs is asked to forget.
 */
export async function unpairAndExit(folder: DataFolder): Promise<never> {
  try {
    if (!hasDisplay() && folder.readPairing()?.sealedSecret !== undefined && (await unpairInHeadlessProcess()))
      process.exit(0);
    process.stdout.write(`${await forget(folder)}\n`);
    findAutostart(folder.path)?.set(false);
    await forgetLinks(ownAppImage(folder.path));
    process.exit(0);
  } catch (error) {
    process.stderr.write(`outrigger-companion: ${(error as Error).message}\n`);
    process.exit(1);
  }
}

async function forget(folder: DataFolder): Promise<string> {
  const before = folder.readPairing();
  if (before === null) return 'This machine was not paired.';
  const response = await askCompanion(folder, 'unpair', {}, { timeoutMs: runningDeadlineMs }).catch(() => null);
  const { nodeId, hubKnows } = response ?? (await unpair(folder, new DeviceSecrets(await keyStoreHost())));
  return `Forgot ${before.hub}. ${hubKnows ? 'It knows.' : `It could not be told: revoke node ${nodeId} there too.`}`;
}
