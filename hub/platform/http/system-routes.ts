import { system } from '../../../shared/contract/core/system.ts';
import { implement } from './routing/implement.ts';

export interface SystemServices {
  version: string;
  /** Checks the parts that the hub needs to accept work. */
  check: () => Promise<Record<string, { ok: boolean; message?: string }>>;
  /** Names of the parts whose failure only degrades the hub. */
  optionalParts: readonly string[];
}

export const systemRoutes = ({ version, check, optionalParts }: SystemServices) =>
  implement(system, {
    readHealth: async () => ({ status: 'ok' as const, version, uptimeSeconds: Math.round(process.uptime()) }),
    async readReadiness({ raw: { response } }) {
      const parts = await check();
      const down = Object.entries(parts).flatMap(([name, part]) => (part.ok ? [] : [name]));
      const ready = down.every((name) => optionalParts.includes(name));
      response.status(ready ? 200 : 503);
      return {
        status: !ready ? ('not_ready' as const) : down.length > 0 ? ('degraded' as const) : ('ready' as const),
        parts,
      };
    },
  });
