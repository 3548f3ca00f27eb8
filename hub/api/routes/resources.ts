import { agents as agentsResource, toolProfiles } from '../../../shared/contract/agents.ts';
import { channels as channelsResource } from '../../../shared/contract/channels.ts';
import { insight as insightResource } from '../../../shared/contract/insight.ts';
import { logs as logsResource } from '../../../shared/contract/logs.ts';
import { memory as memoryResource } from '../../../shared/contract/memory.ts';
import { modelConfigurations } from '../../../shared/contract/models.ts';
import { packs as packsResource } from '../../../shared/contract/packs.ts';
import { policies as policiesResource } from '../../../shared/contract/policies.ts';
import { sessions as sessionsResource } from '../../../shared/contract/sessions.ts';
import type { Agents } from '../../modules/agents/index.ts';
import type { Ai } from '../../modules/ai/index.ts';
import type { Channels } from '../../modules/channels/index.ts';
import type { Insight } from '../../modules/insight/index.ts';
import type { Logs } from '../../modules/logs/index.ts';
import { presentLog, presentMessage } from '../../modules/logs/index.ts';
import type { Memory } from '../../modules/memory/index.ts';
import type { Packs } from '../../modules/packs/index.ts';
import type { Policies } from '../../modules/policies/index.ts';
import type { Sessions } from '../../modules/sessions/index.ts';
import type { Follower } from '../../platform/events/live-topics.ts';
import { idBefore } from '../../platform/ids.ts';
import { streamEvents } from '../event-stream.ts';
import type { EventStream } from '../event-stream.ts';
import { actorOf, implement, runCallerOf } from '../implement.ts';

export const policyRoutes = (policies: Policies) =>
  implement(policiesResource, {
    getAutomationPolicy: ({ principal }) => policies.get(principal.tenantId),
    putAutomationPolicy: ({ principal, body }) => policies.put(principal.tenantId, body, actorOf(principal)),
  });

export const agentRoutes = (agents: Agents) => [
  ...implement(agentsResource, {
    listAutomationAgents: ({ principal, query }) => agents.list(principal.tenantId, query),
    createAutomationAgent: ({ principal, body }) => agents.create(principal.tenantId, body, actorOf(principal)),
    updateAutomationAgent: ({ principal, params, body }) =>
      agents.update(principal.tenantId, params.id, body, actorOf(principal)),
    deleteAutomationAgent: ({ principal, params }) => agents.delete(principal.tenantId, params.id, actorOf(principal)),
  }),
  ...implement(toolProfiles, {
    listAutomationToolProfiles: ({ principal, query }) => agents.listProfiles(principal.tenantId, query),
    putAutomationToolProfile: ({ principal, body }) => agents.putProfile(principal.tenantId, body, actorOf(principal)),
  }),
];

export const modelRoutes = (ai: Ai) =>
  implement(modelConfigurations, {
    getAutomationModels: ({ principal }) => ai.getModels(principal.tenantId),
    putAutomationModels: ({ principal, body }) => ai.putModels(principal.tenantId, body, actorOf(principal)),
  });

export const sessionRoutes = (sessions: Sessions) =>
  implement(sessionsResource, {
    listAutomationSessions: ({ principal, query }) => sessions.list(principal.tenantId, query),
    createAutomationSession: ({ principal, body }) => sessions.create(principal.tenantId, body),
    getAutomationSession: ({ principal, params, query }) => sessions.get(principal.tenantId, params.id, query),
  });

export const memoryRoutes = (memory: Memory) =>
  implement(memoryResource, {
    listAutomationMemory: ({ principal, query }) => memory.list(principal.tenantId, query),
    putAutomationMemory: ({ principal, body }) => memory.put(principal.tenantId, body),
  });

export const channelRoutes = (channels: Channels) =>
  implement(channelsResource, {
    listAutomationChannels: ({ principal, query }) => channels.list(principal.tenantId, query),
    putAutomationChannel: ({ principal, body }) => channels.put(principal.tenantId, body, actorOf(principal)),
    receiveAutomationChannelMessage: ({ principal, params, body, headers, rawBody }) =>
      channels.receive(
        params.id,
        { headers, rawBody, body },
        principal.kind === 'token' ? { tenantId: principal.tenantId, environment: principal.environment } : null,
      ),
    async verifyAutomationChannel({ params, query, raw: { response } }) {
      response.type('text/plain').send(await channels.verify(params.id, query));
    },
  });

/** A line whose transaction commits later than one that was written after it is still found within this time, in milliseconds. */
const lateCommitMs = 10_000;
const rowsAtOnce = 100;
/** How many rows a reader that comes back may catch up on. */
const maxReplayRows = 10_000;

/**
 * Sends rows as they are written, each once, beginning after the last one that the caller saw. One that missed too many gets the
 * oldest of them, then an event `reset` that names the last one sent, and goes on with what is new.
 */
async function followRows<Row extends { id: string }>(
  stream: EventStream,
  follow: () => Follower,
  lastEventId: string | string[] | undefined,
  event: string,
  read: (after: string, limit: number) => Promise<Row[]>,
  show: (row: Row) => unknown,
): Promise<void> {
  const isId =
    typeof lastEventId === 'string' &&
    /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(lastEventId);
  let from = isId ? lastEventId.toLowerCase() : idBefore(new Date());
  let replayable = isId ? maxReplayRows : Number.POSITIVE_INFINITY;
  let after = from;
  const shown = new Set<string>();
  using follower = follow();
  while (!stream.signal.aborted) {
    // What commits late may have an id that is lower than one that was sent.
    const lateOf = () => idBefore(new Date(Date.now() - lateCommitMs));
    while (!stream.signal.aborted) {
      const rows = await read(after, rowsAtOnce);
      for (const row of rows.filter(({ id }) => !shown.has(id))) {
        if (stream.signal.aborted) return;
        shown.add(row.id);
        await stream.send(event, show(row), row.id);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < rowsAtOnce) break;
      after = last.id;
      const late = lateOf();
      for (const id of shown) if (id < late) shown.delete(id);
      replayable -= rows.length;
      if (replayable > 0) continue;
      if ((await read(after, 1)).length === 0) break;
      from = idBefore(new Date());
      await stream.send(
        'reset',
        {
          after,
          message: `More than ${maxReplayRows} rows were missed; list those after this one, and go on from here.`,
        },
        from,
      );
      break;
    }
    replayable = Number.POSITIVE_INFINITY;
    // Once what there was is sent, only what is written from now on matters, and what commits late.
    const late = lateOf();
    after = from > late ? from : late;
    for (const id of shown) if (id < late) shown.delete(id);
    await follower.next(stream.signal);
  }
}

export const logRoutes = (logs: Logs) =>
  implement(logsResource, {
    listAutomationMessages: ({ principal, query }) => logs.listMessages(principal.tenantId, query),
    listAutomationLogs: ({ principal, query }) => logs.listLogs(principal.tenantId, query),
    streamAutomationMessages: ({ principal: { tenantId }, query, signal, headers, raw: { response } }) =>
      streamEvents(response, signal, { maxSeconds: logsResource.streamAutomationMessages.holdSeconds }, (stream) =>
        followRows(
          stream,
          () => logs.followMessages(tenantId),
          headers['last-event-id'],
          'message',
          (after, limit) => logs.readMessagesAfter(tenantId, query, after, limit),
          presentMessage,
        ),
      ),
    streamAutomationLogs: ({ principal: { tenantId }, query, signal, headers, raw: { response } }) =>
      streamEvents(response, signal, { maxSeconds: logsResource.streamAutomationLogs.holdSeconds }, (stream) =>
        followRows(
          stream,
          () => logs.followLogs(tenantId),
          headers['last-event-id'],
          'log',
          (after, limit) => logs.readLogsAfter(tenantId, query, after, limit),
          presentLog,
        ),
      ),
  });

export const packRoutes = (packs: Packs) =>
  implement(packsResource, {
    listAutomationSkills: ({ principal, query }) => packs.list(principal.tenantId, query),
    installAutomationSkill: ({ principal, body }) => packs.install(principal.tenantId, body, actorOf(principal)),
    createAutomationSkillWorkflow: ({ principal, params, body }) =>
      packs.createWorkflow(principal.tenantId, params.packId, body, runCallerOf(principal)),
    getAutomationSkillSdk: async () => packs.sdk(),
    postAutomationSkillSdk: ({ principal, body }) => packs.check(principal.tenantId, body, actorOf(principal)),
  });

export const insightRoutes = (insight: Insight) =>
  implement(insightResource, {
    getAutomationSlo: ({ principal, query }) => insight.slo(principal.tenantId, query.window),
    getAutomationOnboarding: ({ principal }) => insight.onboarding(principal.tenantId),
  });
