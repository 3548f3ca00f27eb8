import { and, desc, eq, lt, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { ChannelProvider } from '../../../../shared/contract/automations/channel-providers.ts';
import { channels as resource } from '../../../../shared/contract/automations/channels.ts';
import type { Channel } from '../../../../shared/contract/automations/channels.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { throughOutages } from '../../../platform/db/outage.ts';
import { readEntitlements } from '../../../platform/db/tenancy.ts';
import { newId } from '../../../platform/ids.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { EmailContext, EmailOutcome } from '../email/index.ts';
import { recordMessage } from '../logs/index.ts';
import { openConfig, sealConfig, secretsSet } from './config.ts';
import type { ChannelRow, ChannelsDependencies } from './dependencies.ts';
import { receiveMessages } from './inbound.ts';
import type { Received } from './inbound.ts';
import { equalSecrets, header } from './providers/provider.ts';
import type { ChannelAdapter, ChannelConfig, InboundCall, OutboundMessage } from './providers/provider.ts';
import { slack } from './providers/slack.ts';
import { telegram } from './providers/telegram.ts';
import { parsePlain, webhook } from './providers/webhook.ts';
import { whatsapp } from './providers/whatsapp.ts';
import { channels } from './schema.ts';

type PutBody = z.output<typeof resource.putAutomationChannel.body>;
type ListQuery = z.output<typeof resource.listAutomationChannels.query>;
type VerifyQuery = z.output<typeof resource.verifyAutomationChannel.query>;

const adapters: Record<Exclude<ChannelProvider, 'email'>, ChannelAdapter> = { telegram, slack, whatsapp, webhook };
const secretHeader = 'x-service-automation-token';

/** A message to be sent: through the channel that is named, or the only active one of a provider. */
export interface DeliverRequest extends OutboundMessage {
  channelId?: string | undefined;
  provider?: ChannelProvider | undefined;
  subject?: string | undefined;
}

/** A channel as a message goes out through it, its secrets opened. */
export interface PickedChannel {
  id: string;
  provider: ChannelProvider;
  config: ChannelConfig;
}

/** Where people write to automations, and automations to them. */
export class Channels {
  readonly #deps: ChannelsDependencies;

  constructor(dependencies: ChannelsDependencies) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.workspace(tenantId, (tx) =>
        tx
          .select()
          .from(channels)
          .where(
            and(
              eq(channels.tenantId, tenantId),
              query.provider === undefined ? undefined : eq(channels.provider, query.provider),
              before === undefined ? undefined : lt(channels.id, before),
            ),
          )
          .orderBy(desc(channels.id))
          .limit(limit),
      );
    return readPage(this.#deps.cursors, `channels:${tenantId}`, query, read, (row) => this.#present(row));
  }

  /** Creates a channel, or changes the one that `id` names. @throws AppError `not_found`, `validation_failed`, `workspace_limit_reached`. */
  put(tenantId: string, body: PutBody, actor: string): Promise<Channel> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const before = body.id === undefined ? null : await findChannel(tx, tenantId, body.id);
      if (body.id !== undefined && before === null) throw notFound('channel', body.id);
      if (before !== null && before.provider !== body.provider) {
        throw new AppError(
          'validation_failed',
          `body.provider can't be changed: this channel is of ${before.provider}; make a new one.`,
          { details: [{ path: 'body.provider', message: `must be ${before.provider}` }] },
        );
      }
      const sealed = sealConfig(this.#deps.secrets, body.provider, body.config, before);
      const values = { provider: body.provider, name: body.name, active: body.active, ...sealed };
      const [row] =
        before === null
          ? await tx
              .insert(channels)
              .values({ id: newId(), tenantId, ...values })
              .returning()
          : await tx
              .update(channels)
              .set({ ...values, updatedAt: sql`now()` })
              .where(eq(channels.id, before.id))
              .returning();
      const written = row as ChannelRow;
      if (before === null) await this.#deps.limits.assertWithin(tx, tenantId, 'channel');
      await recordAudit(tx, {
        tenantId,
        actor,
        action: before === null ? 'channel.created' : 'channel.updated',
        targetType: 'channel',
        targetId: written.id,
        details: { provider: written.provider, name: written.name, active: written.active },
      });
      return this.#present(written);
    });
  }

  /** Changes what is named of a channel and keeps the rest. @throws AppError `not_found`, `validation_failed`. */
  async patch(
    tenantId: string,
    id: string,
    body: { name?: string | undefined; active?: boolean | undefined; config?: JsonObject | undefined },
    actor: string,
  ): Promise<Channel> {
    const before = await this.#deps.db.workspace(tenantId, (tx) => findChannel(tx, tenantId, id));
    if (before === null) throw notFound('channel', id);
    return this.put(
      tenantId,
      {
        id,
        provider: before.provider,
        name: body.name ?? before.name,
        active: body.active ?? before.active,
        config: { ...before.config, ...body.config },
      },
      actor,
    );
  }

  /** @throws AppError `not_found`. */
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const rows = await tx
        .delete(channels)
        .where(and(eq(channels.tenantId, tenantId), eq(channels.id, id)))
        .returning({ id: channels.id });
      if (rows.length === 0) throw notFound('channel', id);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'channel.deleted',
        targetType: 'channel',
        targetId: id,
        details: {},
      });
    });
    return { id, deleted: true };
  }

  /**
   * Takes a message in. `caller` is the workspace of an API key, or null for whoever else calls: then the channel's inbound secret
   * or its provider's signature must be right.
   * @throws AppError `not_found`, `channel_secret_invalid`, `channel_inactive`.
   */
  async receive(
    id: string,
    call: InboundCall,
    caller: { tenantId: string; environment: 'live' | 'test' } | null,
  ): Promise<Received | { challenge: string }> {
    const channel =
      caller === null
        ? await this.#findAnywhere(id)
        : await this.#deps.db.workspace(caller.tenantId, (tx) => findChannel(tx, caller.tenantId, id));
    if (channel === null) throw caller === null ? secretInvalid() : notFound('channel', id);
    const adapter = channel.provider === 'email' ? null : adapters[channel.provider];
    if (caller === null) {
      const config = openConfig(this.#deps.secrets, channel);
      const knowsSecret = equalSecrets(header(call.headers, secretHeader), config['inboundSecret']);
      if (!knowsSecret && adapter?.isSigned(config, call) !== true) throw secretInvalid();
    }
    const challenge = adapter?.challenge?.(call.body) ?? null;
    if (challenge !== null) return { challenge };
    if (!channel.active) throw new AppError('channel_inactive', 'This channel is switched off.');
    const { automations } = await this.#deps.db.workspace(
      channel.tenantId,
      (tx) => readEntitlements(tx, channel.tenantId),
      { durable: false },
    );
    if (!automations) throw new AppError('product_not_entitled', 'This workspace is not entitled to automations.');
    const messages = adapter === null ? parsePlain(call.body) : adapter.parse(call.body);
    return receiveMessages(
      this.#deps,
      channel,
      messages,
      call.body,
      caller?.environment ?? 'live',
      this.#canAnswer(channel),
    );
  }

  /** Answers WhatsApp's check of a new webhook. @throws AppError `channel_secret_invalid`. */
  async verify(id: string, query: VerifyQuery): Promise<string> {
    const channel = await this.#findAnywhere(id);
    const token = channel?.provider === 'whatsapp' ? openConfig(this.#deps.secrets, channel)['verifyToken'] : undefined;
    if (query['hub.mode'] !== 'subscribe' || !equalSecrets(query['hub.verify_token'], token)) throw secretInvalid();
    return query['hub.challenge'];
  }

  /** The channel that a message goes through. @throws AppError `not_found`, `validation_failed`, `channel_inactive`, `product_not_entitled`. */
  async pick(request: DeliverRequest, tenantId: string): Promise<PickedChannel> {
    const channel = await this.#deps.db.workspace(tenantId, async (tx) => {
      const picked = await pickChannel(tx, tenantId, request);
      if (picked.provider === 'email' && !(await readEntitlements(tx, tenantId)).business_email)
        throw new AppError('product_not_entitled', 'A channel of email needs the entitlement business_email.');
      return picked;
    });
    return { id: channel.id, provider: channel.provider, config: openConfig(this.#deps.secrets, channel) };
  }

  /** Sends a message through a channel; in the test environment it only records what it would have sent. @throws AppError what the provider's answer amounts to. */
  async deliver(channel: PickedChannel, request: DeliverRequest, context: EmailContext): Promise<EmailOutcome> {
    const { tenantId, runId, stepIndex } = context;
    const { config } = channel;
    if (channel.provider === 'email') {
      return this.#deps.email.send(
        {
          to: [request.to],
          subject: request.subject ?? 'Message',
          text: request.text,
          fromName: config['senderName'],
          replyTo: config['replyTo'],
        },
        context,
        'email',
      );
    }
    const record = (
      tx: Transaction,
      status: 'delivered' | 'simulated' | 'failed',
      summary: Record<string, JsonValue>,
    ) =>
      recordMessage(tx, {
        tenantId,
        runId,
        stepIndex,
        channel: channel.provider,
        recipient: request.to,
        status,
        summary: { channelId: channel.id, ...summary },
      });
    if (context.environment === 'test') {
      return {
        output: { simulated: true, channelId: channel.id, to: request.to },
        outputText: `simulated: ${channel.provider} message to ${request.to}`,
        persist: (tx) => record(tx, 'simulated', { text: request.text.slice(0, 500) }),
      };
    }
    try {
      const { providerMessageId } = await adapters[channel.provider].send(config, request, {
        egress: this.#deps.egress,
        idempotencyKey: context.idempotencyKey,
        signal: context.signal,
      });
      const output = { channelId: channel.id, provider: channel.provider, to: request.to, providerMessageId };
      return { output, outputText: request.text, persist: (tx) => record(tx, 'delivered', { providerMessageId }) };
    } catch (error) {
      if (error instanceof AppError)
        await throughOutages(context.signal, () =>
          this.#deps.db.workspace(tenantId, (tx) =>
            record(tx, 'failed', { code: error.code, error: error.message.slice(0, 500) }),
          ),
        );
      throw error;
    }
  }

  #canAnswer(channel: ChannelRow): boolean {
    if (channel.provider === 'email') return this.#deps.email.isConfigured;
    return channel.provider !== 'webhook' || typeof channel.config['url'] === 'string';
  }

  async #findAnywhere(id: string): Promise<ChannelRow | null> {
    const [row] = await this.#deps.db.system((tx) => tx.select().from(channels).where(eq(channels.id, id)), {
      durable: false,
    });
    return row ?? null;
  }

  #present(row: ChannelRow): Channel {
    return {
      id: row.id,
      provider: row.provider,
      name: row.name,
      config: row.config,
      secretsSet: secretsSet(this.#deps.secrets, row),
      active: row.active,
      inboundPath: `/v1/automations/channels/${row.id}/inbound`,
      createdAt: row.createdAt.toISOString(),
      updatedAt: row.updatedAt.toISOString(),
    };
  }
}

async function findChannel(tx: Transaction, tenantId: string, id: string): Promise<ChannelRow | null> {
  const [row] = await tx
    .select()
    .from(channels)
    .where(and(eq(channels.tenantId, tenantId), eq(channels.id, id)));
  return row ?? null;
}

async function pickChannel(
  tx: Transaction,
  tenantId: string,
  { channelId, provider }: DeliverRequest,
): Promise<ChannelRow> {
  if (channelId !== undefined) {
    const channel = await findChannel(tx, tenantId, channelId);
    if (channel === null) throw notFound('channel', channelId);
    if (provider !== undefined && channel.provider !== provider)
      throw new AppError('validation_failed', `The channel ${channelId} is of ${channel.provider}, not ${provider}.`);
    if (!channel.active) throw new AppError('channel_inactive', `The channel ${channel.name} is switched off.`);
    return channel;
  }
  if (provider === undefined) throw new AppError('validation_failed', 'Name a channelId or a provider.');
  const found = await tx
    .select()
    .from(channels)
    .where(and(eq(channels.tenantId, tenantId), eq(channels.provider, provider), eq(channels.active, true)))
    .limit(2);
  const [only, another] = found;
  if (only === undefined)
    throw new AppError(
      'not_found',
      `This workspace has no active channel of ${provider}; create one with POST /v1/automations/channels.`,
    );
  if (another !== undefined)
    throw new AppError('validation_failed', `This workspace has several channels of ${provider}; name the channelId.`);
  return only;
}

function secretInvalid(): AppError {
  return new AppError(
    'channel_secret_invalid',
    'Send the inboundSecret of the channel as X-Service-Automation-Token, an API key, or the signature of its provider.',
  );
}
