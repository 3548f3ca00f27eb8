import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import { channels as resource } from '../../../../shared/contract/automations/channels.ts';
import type { Channel } from '../../../../shared/contract/automations/channels.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { isUuid } from '../../../../shared/uuid.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, lt, sql } from '../../../platform/db/orm.ts';
import { readEntitlements } from '../../../platform/db/tenancy.ts';
import { assertVersion } from '../../../platform/http/routing/if-match.ts';
import type { ExpectedVersion } from '../../../platform/http/routing/if-match.ts';
import { newId } from '../../../platform/ids.ts';
import type { ChatEvent } from '../../chat/events/index.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { EmailContext, EmailOutcome } from '../email/index.ts';
import { openConfig, sealConfig, secretsSet } from './config.ts';
import type { ChannelRow, ChannelsDependencies } from './dependencies.ts';
import { receiveMessages } from './inbound.ts';
import type { Received } from './inbound.ts';
import { deliver, openChannel } from './outbound.ts';
import type { DeliverRequest, OpenedChannel } from './outbound.ts';
import { adapters } from './providers/adapters.ts';
import { equalSecrets, header } from './providers/provider.ts';
import type { InboundCall, SignedCall } from './providers/provider.ts';
import { parsePlain } from './providers/webhook.ts';
import { sendReply } from './replies.ts';
import { channels } from './schema.ts';
import { findChannel } from './store.ts';

type PutBody = z.output<typeof resource.putAutomationChannel.body>;
type ListQuery = z.output<typeof resource.listAutomationChannels.query>;
type VerifyQuery = z.output<typeof resource.verifyAutomationChannel.query>;

const secretHeader = 'x-service-automation-token';

/** Channels through which users exchange messages with automations. */
export class Channels {
  readonly #deps: ChannelsDependencies;

  constructor(dependencies: ChannelsDependencies) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) =>
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

  /** @throws AppError `not_found`. */
  async get(tenantId: string, id: string): Promise<Channel> {
    const row = await this.#deps.db.read(tenantId, (tx) => findChannel(tx, tenantId, id));
    if (row === null) throw notFound('channel', id);
    return this.#present(row);
  }

  /**
   * Creates a channel, or updates the channel with the given `id`. @throws AppError `not_found`, `version_conflict`,
   * `validation_failed`, `workspace_limit_reached`.
   */
  put(tenantId: string, body: PutBody, actor: string, expected: ExpectedVersion): Promise<Channel> {
    return this.#write(tenantId, body.id, () => body, actor, expected);
  }

  /** @param bodyOf the whole content of the channel after the change; the transaction has locked `before`. */
  #write(
    tenantId: string,
    id: string | undefined,
    bodyOf: (before: ChannelRow | null) => PutBody,
    actor: string,
    expected: ExpectedVersion,
  ): Promise<Channel> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const before = id === undefined ? null : await findChannel(tx, tenantId, id, 'no key update');
      if (id !== undefined && before === null) throw notFound('channel', id);
      if (before !== null) assertVersion(expected, before.version, `channel ${before.id}`);
      const body = bodyOf(before);
      if (before !== null && before.provider !== body.provider) {
        throw new AppError(
          'validation_failed',
          `body.provider can't be changed: this channel has the provider ${before.provider}. Create a new channel.`,
          { details: [{ path: 'body.provider', message: `must be ${before.provider}` }] },
        );
      }
      const conversations = body.conversations ?? before?.conversations ?? false;
      if (body.conversations === true && !(await readEntitlements(tx, tenantId)).conversations_suite)
        throw new AppError(
          'product_not_entitled',
          'body.conversations requires the conversations_suite entitlement. Omit it, or ask the operator for the entitlement.',
        );
      const at = body.config_json === undefined ? 'config' : 'config_json';
      const sealed = sealConfig(
        this.#deps.secrets,
        body.provider,
        body[at] ?? before?.config ?? {},
        before,
        `body.${at}`,
      );
      const values = {
        provider: body.provider,
        name: body.name,
        active: body.active ?? before?.active ?? true,
        conversations,
        changedBy: actor,
        ...sealed,
      };
      const [row] =
        before === null
          ? await tx
              .insert(channels)
              .values({ id: newId(), tenantId, ...values })
              .returning()
          : await tx
              .update(channels)
              .set({ ...values, version: before.version + 1, updatedAt: sql`now()` })
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

  /** Updates the given fields of a channel. @throws AppError `not_found`, `version_conflict`, `validation_failed`. */
  patch(
    tenantId: string,
    id: string,
    body: {
      name?: string | undefined;
      active?: boolean | undefined;
      conversations?: boolean | undefined;
      config?: JsonObject | undefined;
    },
    actor: string,
    expected: ExpectedVersion,
  ): Promise<Channel> {
    const bodyOf = (before: ChannelRow): PutBody => ({
      provider: before.provider,
      name: body.name ?? before.name,
      active: body.active ?? before.active,
      conversations: body.conversations,
      config: { ...before.config, ...body.config },
    });
    return this.#write(tenantId, id, (before) => bodyOf(before as ChannelRow), actor, expected);
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
   * Receives a message. `caller` is the workspace of an API key. Without an API key it is null, and the inbound secret
   * of the channel or the signature of its provider must be valid.
   * @throws AppError `not_found`, `channel_secret_invalid`, `channel_inactive`.
   */
  async receive(
    id: string,
    call: InboundCall,
    caller: { tenantId: string; actor: string; environment: 'live' | 'test' } | null,
  ): Promise<Received | { challenge: string }> {
    const channel =
      caller === null
        ? await this.#findAnywhere(id)
        : await this.#deps.db.read(caller.tenantId, (tx) => findChannel(tx, caller.tenantId, id));
    if (channel === null) throw caller === null ? secretInvalid() : notFound('channel', id);
    const adapter = channel.provider === 'email' ? null : adapters[channel.provider];
    if (caller === null) this.#assertSigned(channel, call);
    const challenge = adapter?.challenge?.(call.body) ?? null;
    if (challenge !== null) return { challenge };
    if (!channel.active) throw new AppError('channel_inactive', 'This channel is inactive.');
    const { automations, conversations_suite: hasChat } = await this.#deps.db.read(channel.tenantId, (tx) =>
      readEntitlements(tx, channel.tenantId),
    );
    if (!automations) throw new AppError('product_not_entitled', 'This workspace is not entitled to automations.');
    const messages = adapter === null ? parsePlain(call.body) : adapter.parse(call.body);
    return receiveMessages(
      this.#deps,
      { ...channel, conversations: channel.conversations && hasChat },
      messages,
      call.body,
      caller ?? { actor: null, environment: 'live' },
      this.#canAnswer(channel),
    );
  }

  /**
   * Authenticates a call of a provider.
   * @param rawBody null before the body is read; then the signature, which covers the body, is not checked.
   * @returns the workspace of the channel; undefined while the call is not authenticated.
   * @throws AppError `channel_secret_invalid`.
   */
  async assertSigned(id: string, headers: IncomingHttpHeaders, rawBody: Buffer | null): Promise<string | undefined> {
    const channel = isUuid(id) ? await this.#findAnywhere(id) : null;
    if (channel === null) throw secretInvalid();
    if (rawBody === null && headers[secretHeader] === undefined) return undefined;
    this.#assertSigned(channel, { headers, rawBody: rawBody ?? Buffer.alloc(0) });
    return channel.tenantId;
  }

  #assertSigned(channel: ChannelRow, call: SignedCall): void {
    const adapter = channel.provider === 'email' ? null : adapters[channel.provider];
    const config = openConfig(this.#deps.secrets, channel);
    const knowsSecret = equalSecrets(header(call.headers, secretHeader), config['inboundSecret']);
    if (!knowsSecret && adapter?.isSigned(config, call) !== true) throw secretInvalid();
  }

  /** Answers the verification request of WhatsApp for a new webhook. @throws AppError `channel_secret_invalid`. */
  async verify(id: string, query: VerifyQuery): Promise<string> {
    const channel = await this.#findAnywhere(id);
    const token = channel?.provider === 'whatsapp' ? openConfig(this.#deps.secrets, channel)['verifyToken'] : undefined;
    if (query['hub.mode'] !== 'subscribe' || !equalSecrets(query['hub.verify_token'], token)) throw secretInvalid();
    return query['hub.challenge'];
  }

  /**
   * The channel for a message. @throws AppError `not_found`, `validation_failed`, `channel_inactive`,
   * `product_not_entitled`.
   */
  pick(request: DeliverRequest, tenantId: string): Promise<OpenedChannel> {
    return openChannel(this.#deps, request, tenantId);
  }

  /**
   * Sends a message through a channel. In the test environment it only records the message. @throws AppError for a
   * failure that the provider reports.
   */
  deliver(channel: OpenedChannel, request: DeliverRequest, context: EmailContext): Promise<EmailOutcome> {
    return deliver(this.#deps, channel, request, context);
  }

  /**
   * Sends replies of conversations through the channels of their visitors. @throws AppError when a reply cannot be
   * queued.
   */
  follow(tx: Transaction, event: ChatEvent): Promise<void> {
    return sendReply(tx, this.#deps, event);
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
      conversations: row.conversations,
      version: row.version,
      inboundPath: `/v1/automations/channels/${row.id}/inbound`,
      createdAt: row.createdAt.toISOString(),
      updatedAt: row.updatedAt.toISOString(),
    };
  }
}

function secretInvalid(): AppError {
  return new AppError(
    'channel_secret_invalid',
    'Send the inboundSecret of the channel as X-Service-Automation-Token, an API key, or the signature of its provider.',
  );
}
