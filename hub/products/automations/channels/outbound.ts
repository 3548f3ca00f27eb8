import type { ChannelProvider } from '../../../../shared/contract/automations/channel-providers.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { sunk } from '../../../engine/skill.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq } from '../../../platform/db/orm.ts';
import { retryOnOutage } from '../../../platform/db/outage.ts';
import { readEntitlements } from '../../../platform/db/tenancy.ts';
import type { EmailContext, EmailOutcome } from '../email/index.ts';
import { messageRecords } from '../logs/index.ts';
import type { MessageRecord } from '../logs/index.ts';
import { openConfig } from './config.ts';
import type { ChannelRow, ChannelsDependencies } from './dependencies.ts';
import { adapters } from './providers/adapters.ts';
import type { ChannelConfig, OutboundMessage } from './providers/provider.ts';
import { channels } from './schema.ts';
import { findChannel } from './store.ts';

/** An outbound message, for the given channel or for the only active channel of a provider. */
export interface DeliverRequest extends OutboundMessage {
  channelId?: string | undefined;
  provider?: ChannelProvider | undefined;
  subject?: string | undefined;
}

/** A channel with its decrypted secrets. */
export interface OpenedChannel {
  id: string;
  provider: ChannelProvider;
  config: ChannelConfig;
}

/**
 * The channel for a message. @throws AppError `not_found`, `validation_failed`, `channel_inactive`,
 * `product_not_entitled`.
 */
export async function openChannel(
  deps: ChannelsDependencies,
  request: DeliverRequest,
  tenantId: string,
): Promise<OpenedChannel> {
  const channel = await deps.db.read(tenantId, async (tx) => {
    const picked = await pickChannel(tx, tenantId, request);
    if (picked.provider === 'email' && !(await readEntitlements(tx, tenantId)).business_email)
      throw new AppError('product_not_entitled', 'An email channel requires the business_email entitlement.');
    return picked;
  });
  return { id: channel.id, provider: channel.provider, config: openConfig(deps.secrets, channel) };
}

/**
 * Sends a message through a channel. In the test environment it only records the message. @throws AppError for a
 * failure that the provider reports.
 */
export async function deliver(
  deps: ChannelsDependencies,
  channel: OpenedChannel,
  request: DeliverRequest,
  context: EmailContext,
): Promise<EmailOutcome> {
  const { tenantId, workflowId, runId, stepIndex } = context;
  const { config } = channel;
  if (channel.provider === 'email') {
    return deps.email.send(
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
  const record = (status: MessageRecord['status'], summary: JsonObject): MessageRecord => ({
    tenantId,
    workflowId,
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
      rows: [sunk(messageRecords, record('simulated', { text: request.text.slice(0, 500) }))],
    };
  }
  try {
    const { providerMessageId } = await adapters[channel.provider].send(config, request, {
      egress: deps.egress,
      idempotencyKey: context.idempotencyKey,
      signal: context.signal,
    });
    const output = { channelId: channel.id, provider: channel.provider, to: request.to, providerMessageId };
    return {
      output,
      outputText: request.text,
      rows: [sunk(messageRecords, record('delivered', { providerMessageId }))],
    };
  } catch (error) {
    if (error instanceof AppError)
      await retryOnOutage(context.signal, () =>
        deps.db.workspace(tenantId, (tx) =>
          messageRecords.insert(tx, [record('failed', { code: error.code, error: error.message.slice(0, 500) })]),
        ),
      );
    throw error;
  }
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
      throw new AppError(
        'validation_failed',
        `The channel ${channelId} has the provider ${channel.provider}, not ${provider}.`,
      );
    if (!channel.active) throw new AppError('channel_inactive', `The channel ${channel.name} is inactive.`);
    return channel;
  }
  if (provider === undefined) throw new AppError('validation_failed', 'Give a channelId or a provider.');
  const found = await tx
    .select()
    .from(channels)
    .where(and(eq(channels.tenantId, tenantId), eq(channels.provider, provider), eq(channels.active, true)))
    .limit(2);
  const [only, another] = found;
  if (only === undefined)
    throw new AppError(
      'not_found',
      `This workspace has no active channel of ${provider}. Create one with POST /v1/automations/channels.`,
    );
  if (another !== undefined)
    throw new AppError('validation_failed', `This workspace has several channels of ${provider}. Give the channelId.`);
  return only;
}
