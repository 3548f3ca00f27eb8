import { powers } from '../../shared/companion/settings.ts';
import type { LocalSettings, Power } from '../../shared/companion/settings.ts';
import type { SystemPermission } from '../../shared/companion/state.ts';
import type { HostPort } from './host-port.ts';
import type { ProcessGuard } from './process-guard.ts';

export type SystemPermissions = Record<Power, SystemPermission>;

/** Reads what the system lets the companion use. */
export class PermissionReader implements Disposable {
  constructor(_guard: ProcessGuard, _host?: HostPort) {}

  async lookAtPermissions(_settings: LocalSettings, _signal: AbortSignal): Promise<SystemPermissions> {
    return Object.fromEntries(
      powers.map((power) => [power, { state: 'unknown', detail: '', remedy: null }]),
    ) as SystemPermissions;
  }

  [Symbol.dispose](): void {}
}
