import { createHash } from 'node:crypto';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import { AppError, errorCodes } from '../../../../shared/errors.ts';
import { toStorableJson, toStorableText } from '../../../../shared/json.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { starterOf } from '../../../engine/index.ts';
import type { PromisedJob } from '../../../engine/index.ts';
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

/** How long a provider may send the same message again, in hours. */
const rememberedHours = 72;

/** A key that fits: one that is too long ends in its hash, so that two that begin alike stay two. */
function bounded(key: string, most: number): string {
  if (key.length <= most) return key;
  const hash = createHash('sha256').update(key).digest('hex');
  return `${key.slice(0, most - hash.length - 1)}~${hash}`;
}

/** Enters a message; answers the runs that it started before when it is not new. */
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
      expiresAt: sql`now() + make_interval(hours => ${rememberedHours})`,
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

/** Whether a run of this workspace sent a message: a relay that echoes it must not make it a message of a visitor. */
async function isOwnReply(tx: Transaction, tenantId: string, messageId: string | null): Promise<boolean> {
  const runId = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-[0-9]+-[0-9]+(?:-[0-9]+)?$/.exec(messageId ?? '')?.[1];
  if (runId === undefined) return false;
  const { rowCount } = await tx.query('has_run_of_message', 'SELECT FROM runs WHERE tenant_id = $1 AND id = $2', [
    tenantId,
    runId,
  ]);
  return rowCount !== 0;
}

/** What an agent does with a message: it answers, and the answer goes back where the message came from. */
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
 * Takes messages of one call in: each goes into its session and starts the workflows that its channel starts or, where there are
 * none, the agent that its route chooses. All of it is done in one transaction, so that a call which fails can be sent again.
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
  // Whoever last changed the channel knows its secret, and so can write messages in the name of others.
  const starters = [...starterOf(caller), ...starterOf(channel.changedBy)];
  const done = await deps.db.workspace(tenantId, async (tx) => {
    const jobs: PromisedJob[] = [];
    const after: (() => void)[] = [];
    const runIds: string[] = [];
    let sessionId: string | null = null;
    let duplicates = 0;
    for (const message of messages) {
      const text = toStorableText(message.text).slice(0, 50_000);
      // A test call must not stand for the message of a live one: its runs send nothing.
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
        // Before any run starts: Live Chat locks a conversation before it starts runs, too.
        const told = await deps.conversations.receive(tx, tenantId, {
          channelId: channel.id,
          source: channel.name,
          environment,
          sender: toStorableText(message.from),
          senderName: message.scope === 'dm' ? toStorableText(message.title) : '',
          replyTo: toStorableText(message.replyTo),
          text,
        });
        if (told !== null) after.push(told);
      }
      const key = bounded(`${channel.id}:${message.sessionKey}`, 200);
      const session = await ensureSession(tx, deps.limits, tenantId, {
        scope: message.scope,
        key,
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
        await deps.workflows.listForChannel(tx, tenantId, channel)
      ).map(({ id }) => ({
        of: { workflowId: id },
        start: () => deps.workflows.startWithin(tx, tenantId, id, request),
      }));
      // In a conversation, users and the AI agent of Live Chat answer; an agent of automations would answer a second time.
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
          const run = await start();
          started.push(run.runId);
          jobs.push(run.job);
          after.push(run.committed);
        } catch (error) {
          // A workflow that is full, or can't run as it is, must not make the provider send the message again and again, with whatever comes after it.
          if (
            !(error instanceof AppError) ||
            // A workflow beyond the limit of the workspace was written by then: all of it is undone.
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
    const received: Received = {
      received: true,
      runIds,
      sessionId,
      ...(messages.length > 0 && duplicates === messages.length ? { duplicate: true as const } : {}),
    };
    return { received, jobs, after };
  });
  done.after.forEach((tell) => tell());
  deps.runs.dispatch(done.jobs);
  return done.received;
}
