import { Client as PgClient } from 'pg';
import { readPostgresUrl } from '../../hub/platform/postgres-server/server.ts';
import { createClient } from '../fixtures/contract-client.ts';
import { signIn, startBenchHub } from './hub.ts';
import type { BenchHub } from './hub.ts';

export interface VoiceScene extends AsyncDisposable {
  hub: BenchHub;
  database: PgClient;
  tenantId: string;
  /** Headers of a signed-in user, and of a Business Calling API key. */
  headers: Record<string, string>;
  tokenHeaders: Record<string, string>;
}

/** Starts a hub that can collect garbage, with a workspace and a connection to its database. */
export async function startVoiceScene(): Promise<VoiceScene> {
  const hub = await startBenchHub({ DATABASE_POOL_SIZE: '20' }, { isInspected: true });
  const database = new PgClient({ connectionString: readPostgresUrl(hub.home) as string });
  await database.connect();
  const { tenantId } = await hub.api.call('readToken', {});
  const token = await signIn(hub);
  const session = createClient({ baseUrl: hub.url, fetch: fetch as never, token });
  const { key } = await session.call('createApiToken', {
    params: { tenantId },
    body: { name: 'bench', product: 'voice', permissions: ['voice:read'] },
  });
  return {
    hub,
    database,
    tenantId,
    headers: { authorization: `Bearer ${token}` },
    tokenHeaders: { 'x-api-key': key },
    async [Symbol.asyncDispose]() {
      await database.end();
      await hub[Symbol.asyncDispose]();
    },
  };
}
