import { index, pgTable, text, uuid } from '../../../platform/db/orm.ts';
import { createdAt, jsonb, policies, tenantId, updatedAt, version } from '../../../platform/db/tenancy.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';

export const toolProfiles = pgTable(
  'tool_profiles',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    allow: text('allow').array().notNull(),
    deny: text('deny').array().notNull(),
    /** Last author of each field that can contain a command. */
    authors: jsonb('authors').$type<FieldAuthors>().notNull().default({}),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('tool_profiles_tenant').on(table.tenantId, table.id), ...policies()],
);

export const agents = pgTable(
  'agents',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    systemPrompt: text('system_prompt').notNull(),
    toolProfileId: uuid('tool_profile_id').references(() => toolProfiles.id, { onDelete: 'restrict' }),
    routeKeys: text('route_keys').array().notNull(),
    model: text('model'),
    /** Last author, as the audit log names actors. */
    changedBy: text('changed_by'),
    /** Last author of each field that can contain a command. */
    authors: jsonb('authors').$type<FieldAuthors>().notNull().default({}),
    version: version(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('agents_tenant').on(table.tenantId, table.id),
    index('agents_tool_profile').on(table.toolProfileId).concurrently(),
    ...policies(),
  ],
);
