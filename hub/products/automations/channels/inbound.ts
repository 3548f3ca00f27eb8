import { createHash } from 'node:crypto';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import { AppError, errorCodes } from '../../../../shared/errors.ts';
import { toStorableJson, toStorableText } from '../../../../shared/json.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { starterOf } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq, gt, lte, sql } from '../../../platform/db/orm.ts';
import { routeToAgent } from '../agents/index.ts';
import { appendMessage, ensureSession } from '../sessions/index.ts';
import type { StartedRun } from '../workflows/index.ts';
import type { ChannelRow, ChannelsDependencies } from './dependencies.ts';
import type { InboundMessage } from './providers/provider.ts';
import { channelReceipts } from './schema.ts';

export interface Received {
  received: true;
  runIds: string[];
  sessionId: string | null;
  duplicate?: true;
}

/** How long duplicate messages of a provider are detected, in hours. */
const duplicateWindowHours = 72;

/** A key of limited length. A longer key ends in its hash, so that keys with the same prefix stay distinct. */
function bounded(key: string, maxLength: number): string {
  if (key.length <= maxLength) return key;
  const hash = createHash('sha256').update(key).digest('hex');
  return `${key.slice(0, maxLength - hash.length - 1)}~${hash}`;
}

/** Records a message. @returns the runs that a duplicate message started earlier; null for a new message. */
async function claim(tx: Transaction, channel: ChannelRow, messageId: string): Promise<string[] | null> {
  const own = and(eq(channelReceipts.channelId, channel.id), eq(channelReceipts.messageId, messageId));
  await tx.delete(channelReceipts).where(and(own, lte(channelReceipts.expiresAt, sql`now()`)));
  const inserted = await tx
    .insert(channelReceipts)
    .values({
      channelId: channel.id,
      messageId,
      tenantId: channel.tenantId,
      runIds: [],
      expiresAt: sql`now() + make_interval(hours => ${duplicateWindowHours})`,
    })
    .onConflictDoNothing()
    .returning({ messageId: channelReceipts.messageId });
  if (inserted.length > 0) return null;
  const [first] = await tx
    .select({ runIds: channelReceipts.runIds })
    .from(channelReceipts)
    .where(and(own, gt(channelReceipts.expiresAt, sql`now()`)));
  return first?.runIds ?? [];
}

/**
 * Whether a run of this workspace sent a message. A relay may echo such a message, and it must not count as a message
 * of a visitor.
 */
async function isOwnReply(tx: Transaction, tenantId: string, messageId: string | null): Promise<boolean> {
  const runId = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-[0-9]+(?:-[0-9]+){0,2}$/.exec(messageId ?? '')?.[1];
  if (runId === undefined) return false;
  const { rowCount } = await tx.query('has_run_of_message', 'SELECT FROM runs WHERE tenant_id = $1 AND id = $2', [
    tenantId,
    runId,
  ]);
  return rowCount !== 0;
}

/** The steps of an agent that answers a message and sends the answer to the sender. */
function answerSteps(channel: ChannelRow, agentId: string, canAnswer: boolean): Step[] {
  const answer: Step = {
    type: 'agent',
    id: 'answer',
    agentId,
    prompt: '{{payload.text}}',
    sessionId: '{{payload.sessionId}}',
    maxTurns: 10,
  };
  if (!canAnswer) return [answer];
  return [
    answer,
    {
      type: 'deliver',
      provider: channel.provider,
      channelId: channel.id,
      to: '{{payload.replyTo}}',
      text: '{{steps.answer.outputText}}',
    },
  ];
}

/**
 * Receives the messages of one call. Each message is added to its session and starts the workflows of its channel, or
 * else the agent of its route. One transaction covers all messages, so that a failed call can be sent again.
 */
export async function receiveMessages(
  deps: ChannelsDependencies,
  channel: ChannelRow,
  messages: InboundMessage[],
  body: JsonObject,
  { actor: caller, environment }: { actor: string | null; environment: 'live' | 'test' },
  canAnswer: boolean,
): Promise<Received> {
  const { tenantId } = channel;
  // The last author of a channel knows its secret and can send messages in the name of other senders.
  const starters = [...starterOf(caller), ...starterOf(channel.changedBy)];
  return deps.db.workspace(tenantId, async (tx) => {
    const runIds: string[] = [];
    let sessionId: string | null = null;
    let duplicates = 0;
    for (const message of messages) {
      const text = toStorableText(message.text).slice(0, 50_000);
      // A test call must not count as the duplicate of a live message: its runs send nothing.
      const scope = environment === 'test' ? 'test ' : '';
      const messageId = message.messageId === null ? null : bounded(`${scope}${message.messageId}`, 500);
      if (channel.conversations && (await isOwnReply(tx, tenantId, message.messageId))) {
        duplicates += 1;
        continue;
      }
      const earlier = messageId === null ? null : await claim(tx, channel, messageId);
      if (earlier !== null) {
        duplicates += 1;
        runIds.push(...earlier);
        continue;
      }
      if (channel.conversations && text !== '') {
        // This precedes all run starts, because Live Chat also locks a conversation before it starts runs.
        await deps.conversations.receive(tx, tenantId, {
          channelId: channel.id,
          source: channel.name,
          environment,
          sender: toStorableText(message.from),
          senderName: message.scope === 'dm' ? toStorableText(message.title) : '',
          replyTo: toStorableText(message.replyTo),
          text,
        });
      }
      const key = bounded(`${channel.id}:${message.sessionKey}`, 200);
      const session = await ensureSession(tx, deps.limits, tenantId, {
        scope: message.scope,
        key,
        environment,
        title: toStorableText(message.title).slice(0, 200),
      });
      sessionId = session.id;
      const payload = toStorableJson({
        text,
        from: message.from,
        replyTo: message.replyTo,
        sessionId: session.id,
        sessionKey: message.sessionKey,
        messageId: message.messageId,
        channelId: channel.id,
        provider: channel.provider,
        message: body,
      }) as JsonObject;
      const trigger = {
        type: 'channel',
        channelId: channel.id,
        provider: channel.provider,
        messageId: message.messageId,
        sessionId: session.id,
      };
      const request = { trigger, payload, environment, requestedBy: starters };
      const starts: { of: JsonObject; start: () => Promise<StartedRun> }[] = (
        await deps.workflows.listForChannel(tx, tenantId, channel, environment)
      ).map(({ id }) => ({
        of: { workflowId: id },
        start: () => deps.workflows.startWithin(tx, tenantId, id, request),
      }));
      // Users and the AI agent of Live Chat answer conversations. An agent of Automations would answer a second time.
      if (starts.length === 0 && !channel.conversations) {
        const agent = await routeToAgent(tx, tenantId, {
          channelId: channel.id,
          provider: channel.provider,
          sender: message.from,
          sessionKey: message.sessionKey,
          text,
        });
        if (agent !== null) {
          const origin = { kind: 'agent' as const, id: `${agent.id}:${channel.id}` };
          const derived = {
            origin,
            name: `${agent.name} on ${channel.name}`.slice(0, 200),
            steps: answerSteps(channel, agent.id, canAnswer),
            changedBy: agent.changedBy,
          };
          const requestedBy = [...new Set([...starters, ...starterOf(agent.changedBy)])];
          starts.push({
            of: { agentId: agent.id },
            start: () => deps.workflows.startDerived(tx, tenantId, derived, { ...request, requestedBy }),
          });
        }
      }
      const started: string[] = [];
      for (const { of, start } of starts) {
        try {
          started.push((await start()).runId);
        } catch (error) {
          // A workflow that is full or invalid must not make the provider send the message and all later messages
          // again.
          if (
            !(error instanceof AppError) ||
            // A workflow beyond the limit of the workspace is already inserted, so the transaction must be rolled back.
            error.code === 'workspace_limit_reached' ||
            (errorCodes[error.code].retryable && error.code !== 'workflow_limit_reached')
          )
            throw error;
          deps.logger.warn(
            { err: error, ...of, channelId: channel.id },
            'a message of a channel could not start a workflow',
          );
        }
      }
      await appendMessage(tx, tenantId, session.id, { role: 'user', content: text, runId: started[0] ?? null });
      if (messageId !== null) {
        await tx
          .update(channelReceipts)
          .set({ runIds: started })
          .where(and(eq(channelReceipts.channelId, channel.id), eq(channelReceipts.messageId, messageId)));
      }
      runIds.push(...started);
    }
    return {
      received: true,
      runIds,
      sessionId,
      ...(messages.length > 0 && duplicates === messages.length ? { duplicate: true as const } : {}),
    };
  });
}
