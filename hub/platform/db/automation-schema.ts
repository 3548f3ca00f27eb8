import { boolean, index, integer, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core';
import type { PackManifest } from '../../../shared/contract/packs.ts';
import type { ChannelProvider } from '../../../shared/contract/channel-providers.ts';
import type { ModelProvider } from '../../../shared/contract/models.ts';
import type { QuietHours, Retention } from '../../../shared/contract/policies.ts';
import type { SessionScope } from '../../../shared/contract/sessions.ts';
import type { Step } from '../../../shared/contract/steps.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { approvals } from './schema.ts';
import { bytea, createdAt, instant, jsonb, policies, tenantId, updatedAt } from './tenancy.ts';

/** The resources of Automations beside workflows, runs and nodes. */

/** One fire of a schedule. Whoever inserts the row starts the run, so each fires once whatever number of processes looks. */
export const scheduleFires = pgTable(
  'schedule_fires',
  {
    workflowId: uuid('workflow_id').notNull(),
    fireAt: instant('fire_at').notNull(),
    tenantId: tenantId(),
    outcome: text('outcome').$type<'started' | 'overlapped' | 'queue_full' | 'refused'>().notNull(),
    runId: uuid('run_id'),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.workflowId, table.fireAt] }),
    index('schedule_fires_age').on(table.createdAt),
    ...policies(),
  ],
);

/** Who decided on an approval that needs several. */
export const approvalVotes = pgTable(
  'approval_votes',
  {
    approvalId: uuid('approval_id')
      .notNull()
      .references(() => approvals.id, { onDelete: 'cascade' }),
    approver: text('approver').notNull(),
    tenantId: tenantId(),
    decision: text('decision').$type<'approved' | 'rejected'>().notNull(),
    note: text('note'),
    createdAt: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.approvalId, table.approver] }), ...policies()],
);

/** A link that lets one named person decide one approval, once, without signing in. */
export const approvalLinks = pgTable(
  'approval_links',
  {
    tokenHash: bytea('token_hash').primaryKey(),
    approvalId: uuid('approval_id')
      .notNull()
      .references(() => approvals.id, { onDelete: 'cascade' }),
    approver: text('approver').notNull(),
    tenantId: tenantId(),
    usedAt: instant('used_at'),
    /** While the mail that carries it is on its way; past that time whoever was sending it died. */
    mailingUntil: instant('mailing_until'),
    createdAt: createdAt(),
  },
  (table) => [index('approval_links_approval').on(table.approvalId), ...policies()],
);

export const sequences = pgTable(
  'sequences',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    steps: jsonb('steps').$type<Step[]>().notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('sequences_tenant').on(table.tenantId, table.id), ...policies()],
);

/** The one policy of a workspace. */
export const automationPolicies = pgTable(
  'automation_policies',
  {
    tenantId: tenantId().primaryKey(),
    standingOrders: text('standing_orders').notNull(),
    quietHours: jsonb('quiet_hours').$type<QuietHours>(),
    maxRunsPerHour: integer('max_runs_per_hour'),
    approvalsRequiredFor: text('approvals_required_for').array().notNull(),
    errorWorkflowId: uuid('error_workflow_id'),
    retention: jsonb('retention').$type<Retention>(),
    updatedAt: updatedAt(),
  },
  () => policies(),
);

export const toolProfiles = pgTable(
  'tool_profiles',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    allow: text('allow').array().notNull(),
    deny: text('deny').array().notNull(),
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
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('agents_tenant').on(table.tenantId, table.id),
    index('agents_tool_profile').on(table.toolProfileId).concurrently(),
    ...policies(),
  ],
);

/** A conversation that automations hold: its transcript, and what is remembered of the older part of it. */
export const automationSessions = pgTable(
  'automation_sessions',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    scope: text('scope').$type<SessionScope>().notNull(),
    key: text('key').notNull(),
    title: text('title').notNull(),
    memorySummary: text('memory_summary').notNull(),
    /** The last message that the summary covers. */
    summarisedThrough: uuid('summarised_through'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    unique('automation_sessions_key').on(table.tenantId, table.scope, table.key),
    index('automation_sessions_tenant').on(table.tenantId, table.id),
    index('automation_sessions_scope').on(table.tenantId, table.scope, table.id).concurrently(),
    index('automation_sessions_by_key').on(table.tenantId, table.key, table.id).concurrently(),
    ...policies(),
  ],
);

export const sessionMessages = pgTable(
  'session_messages',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    sessionId: uuid('session_id')
      .notNull()
      .references(() => automationSessions.id, { onDelete: 'cascade' }),
    role: text('role').$type<'user' | 'assistant' | 'system'>().notNull(),
    content: text('content').notNull(),
    runId: uuid('run_id'),
    createdAt: createdAt(),
  },
  (table) => [index('session_messages_session').on(table.sessionId, table.id), ...policies()],
);

/** The models of a workspace; their API keys are sealed. */
export const modelConfigs = pgTable(
  'model_configs',
  {
    tenantId: tenantId().primaryKey(),
    models: jsonb('models')
      .$type<
        { id: string; provider: ModelProvider; baseUrl: string | null; model: string; sealedKey: string | null }[]
      >()
      .notNull(),
    order: text('order').array().notNull(),
    updatedAt: updatedAt(),
  },
  () => policies(),
);

export const channels = pgTable(
  'channels',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    provider: text('provider').$type<ChannelProvider>().notNull(),
    name: text('name').notNull(),
    /** What may be read back. */
    config: jsonb('config').$type<JsonObject>().notNull(),
    /** The rest of the configuration, sealed as one JSON text. */
    sealedSecrets: text('sealed_secrets').notNull(),
    active: boolean('active').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('channels_tenant').on(table.tenantId, table.id), ...policies()],
);

/** Messages of a provider that came in, for as long as it may send them again. */
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

/** Packs that a workspace published; the shipped ones are part of the program. */
export const publishedPacks = pgTable(
  'published_packs',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    packId: text('pack_id').notNull(),
    version: text('version').notNull(),
    manifest: jsonb('manifest').$type<PackManifest>().notNull(),
    createdAt: createdAt(),
  },
  (table) => [unique('published_packs_version').on(table.tenantId, table.packId, table.version), ...policies()],
);

/** Packs that a workspace installed, in the version whose demands somebody accepted. */
export const packInstalls = pgTable(
  'pack_installs',
  {
    tenantId: tenantId(),
    packId: text('pack_id').notNull(),
    version: text('version').notNull(),
    /** What the pack may do, as it was shown and accepted. */
    grants: jsonb('grants').$type<JsonObject>().notNull(),
    installedBy: text('installed_by').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.packId] }), ...policies()],
);

export const contactLists = pgTable(
  'contact_lists',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('contact_lists_tenant').on(table.tenantId, table.id), ...policies()],
);

export const contacts = pgTable(
  'contacts',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    listId: uuid('list_id')
      .notNull()
      .references(() => contactLists.id, { onDelete: 'cascade' }),
    email: text('email').notNull(),
    name: text('name'),
    attributes: jsonb('attributes').$type<JsonObject>().notNull(),
    unsubscribedAt: instant('unsubscribed_at'),
    createdAt: createdAt(),
  },
  (table) => [
    unique('contacts_email').on(table.listId, table.email),
    index('contacts_list').on(table.listId, table.id),
    index('contacts_address').on(table.tenantId, table.email).concurrently(),
    ...policies(),
  ],
);

export const campaigns = pgTable(
  'campaigns',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    listId: uuid('list_id')
      .notNull()
      .references(() => contactLists.id, { onDelete: 'restrict' }),
    subject: text('subject').notNull(),
    html: text('html'),
    text: text('text'),
    /** How many of its mails are in each state, counted along with every change of one: a list must not count them all. */
    mailsSending: integer('mails_sending').notNull().default(0),
    mailsSent: integer('mails_sent').notNull().default(0),
    mailsSimulated: integer('mails_simulated').notNull().default(0),
    mailsFailed: integer('mails_failed').notNull().default(0),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('campaigns_tenant').on(table.tenantId, table.id),
    index('campaigns_list').on(table.listId).concurrently(),
    ...policies(),
  ],
);

/** One mail of a campaign to one contact: the row is claimed before the mail goes out, so that a contact never gets two. */
export const campaignMails = pgTable(
  'campaign_mails',
  {
    campaignId: uuid('campaign_id')
      .notNull()
      .references(() => campaigns.id, { onDelete: 'cascade' }),
    contactId: uuid('contact_id')
      .notNull()
      .references(() => contacts.id, { onDelete: 'cascade' }),
    tenantId: tenantId(),
    /** `sending` that nobody works on any more means that nobody knows whether it went out; it is not sent again. */
    status: text('status').$type<'sending' | 'sent' | 'simulated' | 'failed'>().notNull(),
    error: text('error'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.campaignId, table.contactId] }),
    index('campaign_mails_contact').on(table.contactId).concurrently(),
    ...policies(),
  ],
);

/** How the runs ended that finished in one slice of time; the sweep fills it once the slice is over. */
export const runRollups = pgTable(
  'run_rollups',
  {
    tenantId: tenantId(),
    sliceAt: instant('slice_at').notNull(),
    succeeded: integer('succeeded').notNull(),
    failed: integer('failed').notNull(),
    cancelled: integer('cancelled').notNull(),
    /** Counts by bucket of the logarithmic scale of latencies: from acceptance to the start, and from there to the end. */
    queueHistogram: jsonb('queue_histogram').$type<Record<string, number>>().notNull(),
    runHistogram: jsonb('run_histogram').$type<Record<string, number>>().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.sliceAt] }),
    index('run_rollups_age').on(table.sliceAt).concurrently(),
    ...policies(),
  ],
);
