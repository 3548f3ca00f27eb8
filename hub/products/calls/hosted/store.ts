import type { Transaction } from '../../../platform/db/database.ts';

export interface HostedRow {
  username: string;
  domain: string | null;
}

export async function readHosted(tx: Transaction, tenantId: string): Promise<HostedRow | undefined> {
  const { rows } = await tx.query<HostedRow>(
    'read_hosted_sip',
    'SELECT username, domain FROM hosted_sip WHERE tenant_id = $1',
    [tenantId],
  );
  return rows[0];
}

/** Stores the account of a workspace. An account without a domain has no password. */
export const writeHosted = (
  tx: Transaction,
  tenantId: string,
  account: HostedRow & { ha1: string | null },
): Promise<unknown> =>
  tx.query(
    'write_hosted_sip',
    `INSERT INTO hosted_sip (tenant_id, username, domain, ha1) VALUES ($1, $2, $3, $4)
     ON CONFLICT (tenant_id) DO UPDATE SET username = excluded.username, domain = excluded.domain, ha1 = excluded.ha1, updated_at = now()`,
    [tenantId, account.username, account.domain, account.ha1],
  );

/** Returns whether a row existed. */
export async function deleteHosted(tx: Transaction, tenantId: string): Promise<boolean> {
  const { rows } = await tx.query(
    'delete_hosted_sip',
    'DELETE FROM hosted_sip WHERE tenant_id = $1 RETURNING tenant_id',
    [tenantId],
  );
  return rows.length > 0;
}
