import { isAllowed, powers } from '../../shared/companion/settings.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import type { CompanionState, PowerState } from '../../shared/companion/state.ts';
import type { HubSwitches } from './companion.ts';
import type { Pairing } from './data-folder.ts';
import type { SystemPermissions } from './permissions.ts';

/** Each power with the three that must agree about it. */
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

/** How a machine is paired, without its secret. */
export function describePairing(pairing: Pairing | null): CompanionState['paired'] {
  if (pairing === null) return null;
  const { hub, nodeId, name = null, pairedAt, sealedSecret } = pairing;
  return { hub, nodeId, name, pairedAt, secretIn: sealedSecret === undefined ? 'file' : 'key_store' };
}
