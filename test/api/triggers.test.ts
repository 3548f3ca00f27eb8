import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Step } from '../../shared/contract/automations/steps.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { ChatEventPayload } from '../../shared/contract/chat/chat-events.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import {
  ageQueuedRun,
  makeSchedulesDue,
  passScheduledTime,
  setNextFire,
  storeCronExpression,
} from '../fixtures/stage/automations.ts';
import type { TimeSpan } from '../fixtures/stage/time-span.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const log = [{ type: 'log' as const, message: 'fired' }];
const waiting = [{ type: 'approval' as const, title: 'wait' }];

async function create(triggerJson: Record<string, unknown>, extra: Record<string, unknown> = {}) {
  return workspace.api.call('createAutomationWorkflow', {
    body: { name: 'trigger', stepsJson: log, triggerJson, ...extra } as never,
  });
}
const runsOf = async (workflowId: string) =>
  (await workspace.api.call('listAutomationRuns', { query: { workflowId, limit: 100 } })).data;
const run = async (id: string) =>
  startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } })).runId;
const statusOf = async (id: string) => (await workspace.api.call('getAutomationRun', { params: { id } })).status;
async function refused(triggerJson: Record<string, unknown>, extra: Record<string, unknown> = {}) {
  const { body } = await send(hub.url, 'POST', '/v1/automations/workflows', {
    headers: { 'x-api-key': workspace.key },
    body: { name: 'x', stepsJson: log, triggerJson, ...extra },
  });
  return body;
}
/** Makes a schedule due now, or long ago. */
const becomeDue = (id: string, ago: TimeSpan) => makeSchedulesDue(hub.database, [id], ago);

describe('schedules', () => {
  test.each(['schedule', 'heartbeat'])(
    'a %s fires at its time, shows its next fire, and stops when it is switched off',
    async (type) => {
      const before = Date.now();
      const workflow = await create({ type, schedule: { kind: 'interval', everySeconds: 3600 } });
      expect(Math.abs(new Date(workflow.nextRunAt as string).getTime() - before - 3_600_000)).toBeLessThan(60_000);
      expect(workflow.triggerJson).toMatchObject({
        schedule: { timezone: 'UTC', onMissed: 'last', overlap: 'allow', jitterSeconds: 0 },
      });
      await becomeDue(workflow.id, { seconds: 1 });
      await expect
        .poll(async () => (await runsOf(workflow.id)).map(({ status, trigger }) => [status, trigger.type]))
        .toEqual([['succeeded', type]]);
      const { data } = await workspace.api.call('listAutomationWorkflows', { query: { limit: 100 } });
      expect(new Date(data.find(({ id }) => id === workflow.id)?.nextRunAt as string).getTime()).toBeGreaterThan(
        Date.now(),
      );
      const off = await workspace.api.call('updateAutomationWorkflow', {
        params: { id: workflow.id },
        body: { active: false },
      });
      expect(off.nextRunAt).toBeNull();
      const on = await workspace.api.call('updateAutomationWorkflow', {
        params: { id: workflow.id },
        body: { active: true },
      });
      expect(new Date(on.nextRunAt as string).getTime()).toBeGreaterThan(Date.now());
    },
  );

  test('a new schedule starts by the clock of the database, if the clock of the process is behind', async () => {
    const now = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: now - 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    const once = await create({ type: 'schedule', schedule: { kind: 'at', at: new Date(now + 60_000).toISOString() } });
    expect(once.nextRunAt).toBe(new Date(now + 60_000).toISOString());
    const past = await refused({
      type: 'schedule',
      schedule: { kind: 'at', at: new Date(now - 60_000).toISOString() },
    });
    expect(past).toMatchObject({ code: 'workflow_invalid' });
    const { nextRunAt } = await create({ type: 'schedule', schedule: { kind: 'interval', everySeconds: 60 } });
    expect(new Date(nextRunAt as string).getTime()).toBeGreaterThan(now);
  });

  test('the jitter of a schedule counts from the clock of the database, if the clock of the process is behind', async () => {
    const { id } = await create({
      type: 'schedule',
      schedule: { kind: 'interval', everySeconds: 7200, jitterSeconds: 3600 },
    });
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const now = Date.now();
    // Not ahead: ids never go back, so later ids of this process would stay ahead.
    vi.useFakeTimers({ toFake: ['Date'], now: now - 7_200_000 });
    onTestFinished(() => {
      vi.useRealTimers();
      random.mockRestore();
    });
    await becomeDue(id, { seconds: 1 });
    await expect.poll(async () => (await runsOf(id)).length).toBe(1);
    const until = expect.stringMatching(/Z$/) as string;
    const [fired] = await runsOf(id);
    expect(fired).toMatchObject({ status: 'queued', waitsFor: { kind: 'jitter', until } });
    const { waitsFor } = fired as unknown as { waitsFor: { until: string } };
    expect(Date.parse(waitsFor.until)).toBeGreaterThan(now);
  });

  test('a limit of runs per minute counts when runs were accepted, by the clock of the database', async () => {
    const limits = { maxRunsPerMinute: 1, onLimit: 'drop' };
    const { id } = await create({ type: 'manual' }, { limits });
    const first = await run(id);
    await expect(run(id)).rejects.toMatchObject({ code: 'workflow_limit_reached' });
    // The id stays new, as that of a process whose clock was ahead.
    await ageQueuedRun(hub.database, first, { minutes: 2 });
    await run(id);
  });

  test('a limit of runs per minute counts the last minute of the database, if the clock of the process is behind', async () => {
    const limits = { maxRunsPerMinute: 1, onLimit: 'drop' };
    const { id } = await create({ type: 'manual' }, { limits });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 7_200_000 });
    onTestFinished(() => void vi.useRealTimers());
    const first = await run(id);
    await expect(run(id)).rejects.toMatchObject({ code: 'workflow_limit_reached' });
    await ageQueuedRun(hub.database, first, { minutes: 2 });
    await run(id);
  });

  test('a new name keeps the next fire, a new schedule replaces it', async () => {
    const workflow = await create({
      type: 'schedule',
      schedule: { kind: 'cron', cron: '0 9 * * MON', timezone: 'Europe/Berlin' },
    });
    const renamed = await workspace.api.call('updateAutomationWorkflow', {
      params: { id: workflow.id },
      body: { name: 'renamed' },
    });
    expect(renamed.nextRunAt).toBe(workflow.nextRunAt);
    const moved = await workspace.api.call('updateAutomationWorkflow', {
      params: { id: workflow.id },
      body: { triggerJson: { type: 'schedule', schedule: { kind: 'interval', everySeconds: 60 } } },
    });
    expect(moved.nextRunAt).not.toBe(workflow.nextRunAt);
  });

  test('a time fires exactly once', async () => {
    const workflow = await create({
      type: 'schedule',
      schedule: { kind: 'at', at: new Date(Date.now() + 3_600_000).toISOString() },
    });
    await passScheduledTime(hub.database, workflow.id);
    await expect.poll(async () => (await runsOf(workflow.id)).length).toBe(1);
    const { data } = await workspace.api.call('listAutomationWorkflows', { query: { limit: 100 } });
    expect(data.find(({ id }) => id === workflow.id)?.nextRunAt).toBeNull();
  });

  test('a workflow with a past time can be changed and run, and needs a new time to be switched on', async () => {
    const workflow = await create({
      type: 'schedule',
      schedule: { kind: 'at', at: new Date(Date.now() + 3_600_000).toISOString() },
    });
    await passScheduledTime(hub.database, workflow.id);
    const params = { id: workflow.id };
    await expect.poll(async () => (await runsOf(workflow.id)).length).toBe(1);
    const change = (body: object) => workspace.api.call('updateAutomationWorkflow', { params, body });
    expect(await change({ name: 'renamed', active: true })).toMatchObject({ active: true, nextRunAt: null });
    expect(await change({ stepsJson: [{ type: 'log', message: 'by hand' }] })).toMatchObject({ name: 'renamed' });
    await workspace.api.call('runAutomationWorkflow', { params });
    await expect.poll(async () => (await runsOf(workflow.id)).length).toBe(2);
    const isRefused = { status: 400, details: [{ path: 'body.triggerJson.schedule.at' }] };
    const passed = { kind: 'at' as const, at: new Date(Date.now() - 1_000).toISOString() };
    await expect(change({ triggerJson: { type: 'schedule', schedule: passed } })).rejects.toMatchObject(isRefused);
    await change({ active: false });
    await expect(change({ active: true })).rejects.toMatchObject(isRefused);
    const at = new Date(Date.now() + 60_000).toISOString();
    expect(
      await change({ active: true, triggerJson: { type: 'schedule', schedule: { kind: 'at', at } } }),
    ).toMatchObject({ active: true, nextRunAt: at });
  });

  test.each([
    ['skip', 0],
    ['last', 1],
    ['all', 5],
  ])('fires that were missed while the hub was stopped follow onMissed %s: %i runs', async (onMissed, count) => {
    const workflow = await create({
      type: 'schedule',
      schedule: { kind: 'interval', everySeconds: 60, onMissed, maxCatchUp: 5 },
    });
    await becomeDue(workflow.id, { minutes: 90, seconds: 30 });
    const isPlanned = async () =>
      (
        await hub.database.query<{ planned: boolean }>(
          'select next_run_at > now() as planned from workflows where id = $1',
          [workflow.id],
        )
      )[0]?.planned;
    await expect.poll(isPlanned).toBe(true);
    expect((await runsOf(workflow.id)).length).toBe(count);
  });

  test('a fire that was already recorded starts nothing again', async () => {
    const workflow = await create({ type: 'schedule', schedule: { kind: 'interval', everySeconds: 3600 } });
    await becomeDue(workflow.id, { seconds: 1 });
    await expect.poll(async () => (await runsOf(workflow.id)).length).toBe(1);
    const [fire] = await hub.database.query<{ fire_at: Date; run_id: string }>(
      'select fire_at, run_id from schedule_fires where workflow_id = $1',
      [workflow.id],
    );
    expect(fire?.run_id).toBe((await runsOf(workflow.id))[0]?.id);
    // Simulates another process that fired the same schedule at the same time and is late.
    await setNextFire(hub.database, workflow.id, fire?.fire_at as Date);
    await expect
      .poll(
        async () =>
          (
            await hub.database.query<{ planned: boolean }>(
              'select next_run_at > now() as planned from workflows where id = $1',
              [workflow.id],
            )
          )[0]?.planned,
      )
      .toBe(true);
    expect((await runsOf(workflow.id)).length).toBe(1);
  });

  test('during a run, overlap skip omits a fire, queue delays it, allow starts it', async () => {
    for (const [overlap, statuses] of [
      ['skip', ['waiting_approval']],
      ['queue', ['queued', 'waiting_approval']],
      ['allow', ['waiting_approval', 'waiting_approval']],
    ] as const) {
      const workflow = await create(
        { type: 'schedule', schedule: { kind: 'interval', everySeconds: 3600, overlap } },
        { stepsJson: waiting },
      );
      await becomeDue(workflow.id, { seconds: 1 });
      await expect
        .poll(async () => (await runsOf(workflow.id)).map(({ status }) => status))
        .toEqual(['waiting_approval']);
      await becomeDue(workflow.id, { seconds: 0 });
      await expect
        .poll(
          async () =>
            (
              await hub.database.query<{ n: number }>(
                'select count(*)::int as n from schedule_fires where workflow_id = $1',
                [workflow.id],
              )
            )[0]?.n,
        )
        .toBe(2);
      await expect.poll(async () => (await runsOf(workflow.id)).map(({ status }) => status)).toEqual(statuses);
      if (overlap !== 'queue') continue;
      const [first] = (
        await workspace.api.call('listAutomationApprovals', {
          query: { runId: (await runsOf(workflow.id))[1]?.id as string },
        })
      ).data;
      await workspace.api.call('decideAutomationApproval', {
        params: { id: first?.id as string },
        body: { decision: 'approved' },
      });
      await expect
        .poll(async () => (await runsOf(workflow.id)).map(({ status }) => status))
        .toEqual(['waiting_approval', 'succeeded']);
    }
  });

  test('with jitter, a run starts a short time after its fire', async () => {
    const workflow = await create({
      type: 'schedule',
      schedule: { kind: 'interval', everySeconds: 7200, jitterSeconds: 3600 },
    });
    await becomeDue(workflow.id, { seconds: 1 });
    await expect.poll(async () => (await runsOf(workflow.id)).length).toBe(1);
    const [row] = await hub.database.query<{ later: boolean }>(
      `select wake_at > queued_at and wake_at < queued_at + interval '1 hour' as later from runs where workflow_id = $1`,
      [workflow.id],
    );
    expect(row?.later).toBe(true);
  });

  test('the next fires can be previewed before the schedule is saved, over a change of the clocks', async () => {
    const { fires } = await workspace.api.call('previewAutomationSchedule', {
      body: {
        schedule: { kind: 'cron', cron: '30 2 * * *', timezone: 'Europe/Berlin' },
        after: '2026-03-28T00:00:00Z',
        count: 3,
      },
    });
    expect(fires).toEqual(['2026-03-28T01:30:00.000Z', '2026-03-29T01:30:00.000Z', '2026-03-30T00:30:00.000Z']);
    expect(
      (
        await workspace.api.call('previewAutomationSchedule', {
          body: { schedule: { kind: 'interval', everySeconds: 5 } },
        })
      ).fires.length,
    ).toBe(10);
  });

  test.each([
    [{ kind: 'cron', cron: '61 * * * *' }, 'body.triggerJson.schedule.cron'],
    [{ kind: 'cron', cron: '* * * *' }, 'body.triggerJson.schedule.cron'],
    [{ kind: 'cron', cron: '0 0 31 2 *' }, 'body.triggerJson.schedule.cron'],
    [{ kind: 'interval', everySeconds: 0 }, 'body.triggerJson.schedule.everySeconds'],
    [{ kind: 'at', at: '2020-01-01T00:00:00Z' }, 'body.triggerJson.schedule.at'],
    [{ kind: 'interval', everySeconds: 5, timezone: 'Mars/Olympus' }, 'body.triggerJson.schedule.timezone'],
    [{ kind: 'interval', everySeconds: 5, onMissed: 'maybe' }, 'body.triggerJson.schedule.onMissed'],
    [{ kind: 'weekly' }, 'body.triggerJson.schedule.kind'],
  ])('%j is rejected with its field', async (schedule, path) => {
    expect(await refused({ type: 'schedule', schedule })).toMatchObject({ statusCode: 400, details: [{ path }] });
  });
});

test('fields in the wrong place are rejected with the name of the right one', async () => {
  const refuse = async (body: object) => {
    const headers = { authorization: `Bearer ${workspace.key}` };
    const { status, body: answer } = await send(hub.url, 'POST', '/v1/automations/workflows', { headers, body });
    return [status, answer['details']];
  };
  const stepsJson = [{ type: 'log', message: 'x' }];
  const webhook = { token: 'a-long-random-secret' };
  expect(await refuse({ name: 'w', stepsJson, trigger: { type: 'webhook', webhook } })).toEqual([
    400,
    [{ path: 'body.trigger', message: 'is not known here; use triggerJson for trigger' }],
  ]);
  const triggerJson = { type: 'webhook', webhook, events: ['order.paid'] };
  expect(await refuse({ name: 'w', stepsJson, triggerJson })).toEqual([
    400,
    [{ path: 'body.triggerJson.events', message: 'is not known here; use webhook.events for events' }],
  ]);
  expect(await refuse({ name: 'w', stepsJson, colour: 'red' })).toEqual([
    400,
    [{ path: 'body.colour', message: 'is not known here; leave it out' }],
  ]);
});

describe('events of Live Chat', () => {
  const payload = (tenantId: string, source: string): ChatEventPayload => ({
    tenantId,
    sequence: 1,
    environment: 'live',
    actor: 'system',
    conversation: { id: '01980000-0000-7000-8000-0000000000c1', source, tags: ['a'] },
    message: { id: 'm1', content: 'help' },
  });
  const emit = async (tenantId: string, source: string, depth = 0) => {
    await hub.app.db.workspace(tenantId, (tx) =>
      hub.app.chatEvents.emit(tx, 'message.created', payload(tenantId, source), depth),
    );
  };

  test('start the subscribed workflows whose filter matches, in the transaction that caused them', async () => {
    const all = await create(
      { type: 'event', event: { type: 'message.created' } },
      { stepsJson: [{ type: 'log', message: '{{payload.message.content}} by {{trigger.event}}' }] },
    );
    const widget = await create({
      type: 'event',
      event: { type: 'message.created', filter: { 'conversation.source': ['widget', 'api'], 'message.id': 'm1' } },
    });
    const closed = await create({ type: 'event', event: { type: 'conversation.closed' } });
    const inactive = await create({ type: 'event', event: { type: 'message.created' } }, { active: false });
    await emit(workspace.tenantId, 'mail');
    await emit(workspace.tenantId, 'widget');
    await expect
      .poll(async () => (await runsOf(all.id)).map(({ status }) => status))
      .toEqual(['succeeded', 'succeeded']);
    expect((await runsOf(widget.id)).length).toBe(1);
    expect([(await runsOf(closed.id)).length, (await runsOf(inactive.id)).length]).toEqual([0, 0]);
    const first = await workspace.api.call('getAutomationRun', {
      params: { id: (await runsOf(all.id))[1]?.id as string },
    });
    expect(first).toMatchObject({
      trigger: { type: 'event', event: 'message.created' },
      payload: { conversation: { source: 'mail' } },
      stepsResultJson: [{ outputText: 'help by message.created' }],
    });
    // A rolled-back change starts no run.
    await expect(
      hub.app.db.workspace(workspace.tenantId, async (tx) => {
        await hub.app.chatEvents.emit(tx, 'message.created', payload(workspace.tenantId, 'widget'));
        throw new Error('the message was not saved after all');
      }),
    ).rejects.toThrow('not saved');
    expect((await runsOf(all.id)).length).toBe(2);
    for (const id of [all.id, widget.id]) await workspace.api.call('deleteAutomationWorkflow', { params: { id } });
  });

  test.each([
    ['visitor', ['list_event_workflows', 'list_following_webhooks', 'schedule_ai_turn']],
    ['agent', ['list_event_workflows', 'find_channel_reply_address', 'list_following_webhooks']],
  ])(
    'run their subscribers in the order of the locks: workflows, channels, webhooks, AI replies (%s)',
    async (senderType, expected) => {
      const { tenantId } = await hub.workspace();
      await hub.app.db.workspace(tenantId, async (tx) => {
        const query = vi.spyOn(tx, 'query');
        await hub.app.chatEvents.emit(tx, 'message.created', {
          ...payload(tenantId, 'widget'),
          message: { id: 'm1', content: 'help', senderType, seq: 1, attachments: [] },
          visitor: { id: '01980000-0000-7000-8000-0000000000a1' },
        });
        expect(query.mock.calls.map(([name]) => name)).toEqual(expected);
      });
    },
  );

  test('cannot be filtered by a field that they never have: the error lists the existing fields', async () => {
    const { api } = await hub.workspace();
    const follow = (type: 'message.created' | 'conversation.assigned', path: string) =>
      api
        .call('createAutomationWorkflow', {
          body: {
            name: path,
            stepsJson: log,
            triggerJson: { type: 'event', event: { type, filter: { [path]: 'x' } } },
          },
        })
        .then(
          () => 'taken',
          (error: unknown) => error as { code: string; message: string },
        );
    for (const path of ['message.senderType', 'visitor.attributes.plan.name', 'actor', 'conversation.source'])
      expect(await follow('message.created', path)).toBe('taken');
    for (const path of ['assignee', 'assignee.email'])
      expect(await follow('conversation.assigned', path)).toBe('taken');
    expect(await follow('message.created', 'message.senderTyp')).toMatchObject({
      code: 'workflow_invalid',
      message: expect.stringMatching(
        /^triggerJson\.event\.filter\.message\.senderTyp is not a field of message\.created; the fields are .*message\.senderType/,
      ) as string,
    });
    for (const path of ['assignee.id', 'messages', 'tenantId.x', 'message.content.text'])
      expect(await follow('message.created', path), path).toMatchObject({ code: 'workflow_invalid' });
    const taken = await api.call('createAutomationWorkflow', { body: { name: 'taken', stepsJson: log } });
    await expect(
      api.call('updateAutomationWorkflow', {
        params: { id: taken.id },
        body: { triggerJson: { type: 'event', event: { type: 'message.created', filter: { mesage: 1 } } } },
      }),
    ).rejects.toMatchObject({ code: 'workflow_invalid' });
  });

  test('have the depth of their cause, and end a loop at 8', async () => {
    const own = await hub.workspace();
    const { id } = await own.api.call('createAutomationWorkflow', {
      body: { name: 'loop', stepsJson: log, triggerJson: { type: 'event', event: { type: 'message.created' } } },
    });
    for (const depth of [1, 7, 8, 9]) await emit(own.tenantId, 'x', depth);
    expect(
      (await own.api.call('listAutomationRuns', { query: { workflowId: id } })).data.map(({ depth }) => depth),
    ).toEqual([7, 1]);
    const hook = await own.api.call('createAutomationWorkflow', {
      body: {
        name: 'hook',
        stepsJson: log,
        triggerJson: { type: 'webhook', webhook: { token: 'a-token-of-sixteen' } },
      },
    });
    const call = (depth: string) =>
      send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
        headers: { 'x-service-automation-token': 'a-token-of-sixteen', 'x-outrigger-depth': depth },
        body: { workflowId: hook.id },
      });
    expect((await call('7')).status).toBe(200);
    expect((await call('8')).body).toMatchObject({ statusCode: 409 });
    expect((await call('nonsense')).status).toBe(200);
  });

  test('with a payload that violates their schema are rejected where they are published', async () => {
    await expect(
      hub.app.db.workspace(workspace.tenantId, (tx) =>
        hub.app.chatEvents.emit(tx, 'csat.submitted', payload(workspace.tenantId, 'x')),
      ),
    ).rejects.toThrow('csat');
    expect(await refused({ type: 'event', event: { type: 'call.ended' } })).toMatchObject({
      statusCode: 400,
      details: [{ path: 'body.triggerJson.event.type' }],
    });
  });
});

describe('limits of a workflow', () => {
  const approveFirst = async (id: string) => {
    const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId: id, status: 'pending' } });
    await workspace.api.call('decideAutomationApproval', {
      params: { id: data[0]?.id as string },
      body: { decision: 'approved' },
    });
  };

  test('queue lets runs wait in order, with any number of workers', async () => {
    const { id } = await create({ type: 'manual' }, { limits: { maxConcurrentRuns: 2 }, stepsJson: waiting });
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.push(await run(id));
    const states = async () => (await Promise.all(ids.map(statusOf))).toSorted();
    await expect.poll(states).toEqual(['queued', 'queued', 'queued', 'waiting_approval', 'waiting_approval']);
    for (let done = 1; done <= 5; done += 1) {
      const open = (
        await Promise.all(ids.map(async (runId) => ((await statusOf(runId)) === 'waiting_approval' ? runId : null)))
      ).find((runId) => runId !== null);
      await approveFirst(open as string);
      await expect
        .poll(async () => (await states()).filter((status) => status === 'waiting_approval').length)
        .toBe(Math.min(2, 5 - done));
    }
    await expect.poll(states).toEqual(Array.from({ length: 5 }, () => 'succeeded'));
  });

  test('drop rejects excess runs, and replace cancels the oldest run', async () => {
    const dropping = await create(
      { type: 'manual' },
      { limits: { maxConcurrentRuns: 1, onLimit: 'drop' }, stepsJson: waiting },
    );
    await run(dropping.id);
    const refusal = await send(hub.url, 'POST', `/v1/automations/workflows/${dropping.id}/run`, {
      headers: { 'x-api-key': workspace.key },
      body: {},
    });
    expect(refusal.body).toMatchObject({ statusCode: 409, code: 'workflow_limit_reached' });
    const replacing = await create(
      { type: 'manual' },
      { limits: { maxConcurrentRuns: 1, onLimit: 'replace' }, stepsJson: waiting },
    );
    const first = await run(replacing.id);
    await expect.poll(() => statusOf(first)).toBe('waiting_approval');
    const second = await run(replacing.id);
    await expect.poll(() => statusOf(first)).toBe('cancelled');
    await expect.poll(() => statusOf(second)).toBe('waiting_approval');
  });

  test('apply to schedules as well: drop omits a fire, replace cancels the previous run', async () => {
    const trigger = { type: 'schedule', schedule: { kind: 'interval', everySeconds: 3600 } };
    for (const [onLimit, statuses] of [
      ['drop', ['waiting_approval']],
      ['replace', ['waiting_approval', 'cancelled']],
    ] as const) {
      const { id } = await create(trigger, { limits: { maxConcurrentRuns: 1, onLimit }, stepsJson: waiting });
      for (let fire = 1; fire <= 2; fire += 1) {
        await becomeDue(id, { seconds: 0 });
        await expect
          .poll(
            async () =>
              (
                await hub.database.query<{ n: number }>(
                  'select count(*)::int as n from schedule_fires where workflow_id = $1',
                  [id],
                )
              )[0]?.n,
          )
          .toBe(fire);
        await expect.poll(async () => (await runsOf(id))[0]?.status).toBe('waiting_approval');
      }
      await expect.poll(async () => (await runsOf(id)).map(({ status }) => status)).toEqual(statuses);
    }
  });

  test('a schedule whose next fire cannot be calculated does not delay other schedules', async () => {
    const broken = await create({ type: 'schedule', schedule: { kind: 'cron', cron: '0 9 * * *' } });
    await storeCronExpression(hub.database, broken.id, 'nonsense');
    const sound = await create({ type: 'schedule', schedule: { kind: 'interval', everySeconds: 3600 } });
    // A pass that starts the second one also reads the first one.
    await becomeDue(broken.id, { seconds: 2 });
    await becomeDue(sound.id, { seconds: 1 });
    await expect.poll(async () => (await runsOf(sound.id)).length).toBe(1);
    expect(await hub.database.query('select next_run_at from workflows where id = $1', [broken.id])).toEqual([
      { next_run_at: null },
    ]);
  });

  test('a rate limits the number of runs that start within a minute', async () => {
    const { id } = await create({ type: 'manual' }, { limits: { maxRunsPerMinute: 3 } });
    const ids = await Promise.all(Array.from({ length: 6 }, () => run(id)));
    await expect
      .poll(async () => (await Promise.all(ids.map(statusOf))).filter((status) => status === 'succeeded').length)
      .toBe(3);
    // The first waiting run is woken when the limit allows it.
    await expect
      .poll(() =>
        hub.database.query(
          `select count(*)::int as held, count(*) filter (where wake_at > now() + interval '20 seconds')::int as timers from runs where workflow_id = $1 and waits_for is not null`,
          [id],
        ),
      )
      .toEqual([{ held: 3, timers: 1 }]);
  });

  test.each([
    [{}],
    [{ maxConcurrentRuns: 0 }],
    [{ maxRunsPerMinute: 5, onLimit: 'replace' }],
    [{ maxConcurrentRuns: 5, onLimit: 'explode' }],
  ])('%j is rejected', async (limits) => {
    expect(await refused({ type: 'manual' }, { limits })).toMatchObject({ statusCode: 400 });
  });
});

describe('the policy of a workspace', () => {
  const stepsOf = (steps: (Record<string, unknown> & { type: Step['type'] })[]) => ({
    body: { name: 'policy', stepsJson: steps as never },
  });

  test('quiet hours delay runs until their end', async () => {
    const own = await hub.workspace();
    const clock = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString().slice(11, 16);
    await own.api.call('putAutomationPolicy', { body: { quietHours: { from: clock(-5), to: clock(30) } } });
    const { id } = await own.api.call('createAutomationWorkflow', stepsOf(log));
    const { runId } = startedRun(await own.api.call('runAutomationWorkflow', { params: { id } }));
    const delayedRuns = async () =>
      (
        await hub.database.query<{ minutes: number }>(
          'select extract(epoch from wake_at - now())::int / 60 as minutes from runs where id = $1',
          [runId],
        )
      )[0]?.minutes ?? 0;
    await expect.poll(delayedRuns).toBeGreaterThan(20);
    expect(await own.api.call('getAutomationRun', { params: { id: runId } })).toMatchObject({
      status: 'queued',
      startedAt: null,
    });
  });

  test('limits the runs that start within an hour, and the others wait', async () => {
    const own = await hub.workspace();
    await own.api.call('putAutomationPolicy', { body: { maxRunsPerHour: 2 } });
    const { id } = await own.api.call('createAutomationWorkflow', stepsOf(log));
    for (let index = 0; index < 4; index += 1) await own.api.call('runAutomationWorkflow', { params: { id } });
    await expect
      .poll(async () => (await own.api.call('listAutomationRuns', {})).data.map(({ status }) => status).toSorted())
      .toEqual(['queued', 'queued', 'succeeded', 'succeeded']);
  });

  test('the error workflow runs with the data of the failure, and not for its own failures', async () => {
    const own = await hub.workspace();
    const handler = await own.api.call(
      'createAutomationWorkflow',
      stepsOf([
        // The example of docs/reference/workflow-format.md.
        { type: 'log', message: 'Run {{payload.run.id}} failed: {{payload.run.error.message}}' },
        { type: 'log', message: '{{payload.nothing}}' },
      ]),
    );
    await own.api.call('putAutomationPolicy', { body: { errorWorkflowId: handler.id } });
    const failing = await own.api.call(
      'createAutomationWorkflow',
      stepsOf([{ type: 'log', message: '{{payload.missing}}' }]),
    );
    const { runId } = startedRun(await own.api.call('runAutomationWorkflow', { params: { id: failing.id } }));
    const handled = async () => (await own.api.call('listAutomationRuns', { query: { workflowId: handler.id } })).data;
    await expect.poll(async () => (await handled()).map(({ status }) => status)).toEqual(['failed']);
    const run_ = await own.api.call('getAutomationRun', { params: { id: (await handled())[0]?.id as string } });
    expect(run_).toMatchObject({
      trigger: { type: 'error', runId },
      depth: 1,
      payload: {
        run: {
          id: runId,
          workflowId: failing.id,
          attempt: 1,
          trigger: { type: 'manual' },
          error: { code: 'template_error' },
        },
      },
      stepsResultJson: [{ output: { message: expect.stringContaining(`Run ${runId} failed: `) as string } }, {}],
    });
    expect((await handled()).length).toBe(1);
  });

  test('an error workflow respects its own limits', async () => {
    const own = await hub.workspace();
    const handler = await own.api.call('createAutomationWorkflow', {
      body: { name: 'handler', stepsJson: waiting, limits: { maxConcurrentRuns: 1, onLimit: 'drop' } },
    });
    await own.api.call('putAutomationPolicy', { body: { errorWorkflowId: handler.id } });
    const failing = await own.api.call(
      'createAutomationWorkflow',
      stepsOf([{ type: 'log', message: '{{payload.missing}}' }]),
    );
    for (let index = 0; index < 3; index += 1) {
      const { runId } = startedRun(await own.api.call('runAutomationWorkflow', { params: { id: failing.id } }));
      await expect
        .poll(async () => (await own.api.call('getAutomationRun', { params: { id: runId } })).status)
        .toBe('failed');
    }
    expect((await own.api.call('listAutomationRuns', { query: { workflowId: handler.id } })).data.length).toBe(1);
  });

  test('runs that a policy or a limit delays start after it is changed', async () => {
    const own = await hub.workspace();
    await own.api.call('putAutomationPolicy', { body: { maxRunsPerHour: 1 } });
    const limits = { maxRunsPerMinute: 1, onLimit: 'queue' as const };
    const { id } = await own.api.call('createAutomationWorkflow', { body: { name: 'held', stepsJson: log, limits } });
    for (let index = 0; index < 4; index += 1) await own.api.call('runAutomationWorkflow', { params: { id } });
    const count = async () =>
      (await own.api.call('listAutomationRuns', { query: { workflowId: id } })).data.filter(
        ({ status }) => status === 'succeeded',
      ).length;
    const isHeld = async () =>
      (
        await hub.database.query<{ n: number }>(
          'select count(*)::int as n from runs where workflow_id = $1 and waits_for is not null',
          [id],
        )
      )[0]?.n;
    await expect.poll(isHeld).toBe(3);
    await own.api.call('putAutomationPolicy', { body: {} });
    await expect
      .poll(
        async () =>
          (
            await hub.database.query<{ waits_for: string }>(
              'select waits_for from runs where workflow_id = $1 and waits_for is not null order by id limit 1',
              [id],
            )
          )[0]?.waits_for,
      )
      .toBe('max_runs_per_minute');
    await own.api.call('updateAutomationWorkflow', { params: { id }, body: { limits: null } });
    await expect.poll(count).toBe(4);
  });

  test('is rejected with unknown skills and workflows', async () => {
    const headers = { 'x-api-key': workspace.key };
    const put = async (body: unknown) =>
      (await send(hub.url, 'PUT', '/v1/automations/policies', { headers, body })).body;
    expect(await put({ approvalsRequiredFor: ['no.such'] })).toMatchObject({
      statusCode: 400,
      details: [{ path: 'body.approvalsRequiredFor[0]' }],
    });
    expect(await put({ errorWorkflowId: '01890000-0000-7000-8000-000000000000' })).toMatchObject({
      statusCode: 400,
      details: [{ path: 'body.errorWorkflowId' }],
    });
    expect(await put({ quietHours: { from: '25:00', to: '06:00' } })).toMatchObject({
      statusCode: 400,
      details: [{ path: 'body.quietHours.from' }],
    });
    expect(await workspace.api.call('getAutomationPolicy', {})).toMatchObject({
      standingOrders: '',
      approvalsRequiredFor: [],
      updatedAt: null,
    });
  });
});
