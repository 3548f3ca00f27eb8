import { randomBytes } from 'node:crypto';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';

/** The site key of a workspace. It is created on first use. */
export async function siteKeyOf(tx: Transaction, tenantId: string): Promise<string> {
  const find = () =>
    tx.query<{ site_key: string }>('find_site_key', 'SELECT site_key FROM chat_widgets WHERE tenant_id = $1', [
      tenantId,
    ]);
  const [known] = (await find()).rows;
  if (known !== undefined) return known.site_key;
  await tx.query(
    'make_widget',
    'INSERT INTO chat_widgets (id, tenant_id, site_key) VALUES ($1, $2, $3) ON CONFLICT (tenant_id) DO NOTHING',
    [newId(), tenantId, `wgt_${randomBytes(18).toString('base64url')}`],
  );
  // A concurrent transaction may have created the key first.
  return (await find()).rows[0]?.site_key as string;
}
