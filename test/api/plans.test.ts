import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { engineRetention } from '../../hub/engine/queue/upkeep.ts';
import { MonthlyPartitions, monthStart } from '../../hub/platform/db/monthly-partitions.ts';
import { monthlyTables } from '../../hub/platform/db/row-retention.ts';
import { automationsRetention } from '../../hub/products/automations/product.ts';
import { operations } from '../../shared/contract/api.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { Operation } from '../../shared/contract/define.ts';
import { kamailioStandIn } from '../fixtures/carriers.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { fillLargeDataset } from '../fixtures/large-dataset.ts';
import type { LargeDataset } from '../fixtures/large-dataset.ts';
import { startMailServer } from '../fixtures/mail-server.ts';
import type { MailServer } from '../fixtures/mail-server.ts';
import { startReceiver } from '../fixtures/receiver.ts';
import { authorization, missingId, pathOf, send } from '../fixtures/requests.ts';
import { openStream } from '../fixtures/server-sent-events.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { addVisitorSession } from '../fixtures/stage/chat.ts';
import { explainAll, planRulesOf, StatementRecorder } from '../fixtures/statement-plans.ts';
import type { PlanRules } from '../fixtures/statement-plans.ts';

/**
 * Rows of each large table, and the most rows that one plan node may read: a page, a batch of a sweep, or the few rows
 * of a workspace.
 */
const rows = 12_000;
const maxRows = 2_000;

let mail: MailServer;
let hub: TestHub;
let workspace: TestWorkspace;
let crowd: LargeDataset;
let judge: PlanRules;
const recorder = new StatementRecorder(16);

beforeAll(async () => {
  mail = await startMailServer();
  hub = await startHub({
    RATE_LIMIT_PER_MINUTE: '1000000',
    SIGN_IN_RATE_LIMIT_PER_MINUTE: '100000',
    EGRESS_ALLOW_HOSTS: '127.0.0.1',
    SMTP_URL: mail.url,
    MAIL_FROM: 'hub@example.org',
    PUBLIC_URL: 'https://hub.example.org',
  });
  workspace = await hub.workspace();
  // As many partitions as after most of a year. Plans estimate rows for each of them.
  const months = new MonthlyPartitions({ url: hub.database.url, logger: pino({ level: 'silent' }) });
  for (const ahead of [3, 6])
    await months.make(
      monthlyTables([engineRetention, automationsRetention({ logs: 0, messages: 0, sessionMessages: 0 })]),
      undefined,
      monthStart(new Date(), ahead),
    );
  crowd = await fillLargeDataset(hub.database, workspace.tenantId, rows);
  workspace.visitorToken = 'cvs_of-the-plans';
  await addVisitorSession(hub.database, {
    tenantId: workspace.tenantId,
    conversationId: crowd.conversation,
    visitorId: crowd.visitor,
    token: workspace.visitorToken,
  });
  judge = await planRulesOf(hub.database, 3_000, maxRows);
});
afterAll(async () => {
  recorder[Symbol.dispose]();
  await hub[Symbol.asyncDispose]();
  await mail[Symbol.asyncDispose]();
});

/** Statements that read more by design, by name. */
const exceptions = new Map([
  [
    'count_ended',
    'all ended runs once a day, 500,000 of them in one statement, in the one process that sweeps, for each workspace that keeps a number of runs; otherwise only those that ended since',
  ],
  [
    'trim_workspace_events',
    'the 10,000 events that are kept of one workspace, by the primary key alone, once a minute',
  ],
  ['count_contact', 'up to the limit of contacts, in an index alone, once for up to a thousand that are added'],
  ['list_admins_for_mail', 'the users of one workspace, once for each mail to its admins'],
  ['find_messages_near', 'the newest 5,000 messages, by the primary key alone, once for a page of a search'],
  ['find_messages_further', 'the newest 50,000, only if the newest 5,000 contain a tenth of the wanted messages'],
  [
    'find_messages_everywhere',
    'from the newest on until a page is full, only for words that more than 5,000 messages have',
  ],
  ['find_inbox_visitors_all', 'at most 20,000 visitors, for one page of a search by name, email, phone number or id'],
  ['find_inbox_visitors_true', 'at most 20,000 visitors, as above'],
  ['find_inbox_visitors_false', 'at most 20,000 visitors, as above'],
  ['count_session', 'up to the limit of sessions, in an index alone, for each one that is new'],
]);

async function expectIndexed(): Promise<void> {
  const found = await explainAll(
    hub.database,
    recorder.statements.filter(({ name }) => !exceptions.has(name ?? '')),
    judge,
  );
  expect(
    found.map(({ statement, problems }) => ({ problems, text: statement.text, values: statement.values })),
  ).toEqual([]);
}

/** Filter values of a list: a frequent, a rare and a missing one. */
function filterValues(name: string, schema: z.ZodType): string[] {
  const known: Record<string, string[]> = {
    workflowId: [crowd.busyWorkflow, crowd.rareWorkflow],
    runId: [crowd.run],
    sessionId: [crowd.session],
    from: [new Date(Date.now() - 4 * 86_400_000).toISOString()],
    to: [new Date(Date.now() - 3 * 86_400_000).toISOString()],
    key: ['nothing'],
    channel: ['webhook', 'email'],
    actor: ['user:0', 'nobody'],
    action: ['run.cancelled', 'nothing'],
    type: ['node.ping', 'system.run'],
    targetType: ['workflow', 'run'],
    targetId: [crowd.run, 'nothing'],
    source: ['api', 'mail', 'nothing'],
    externalId: ['1', 'nothing'],
    userId: [crowd.agent, missingId],
    visitorId: [crowd.visitor, missingId],
    conversationId: [crowd.conversation],
    q: ['message', 'nothing'],
    metadata: ['{"ticket":"nothing"}'],
    statuses: ['failed', 'failed,succeeded'],
    parentRunId: [missingId],
    idPrefix: [crowd.run.slice(0, 13)],
    triggerType: ['manual', 'error'],
    tag: ['office', 'nothing'],
    pack: ['heartbeat', 'nothing'],
    nodeId: [crowd.node],
    errorCode: ['nothing'],
    sort: ['updatedAt', 'name'],
    stepIndex: ['0', '7'],
    around: [crowd.run, missingId],
  };
  const options =
    (schema as { options?: string[] }).options ??
    (schema as { unwrap?: () => { options?: string[] } }).unwrap?.().options;
  const values = known[name] ?? options;
  if (values === undefined) throw new Error(`no values for the filter ${name}; say here what it may ask for`);
  return values;
}

function queriesOf(operation: Operation): Record<string, string>[] {
  const filters = Object.entries((operation.query as z.ZodObject).shape).filter(
    ([name]) => !['limit', 'cursor', 'after', 'before'].includes(name),
  );
  // All combinations of few filters, and pairs of many.
  const most = filters.length > 5 ? 2 : filters.length;
  return filters
    .reduce<Record<string, string>[]>(
      (queries, [name, schema]) =>
        queries.flatMap((query) => [
          query,
          ...(Object.keys(query).length < most ? filterValues(name, schema as z.ZodType) : []).map((value) => ({
            ...query,
            [name]: value,
          })),
        ]),
      [{}],
    )
    .filter((query) => operation.query?.safeParse(query).success !== false);
}

const lists = operations.filter(
  (operation) => operation.method === 'GET' && operation.query !== undefined && 'limit' in operation.query.shape,
);

// Thousands of requests: on a busy machine, they take minutes.
test('every list finds its page by an index, with every filter', { timeout: 900_000 }, async () => {
  const ids: Record<string, string> = {
    getAutomationSession: crowd.session,
    listAutomationWorkflowVersions: crowd.busyWorkflow,
    listContacts: crowd.contactList,
    listAutomationNodeCommands: crowd.node,
    listAutomationNodeFacts: crowd.node,
    listChatMessages: crowd.conversation,
    listInboxMessages: crowd.conversation,
    listWebhookDeliveries: crowd.webhook,
    listAutomationRunArtifacts: crowd.run,
  };
  for (const operation of lists) {
    const params = { tenantId: workspace.tenantId, id: ids[operation.id] ?? missingId, channelId: crowd.conversation };
    const headers = authorization(operation, workspace);
    const pagesBy = 'cursor' in (operation.query as z.ZodObject).shape ? 'cursor' : 'after';
    for (const query of queriesOf(operation)) {
      const path = `${pathOf(operation, params)}?${new URLSearchParams({ limit: '20', ...query }).toString()}`;
      const answer = await send(hub.url, 'GET', path, { headers });
      expect([path, answer.status]).toEqual([path, 200]);
      const cursor = (answer.body as { meta?: { nextCursor: string | null } }).meta?.nextCursor;
      if (typeof cursor === 'string')
        expect((await send(hub.url, 'GET', `${path}&${pagesBy}=${cursor}`, { headers })).status).toBe(200);
    }
  }
  await expectIndexed();
});

test('every operation on all runs that match finds them by an index, with every filter of the list', async () => {
  const ofList = lists.find(({ id }) => id === 'listAutomationRuns') as Operation;
  const filters = queriesOf(ofList).filter((filter) => Object.keys(filter).length < 2 && !('status' in filter));
  expect(filters.length).toBeGreaterThan(10);
  for (const operation of ['cancelAutomationRuns', 'retryAutomationRuns'] as const)
    for (const filter of filters)
      for (const more of [{}, { workflowId: crowd.busyWorkflow }])
        await workspace.api.call(operation, { body: { filter: { ...more, ...filter }, limit: 1 } as never });
  await expectIndexed();
});

test('every statement that starts, moves and ends work uses an index, and so does every periodic task', async () => {
  const { api, session, tenantId } = workspace;
  const step = { type: 'log' as const, message: 'x' };
  const create = (body: object) =>
    api.call('createAutomationWorkflow', { body: { name: 'hot', stepsJson: [step], ...body } as never });
  const limited = await create({ limits: { maxConcurrentRuns: 5, maxRunsPerMinute: 1000, onLimit: 'replace' } });
  await create({ triggerJson: { schemaVersion: 1, type: 'webhook', webhook: { token: 'a-token-of-16-or-more' } } });
  await create({ triggerJson: { schemaVersion: 1, type: 'channel', channel: {} } });
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id: limited.id } }));
  await settledRun(api, runId);
  await api.call('replayAutomationRun', { params: { id: runId }, body: { fromStep: 0 } });
  const hook = { event: 'x', idempotencyKey: 'once', payload: {} };
  for (const token of ['a-token-of-16-or-more', null]) {
    const headers: Record<string, string> =
      token === null ? { 'x-api-key': workspace.key } : { 'x-service-automation-token': token };
    expect((await send(hub.url, 'POST', '/v1/automations/hooks/inbound', { headers, body: hook })).status).toBe(200);
  }
  expect(
    (
      await send(hub.url, 'POST', `/v1/automations/workflows/${limited.id}/run`, {
        headers: { 'x-api-key': workspace.key, 'idempotency-key': 'once' },
        body: {},
      })
    ).status,
  ).toBe(200);

  // The API key of the workspace belongs to its first admin, who therefore counts as a starter of its runs.
  const person = { email: 'second.admin@example.org', password: 'correct horse battery' };
  await session.call('addMember', { params: { tenantId: workspace.tenantId }, body: { ...person, role: 'admin' } });
  const second = hub.client((await hub.client().call('logIn', { body: person })).token);
  const question = { type: 'approval', title: 'ok?', approvers: [person.email, 'other@example.org'] };
  // The second approval step keeps the run open after the first decision.
  const asking = await create({ stepsJson: [question, question] });
  const waiting = startedRun(await api.call('runAutomationWorkflow', { params: { id: asking.id } })).runId;
  await settledRun(api, waiting);
  const [approval] = (await api.call('listAutomationApprovals', { query: { runId: waiting } })).data;
  await second.call('growthCreateApprovalLinks', { params: { id: approval?.id as string } });
  await second.call('growthDecideApproval', {
    params: { id: approval?.id as string },
    body: { decision: 'approved' },
  });
  await api.call('cancelAutomationRun', { params: { id: waiting } });
  const from = new Date(Date.now() - 4 * 86_400_000).toISOString();
  for (const filter of [
    { workflowId: crowd.busyWorkflow, from: new Date().toISOString() },
    { to: from, from },
  ]) {
    await api.call('cancelAutomationRuns', { body: { filter } });
    await api.call('retryAutomationRuns', { body: { filter } });
  }
  await api.call('retryAutomationRuns', { body: { ids: [waiting, runId] } });

  const { nodeId, pairingCode } = await api.call('createAutomationNode', { body: { name: 'd', tags: ['office'] } });
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: {
      pairingCode,
      device: { name: 'd', platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '1.0.0', capabilities: [] },
    },
  });
  const device = hub.client(deviceSecret);
  for (const input of [{ nodeTag: 'office' }, { nodeTag: 'nothing' }, { node: 'nothing' }, { node: 'd' }])
    await create({ stepsJson: [{ type: 'skill', skillId: 'node.ping', input }] }).then(({ id }) =>
      api.call('runAutomationWorkflow', { params: { id } }),
    );
  const { commands } = await device.call('pollAutomationNodeCommands', {
    params: { id: nodeId },
    query: { wait: 20, max: 4 } as never,
  });
  await device.call('heartbeatAutomationNode', {
    params: { id: nodeId },
    body: { paused: false, running: commands.map(({ id }) => id) } as never,
  });
  const headers = { authorization: `Bearer ${deviceSecret}` };
  const facts = { bytes: '1', sha256: 'a'.repeat(64), contentType: 'image/png', offset: '0' };
  expect(
    (
      await send(
        hub.url,
        'PUT',
        `/v1/automations/nodes/${nodeId}/commands/${commands[0]?.id}/artifacts/a.png?${new URLSearchParams(facts).toString()}`,
        { headers, raw: Buffer.alloc(0) },
      )
    ).status,
  ).toBe(200);
  const artifacts = [{ name: 'b.png', contentType: 'image/png', base64: 'AAAA' }];
  await device.call('completeAutomationNodeCommand', {
    params: { id: nodeId, commandId: commands[0]?.id as string },
    body: { status: 'succeeded', output: {}, artifacts } as never,
  });
  await api.call('deleteAutomationNode', { params: { id: nodeId } });

  const channel = await api.call('putAutomationChannel', {
    body: { provider: 'webhook', name: 'c', config: { inboundSecret: 'sixteen-characters' } },
  });
  expect(
    (
      await send(hub.url, 'POST', channel.inboundPath, {
        headers: { 'x-service-automation-token': 'sixteen-characters' },
        body: { text: 'hello', from: 'a', messageId: 'm' },
      })
    ).status,
  ).toBe(200);
  await api.call('putAutomationMemory', { body: { key: 'k', value: 1 } });
  for (const skill of [
    { skillId: 'memory.read', input: { key: 'k' } },
    { skillId: 'runs.summary', input: {} },
  ]) {
    const { id } = await create({ stepsJson: [{ type: 'skill', ...skill }] });
    await settledRun(api, startedRun(await api.call('runAutomationWorkflow', { params: { id } })).runId);
  }
  for (let count = 0; count < 2; count += 1)
    await api.call('runAutomationSkill', { params: { skillId: 'memory.read' }, body: { input: { key: 'k' } } });
  await session.call('addContacts', {
    params: { id: crowd.contactList },
    body: { contacts: [{ email: 'contact3@example.org' }, { email: 'new@example.org' }] },
  });
  const receiver = await startReceiver();
  const chat = hub.client(workspace.keys.chat as string);
  for (const status of [200, 500, 410]) {
    const webhook = await chat.call('createWebhook', {
      params: { tenantId },
      body: { url: `${receiver.url}/${status}`, events: ['message.created'] },
    });
    receiver.answer = (received, response) => void response.writeHead(Number(received.path.slice(1))).end();
    const params = { tenantId, id: webhook.id };
    await chat.call('rotateWebhookSecret', { params });
    const { conversationId } = await chat.call('createChatSession', { body: { externalId: '1' } });
    for (let count = 0; count < 3; count += 1)
      await chat.call('sendChatMessage', {
        params: { id: conversationId },
        body: { content: 'x', clientId: `${status} ${count}` },
      });
    await expect
      .poll(
        async () =>
          (await chat.call('listWebhookDeliveries', { params })).data.filter(({ attempts }) => attempts > 0).length,
      )
      .toBeGreaterThan(0);
    const [delivery] = (await chat.call('listWebhookDeliveries', { params })).data;
    const detail = { ...params, deliveryId: delivery?.id as string };
    await chat.call('getWebhookDelivery', { params: detail });
    if (status !== 410) {
      await chat.call('testWebhook', { params });
      await chat.call('redeliverWebhookDelivery', { params: detail });
      await chat.call('replayWebhook', { params, body: { since: from } });
    }
    await chat.call('updateWebhook', { params, body: { description: 'x' } });
    if (status === 200) await chat.call('deleteWebhook', { params });
  }
  await receiver[Symbol.asyncDispose]();
  const carrier = await session.call('createCallConnection', { body: { provider: 'kamailio', name: 'k' } });
  const ended = { callId: 'x', event: 'ended', at: Date.now() / 1000, direction: 'inbound' };
  for (const event of ['ringing', 'ended', 'ended'])
    await kamailioStandIn(carrier.secret as string).send(hub.url, carrier.url, { ...ended, event });
  for (const operation of ['getCallSummary', 'exportCalls'] as const) await session.call(operation, {});
  for (const query of [{}, { kind: 'chat.session' as const, from: from.slice(0, 10) }])
    await session.call('getUsageTotals', { params: { tenantId }, query });
  await session.call('rotateCallConnection', { params: { id: carrier.id } });
  await session.call('updateCallConnection', { params: { id: carrier.id }, body: { name: 'l' } });
  await session.call('deleteCallConnection', { params: { id: carrier.id } });
  await hub.app.calls.reconcile(tenantId, new Date(), new AbortController().signal);
  await session.call('growthConsole', {});
  await api.call('getAutomationSlo', { query: { window: '24h' } });
  await api.call('getAutomationOnboarding', {});
  await api.call('putAutomationPolicy', {
    body: { retention: { maxRuns: 100_000, maxAgeDays: 3650 }, maxRunsPerHour: 1_000_000 },
  });
  const { id: tokenId } = await workspace.createKey();
  await session.call('deleteApiToken', { params: { tenantId, id: tokenId } });
  await hub.client().call('logIn', { body: { email: workspace.email, password: workspace.password } });
  // Resumes at a transaction of the dataset that is not the last.
  const lastEventId = `${(590).toString(36)}.0`;
  const stream = await openStream(`${hub.url}/tenants/${tenantId}/events`, workspace.jwt, lastEventId);
  await expect.poll(() => stream.received.length).toBeGreaterThan(100);
  stream.end();
  await hub.app.sweep();
  await expectIndexed();
});

test('the check detects a statement that reads all rows, reads too many rows, or skips rows', async () => {
  const problemsOf =
    (role: 'outrigger_app' | 'outrigger_system', tenantId: string | null) =>
    async (text: string, ...values: unknown[]) =>
      (await explainAll(hub.database, [{ name: null, text, values, role, tenantId, settings: '' }], judge))[0]
        ?.problems ?? [];
  const problems = problemsOf('outrigger_app', workspace.tenantId);
  const systemProblems = problemsOf('outrigger_system', null);
  expect(await systemProblems('SELECT id FROM run_logs WHERE message = $1', 'nothing')).toContainEqual(
    'reads run_logs_first from end to end',
  );
  expect(
    await problems(
      'SELECT id FROM runs WHERE tenant_id = $1 AND context = $2 ORDER BY id LIMIT 20',
      workspace.tenantId,
      'nothing',
    ),
  ).toContainEqual(expect.stringMatching(/^(looks at|reads)/));
  const slices = ['SELECT tenant_id FROM run_rollups WHERE slice_at = $1', new Date(0)] as const;
  expect(await systemProblems(...slices)).toEqual([]);
  const target = [
    'SELECT id FROM audit_log WHERE tenant_id = $1 AND target_id = $2 ORDER BY id DESC LIMIT 20',
    workspace.tenantId,
    'nothing',
  ] as const;
  expect(await problems(...target)).toEqual([]);
  await hub.database.query('DROP INDEX audit_log_target, audit_log_actor_target, run_rollups_age');
  expect(await problems(...target)).not.toEqual([]);
  expect(await systemProblems(...slices)).toContainEqual(
    expect.stringMatching(/^(skips through run_rollups_\w+ without tenant_id|reads run_rollups from end to end)$/),
  );
});

test('every column through which a deletion reaches other rows has an index', async () => {
  const unindexed = async () =>
    hub.database.query<{ reference: string }>(
      `SELECT c.conrelid::regclass || '.' || a.attname AS reference FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
       WHERE c.contype = 'f' AND c.connamespace = 'public'::regnamespace AND c.confrelid <> 'tenants'::regclass
         AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indkey[0] = c.conkey[1] AND i.indpred IS NULL) ORDER BY 1`,
    );
  // No statement deletes workspaces, so their references need no index.
  expect(await unindexed()).toEqual([]);
  await hub.database.query('DROP INDEX campaign_mails_contact');
  expect(await unindexed()).toEqual([{ reference: 'campaign_mails.contact_id' }]);
});
