import { isAllowed, powers } from '../../shared/companion/settings.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import type { CompanionState, PowerState } from '../../shared/companion/state.ts';
import type { HubSwitches } from './companion.ts';
import { BrokenFileError } from './data-folder.ts';
import type { DataFolder, Pairing } from './data-folder.ts';
import type { SystemPermissions } from './permissions.ts';
import { localSettings } from './settings.ts';

/** The permissions for each power: of the owner, of the hub and of the system. */
export async function describePowers(
  settings: LocalSettings,
  hubAllows: HubSwitches,
  look: (settings: LocalSettings) => Promise<SystemPermissions>,
): Promise<PowerState[]> {
  const system = await look(settings);
  const now = Date.now();
  return powers.map((power) => {
    const isOn = isAllowed(settings, power, now);
    return {
      power,
      isAllowed: isOn,
      until: isOn ? (settings.until[power] ?? null) : null,
      hubAllows: power === 'system' || power === 'browser' ? (hubAllows[power] ?? null) : null,
      system: system[power],
    };
  });
}

/** Reads the files of a data folder. When a file cannot be read, everything is off, or the machine is not paired. */
export function readOwnFiles(folder: DataFolder): {
  settings: LocalSettings;
  pairing: Pairing | null;
  /** The first problem, with what to do. */
  problem: string | null;
  broken: CompanionState['broken'];
} {
  const broken: CompanionState['broken'] = [];
  let problem: string | null = null;
  const readOrFallback = <Value>(read: () => Value, fallback: () => Value): Value => {
    try {
      return read();
    } catch (error) {
      problem ??= (error as Error).message;
      if (error instanceof BrokenFileError) broken.push({ file: error.file, path: error.path, detail: error.detail });
      return fallback();
    }
  };
  const settings = readOrFallback(
    () => folder.readSettings(),
    () => localSettings.parse({ files: { allowed: false } }),
  );
  const pairing = readOrFallback(
    () => folder.readPairing(),
    () => null,
  );
  return { settings, pairing, problem, broken };
}

/** How a machine is paired, without its secret. */
export function describePairing(pairing: Pairing | null): CompanionState['paired'] {
  if (pairing === null) return null;
  const { hub, nodeId, name = null, pairedAt, sealedSecret } = pairing;
  return { hub, nodeId, name, pairedAt, secretIn: sealedSecret === undefined ? 'file' : 'key_store' };
}
