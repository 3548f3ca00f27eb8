import type { Entitlement } from '../../../shared/contract/define.ts';
import type { Transaction } from './database.ts';
import { customType, integer, pgPolicy, pgRole, pgTable, sql, text, timestamp, uniqueIndex, uuid } from './orm.ts';

/**
 * What every table shares. A table of a workspace carries `tenant_id` and two policies: the role `outrigger_app` sees the rows of the
 * workspace that its transaction named and no others, so a query that forgets its `where` leaks nothing; `outrigger_system`
 * sees all, for what belongs to no single workspace (sign-in, the sweeper, the run engine's claims). Neither owns a table.
 */

export const appRole = pgRole('outrigger_app').existing();
export const systemRole = pgRole('outrigger_system').existing();

/** JSON as it is. The driver has parsed it already: Drizzle's own type would parse a JSON text once more, and make a number of "12". */
export const jsonb = customType<{ data: unknown; driverData: unknown }>({
  dataType: () => 'jsonb',
  toDriver: (value) => JSON.stringify(value),
});
export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });
export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' });
export const createdAt = () => instant('created_at').notNull().defaultNow();
export const updatedAt = () => instant('updated_at').notNull().defaultNow();
/** Counts the changes of a row that several people edit. It is the `ETag` of the resource. */
export const version = () => integer('version').notNull().default(1);

const currentTenant = sql`(select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)`;

export function policies(column: 'tenant_id' | 'id' = 'tenant_id') {
  const own = sql`${sql.identifier(column)} = ${currentTenant}`;
  return [
    pgPolicy('workspace', { for: 'all', to: appRole, using: own, withCheck: own }),
    pgPolicy('system', { for: 'all', to: systemRole, using: sql`true`, withCheck: sql`true` }),
  ];
}

export const tenantId = () =>
  uuid('tenant_id')
    .notNull()
    .references(() => tenants.id, { onDelete: 'cascade' });

/**
 * The workspace of a row in a table that is written all the time, without a reference: checking one costs as much as writing an index entry, and
 * each check locks the workspace's row. Such rows come only from statements that read that row, or one that refers to it; when a workspace is
 * removed they follow by the task for that (`RowRetention.ofWorkspaces`).
 */
export const hotTenantId = () => uuid('tenant_id').notNull();

/** Workspaces that were removed, until all that they left in such tables is gone; a trigger notes them. */
export const removedWorkspaces = pgTable(
  'removed_workspaces',
  {
    tenantId: uuid('tenant_id').primaryKey(),
    removedAt: instant('removed_at').notNull().defaultNow(),
  },
  () => policies(),
);

export const tenants = pgTable(
  'tenants',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    entitlements: jsonb('entitlements').$type<Record<Entitlement, boolean>>().notNull(),
    createdAt: createdAt(),
  },
  (table) => [uniqueIndex('tenants_name').on(sql`lower(${table.name})`), ...policies('id')],
);

/** What a workspace is entitled to now. */
export async function readEntitlements(tx: Transaction, id: string): Promise<Record<Entitlement, boolean>> {
  const { rows } = await tx.query<{ entitlements: Record<Entitlement, boolean> }>(
    'read_entitlements',
    'SELECT entitlements FROM tenants WHERE id = $1',
    [id],
  );
  const row = rows[0];
  if (row === undefined) throw new Error(`no workspace ${id}`);
  return row.entitlements;
}
