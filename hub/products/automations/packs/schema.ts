import type { PackManifest } from '../../../../shared/contract/automations/packs.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { pgPolicy, pgTable, primaryKey, sql, text, unique, uuid } from '../../../platform/db/orm.ts';
import {
  appRole,
  createdAt,
  instant,
  jsonb,
  policies,
  systemRole,
  tenantId,
  updatedAt,
} from '../../../platform/db/tenancy.ts';

/** Packs that a workspace published. Shipped packs are part of the program. */
export const publishedPacks = pgTable(
  'published_packs',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    packId: text('pack_id').notNull(),
    version: text('version').notNull(),
    manifest: jsonb('manifest').$type<PackManifest>().notNull(),
    /** The publisher; null for versions that are older than this column. */
    publishedBy: text('published_by'),
    createdAt: createdAt(),
  },
  (table) => [unique('published_packs_version').on(table.tenantId, table.packId, table.version), ...policies()],
);

/** Installed packs, in the version whose grants a user accepted. */
export const packInstalls = pgTable(
  'pack_installs',
  {
    tenantId: tenantId(),
    packId: text('pack_id').notNull(),
    version: text('version').notNull(),
    /** What the pack may do, as the user saw and accepted it. */
    grants: jsonb('grants').$type<JsonObject>().notNull(),
    installedBy: text('installed_by').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.packId] }), ...policies()],
);

/** Packs that the operator of the hub published for all workspaces. Workspaces read them, and only the system role writes them. */
export const hubPacks = pgTable(
  'hub_packs',
  {
    id: uuid('id').primaryKey(),
    packId: text('pack_id').notNull(),
    version: text('version').notNull(),
    manifest: jsonb('manifest').$type<PackManifest>().notNull(),
    createdAt: createdAt(),
    withdrawnAt: instant('withdrawn_at'),
  },
  (table) => [
    unique('hub_packs_version').on(table.packId, table.version),
    pgPolicy('workspace', { for: 'select', to: appRole, using: sql`true` }),
    pgPolicy('system', { for: 'all', to: systemRole, using: sql`true`, withCheck: sql`true` }),
  ],
);
