import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq } from '../../../platform/db/orm.ts';
import type { ChannelRow } from './dependencies.ts';
import { channels } from './schema.ts';

export async function findChannel(
  tx: Transaction,
  tenantId: string,
  id: string,
  lock?: 'no key update',
): Promise<ChannelRow | null> {
  const query = tx
    .select()
    .from(channels)
    .where(and(eq(channels.tenantId, tenantId), eq(channels.id, id)));
  const [row] = await (lock === undefined ? query : query.for(lock));
  return row ?? null;
}
