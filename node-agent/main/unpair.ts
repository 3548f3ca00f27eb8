import { app } from 'electron';
import { askCompanion } from '../runtime/control/client.ts';
import type { DataFolder } from '../runtime/data-folder.ts';
import { DeviceSecrets } from '../runtime/device-secrets.ts';
import type { HostPort } from '../runtime/host-port.ts';
import { unpair } from '../runtime/pairing.ts';
import { keyStoreName, seal, unseal } from './key-store.ts';

const runningDeadlineMs = 30_000;

/** Whether Electron can start so far that it can ask the key store; without a screen it ends instead. */
export const hasScreen = () =>
  process.platform !== 'linux' || process.env['DISPLAY'] !== undefined || process.env['WAYLAND_DISPLAY'] !== undefined;

/** The key store alone, for a start that opens no window. */
async function keyStoreHost(): Promise<HostPort | null> {
  if (!hasScreen()) return null;
  await app.whenReady();
  return {
    offer: { keyStore: await keyStoreName(), captures: [] },
    call: async (method, params) =>
      (method === 'seal'
        ? { sealed: await seal((params as { text: string }).text) }
        : { text: await unseal((params as { sealed: string }).sealed) }) as never,
  };
}

/** Forgets the hub of a data folder, as whoever uninstalls the app wants it, says what became of it, and ends the process. An app that runs is asked to do it. */
export async function leaveHub(folder: DataFolder): Promise<never> {
  try {
    process.stdout.write(`${await forget(folder)}\n`);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`outrigger-companion: ${(error as Error).message}\n`);
    process.exit(1);
  }
}

async function forget(folder: DataFolder): Promise<string> {
  const before = folder.readPairing();
  if (before === null) return 'This machine was not paired.';
  const told = await askCompanion(folder, 'unpair', {}, { timeoutMs: runningDeadlineMs }).catch(() => null);
  const { nodeId, hubKnows } = told ?? (await unpair(folder, new DeviceSecrets(await keyStoreHost())));
  return `Forgot ${before.hub}. ${hubKnows ? 'It knows.' : `It could not be told: revoke node ${nodeId} there too.`}`;
}
