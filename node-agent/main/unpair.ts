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

/** Whether Electron can start far enough to use the key store. Without a display it exits. */
export const hasDisplay = () =>
  process.platform !== 'linux' ||
  process.argv.includes(headless) ||
  process.env['DISPLAY'] !== undefined ||
  process.env['WAYLAND_DISPLAY'] !== undefined;

/** Unpairs in another process of the app with a headless display. Resolves to false if that fails. */
function unpairInHeadlessProcess(): Promise<boolean> {
  const args = [...process.argv.slice(1), headless, '--disable-gpu'];
  // Chromium prints many irrelevant errors to stderr, so it is ignored.
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'ignore'], timeout: runningDeadlineMs });
  return new Promise((done) => {
    child.once('error', () => done(false));
    child.once('exit', (code) => done(code === 0));
  });
}

/** A host that offers only the key store, for a start without a window. */
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
 * Unpairs a data folder for an uninstaller: removes the pairing, the start at login and the link registration, prints
 * the result and exits. A running companion performs the unpairing itself.
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
  return `Unpaired from ${before.hub}. ${hubKnows ? 'The hub revoked the node.' : `The hub could not be informed: revoke node ${nodeId} there too.`}`;
}
