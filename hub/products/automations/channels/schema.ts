import type { ChannelProvider } from '../../../../shared/contract/automations/channel-providers.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { boolean, index, pgTable, primaryKey, text, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, jsonb, policies, tenantId, updatedAt, version } from '../../../platform/db/tenancy.ts';

export const channels = pgTable(
  'channels',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    provider: text('provider').$type<ChannelProvider>().notNull(),
    name: text('name').notNull(),
    /** The readable part of the configuration. */
    config: jsonb('config').$type<JsonObject>().notNull(),
    /** The secret part of the configuration, encrypted as one JSON text. */
    sealedSecrets: text('sealed_secrets').notNull(),
    active: boolean('active').notNull(),
    /** Whether inbound messages open Live Chat conversations. */
    conversations: boolean('conversations').notNull().default(false),
    /** Last author, as the audit log names actors. */
    changedBy: text('changed_by'),
    version: version(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('channels_tenant').on(table.tenantId, table.id), ...policies()],
);

/** Received messages of a provider, kept while the provider may send them again. */
export const channelReceipts = pgTable(
  'channel_receipts',
  {
    channelId: uuid('channel_id')
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    messageId: text('message_id').notNull(),
    tenantId: tenantId(),
    runIds: uuid('run_ids').array().notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.channelId, table.messageId] }),
    index('channel_receipts_expiry').on(table.expiresAt),
    ...policies(),
  ],
);
