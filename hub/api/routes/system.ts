import { system } from '../../../shared/contract/system.ts';
import { implement } from '../implement.ts';

export interface SystemFaces {
  version: string;
  /** The state of each part that accepting work needs. */
  check: () => Promise<Record<string, { ok: boolean; message?: string }>>;
}

export const systemRoutes = ({ version, check }: SystemFaces) =>
  implement(system, {
    readHealth: async () => ({ status: 'ok' as const, version, uptimeSeconds: Math.round(process.uptime()) }),
    async readReadiness({ raw: { response } }) {
      const parts = await check();
      const ready = Object.values(parts).every((part) => part.ok);
      response.status(ready ? 200 : 503);
      return { status: ready ? ('ready' as const) : ('not_ready' as const), parts };
    },
  });
