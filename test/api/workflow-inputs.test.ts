import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import type { Answer } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { makeSchedulesDue } from '../fixtures/stage/automations.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const inputs = {
  type: 'object' as const,
  properties: {
    city: { type: 'string' as const, minLength: 1, pattern: '^[A-Z]' },
    copies: { type: 'integer' as const, minimum: 1, maximum: 10, default: 1 },
  },
  required: ['city'],
  additionalProperties: false,
};
const log = { type: 'log' as const, message: '{{payload.copies}} of {{payload.city}}' };
const token = 'a-token-of-sixteen-letters';

const request = (method: string, path: string, body: unknown, headers = { 'x-api-key': workspace.key }) =>
  send(hub.url, method, `/v1/automations${path}`, { headers, body });

const create = async (body: object = {}) =>
  workspace.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson: [log], inputs, ...body } as never });
const read = (id: string) => settledRun(workspace.api, id);

function expectUnfit(answer: Answer, ...details: [path: string, message: string][]): void {
  expect(answer).toMatchObject({
    status: 400,
    body: { code: 'validation_failed', details: details.map(([path, message]) => ({ path, message })) },
  });
  expect(answer.body.message).toContain(`${details[0]?.[0]} ${details[0]?.[1]}`);
}

async function runCount(id: string): Promise<number> {
  return (await workspace.api.call('listAutomationRuns', { query: { workflowId: id } })).data.length;
}

describe('the inputs of a workflow', () => {
  test('belong to the workflow and its versions, and are updated, removed and restored', async () => {
    const { id } = await create();
    expect(await workspace.api.call('getAutomationWorkflow', { params: { id } })).toMatchObject({ version: 1, inputs });
    const changed = { type: 'object' as const, properties: { city: { type: 'string' as const } } };
    const update = (body: object) =>
      workspace.api.call('updateAutomationWorkflow', { params: { id }, body: body as never });
    expect(await update({ inputs: changed })).toMatchObject({ version: 2, inputs: changed });
    expect(await update({ name: 'other' })).toMatchObject({ version: 3, inputs: changed });
    expect(await update({ inputs: null })).toMatchObject({ version: 4, inputs: null });
    const version = (number: string) =>
      workspace.api.call('getAutomationWorkflowVersion', { params: { id, version: number } as never });
    expect(await version('1')).toMatchObject({ inputs });
    expect(await version('3')).toMatchObject({ inputs: changed });
    expect(await version('4')).toMatchObject({ inputs: null });
    expect(
      await workspace.api.call('restoreAutomationWorkflowVersion', { params: { id, version: '1' } as never }),
    ).toMatchObject({ version: 5, inputs });
    expect((await workspace.api.call('listAutomationWorkflows', {})).data[0]).toMatchObject({ id, inputs });
    expect(await create({ inputs: undefined })).toMatchObject({ inputs: null });
  });

  test.each<[string, unknown]>([
    ['body.inputs', 'no schema'],
    ['body.inputs.type', { type: 'string' }],
    ['body.inputs.$ref', { type: 'object', $ref: '#' }],
    ['body.inputs.default', { type: 'object', default: {} }],
    ['body.inputs.properties.a.type', { type: 'object', properties: { a: {} } }],
    ['body.inputs.properties.a.pattern', { type: 'object', properties: { a: { type: 'string', pattern: '(a)\\1' } } }],
    ['body.inputs.properties.a.minLength', { type: 'object', properties: { a: { type: 'string', minLength: -1 } } }],
    [
      'body.inputs.properties.a.minimum',
      { type: 'object', properties: { a: { type: 'number', minimum: 2, maximum: 1 } } },
    ],
    ['body.inputs.properties.a.enum[1]', { type: 'object', properties: { a: { type: 'string', enum: ['x', 1] } } }],
    ['body.inputs.properties.a.default', { type: 'object', properties: { a: { type: 'string', default: 1 } } }],
    [
      'body.inputs.properties.a.items.minimum',
      { type: 'object', properties: { a: { type: 'array', items: { type: 'string', minimum: 1 } } } },
    ],
    ['body.inputs.required[0]', { type: 'object', properties: {}, required: ['a'] }],
    ['body.inputs.additionalProperties', { type: 'object', additionalProperties: { type: 'string' } }],
  ])('are rejected with the path of the problem: %s', async (path, bad) => {
    const { id } = await create();
    const body = { name: 'w', stepsJson: [log], inputs: bad };
    for (const answer of [
      await request('POST', '/workflows', body),
      await request('PATCH', `/workflows/${id}`, { inputs: bad }),
    ])
      expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed', details: [{ path }] } });
  });

  test('are checked when a run is started directly or as a dry run, and their defaults are filled in', async () => {
    const { id } = await create();
    for (const path of [`/workflows/${id}/run`, `/workflows/${id}/run?dryRun=true`]) {
      expectUnfit(await request('POST', path, undefined), ['body.payload.city', 'is required']);
      expectUnfit(
        await request('POST', path, { payload: { city: 'bern', copies: 11, more: 1 } }),
        ['body.payload.city', 'must match ^[A-Z]'],
        ['body.payload.copies', 'must be at most 10'],
        ['body.payload.more', 'is not known here; leave it out'],
      );
    }
    const growth = (body: object) =>
      send(hub.url, 'POST', `/growth/automations/workflows/${id}/run`, {
        headers: { authorization: `Bearer ${workspace.jwt}` },
        body,
      });
    expectUnfit(await growth({ payload: { city: 1 } }), ['body.payload.city', 'must be a string']);
    expect(await runCount(id)).toBe(0);

    const body = { payload: { city: 'Bern' } };
    expect(
      await workspace.api.call('runAutomationWorkflow', { params: { id }, query: { dryRun: 'true' }, body }),
    ).toMatchObject({
      runnable: true,
      steps: [{ input: { message: '1 of Bern' } }],
    });
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id }, body }));
    expect(await read(runId)).toMatchObject({
      status: 'succeeded',
      payload: { city: 'Bern', copies: 1 },
      stepsResultJson: [{ input: { message: '1 of Bern' } }],
    });
  });

  test('are checked by the inbound hook, which starts all of its workflows or none', async () => {
    const triggerJson = { schemaVersion: 1, type: 'webhook', webhook: { token } };
    const [open, checked] = [await create({ triggerJson, inputs: null }), await create({ triggerJson })];
    const hook = (body: object) =>
      request('POST', '/hooks/inbound', body, { 'x-service-automation-token': token } as never);
    expectUnfit(await hook({ event: 'e', payload: { city: '' } }), ['body.payload.city', 'must not be empty']);
    expectUnfit(await hook({ workflowId: checked.id }), ['body.payload.city', 'is required']);
    expectUnfit(await request('POST', '/hooks/inbound', { workflowId: checked.id }), [
      'body.payload.city',
      'is required',
    ]);
    expect([await runCount(open.id), await runCount(checked.id)]).toEqual([0, 0]);
    expect(await hook({ event: 'e', payload: { city: 'Bern' } })).toMatchObject({ status: 200 });
    const [run] = (await workspace.api.call('listAutomationRuns', { query: { workflowId: checked.id } })).data;
    expect((await read(run?.id as string)).payload).toEqual({ city: 'Bern', copies: 1 });
    const [other] = (await workspace.api.call('listAutomationRuns', { query: { workflowId: open.id } })).data;
    expect((await read(other?.id as string)).payload).toEqual({ city: 'Bern' });
  });

  test('are not checked for a repeated delivery that was accepted before they existed', async () => {
    const triggerJson = { schemaVersion: 1, type: 'webhook', webhook: { token: `${token}-repeat` } };
    const { id } = await create({ triggerJson, inputs: null });
    const deliver = () =>
      request('POST', '/hooks/inbound', { event: 'e', idempotencyKey: 'order-7' }, {
        'x-service-automation-token': `${token}-repeat`,
      } as never);
    const first = await deliver();
    await workspace.api.call('updateAutomationWorkflow', { params: { id }, body: { inputs } as never });
    expect(await deliver()).toMatchObject({ status: 200, body: { runId: first.body['runId'], duplicate: true } });
    expect(await runCount(id)).toBe(1);
  });

  test('are checked when a step starts another workflow: the step fails and names the field', async () => {
    const child = await create();
    const spawn = (payload: object) => ({
      type: 'skill',
      skillId: 'subagent.spawn',
      input: { workflowId: child.id, payload },
    });
    const start = async (payload: object) => {
      const { id } = await create({ stepsJson: [spawn(payload)], inputs: null });
      return read(startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } })).runId);
    };
    const failed = await start({ city: 7 });
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'subagent_refused' } });
    expect(failed.error?.message).toContain('input.payload.city must be a string');
    expect(await runCount(child.id)).toBe(0);
    expect(await start({ city: 'Bern', copies: 2 })).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ output: { output: { message: '2 of Bern' } } }],
    });
  });

  test('are checked for the workflow of a sequence, and stay, like its limits, when the sequence changes', async () => {
    const sequence = await workspace.api.call('createAutomationSequence', { body: { name: 's', steps: [log] } });
    const path = `/sequences/${sequence.id}/run`;
    const first = await request('POST', path, { payload: { city: 'Bern', copies: 3 } });
    const id = first.body['workflowId'] as string;
    const limits = { maxConcurrentRuns: 2 };
    await workspace.api.call('updateAutomationWorkflow', { params: { id }, body: { inputs, limits } as never });
    await workspace.api.call('updateAutomationSequence', { params: { id: sequence.id }, body: { name: 'changed' } });
    expectUnfit(await request('POST', path, { payload: { copies: 1 } }), ['body.payload.city', 'is required']);
    const again = await request('POST', path, { payload: { city: 'Bern' } });
    expect((await read(again.body['runId'] as string)).payload).toEqual({ city: 'Bern', copies: 1 });
    expect(await workspace.api.call('getAutomationWorkflow', { params: { id } })).toMatchObject({ inputs, limits });
  });

  test('use their defaults when no caller starts the run, and delay no run', async () => {
    const schedule = { kind: 'interval', everySeconds: 7200 };
    const { id } = await create({ triggerJson: { schemaVersion: 1, type: 'schedule', schedule } });
    await makeSchedulesDue(hub.database, [id]);
    await hub.app.sweep();
    await expect.poll(() => runCount(id)).toBe(1);
    const [fired] = (await workspace.api.call('listAutomationRuns', { query: { workflowId: id } })).data;
    expect((await read(fired?.id as string)).payload).toEqual({ copies: 1 });

    const channel = await workspace.api.call('putAutomationChannel', {
      body: { provider: 'webhook', name: 'c', config: { inboundSecret: 'sixteen-characters' } },
    });
    const follower = await create({ triggerJson: { schemaVersion: 1, type: 'channel', channel: {} } });
    const answer = await send(hub.url, 'POST', channel.inboundPath, {
      headers: { 'x-service-automation-token': 'sixteen-characters' },
      body: { text: 'hello', from: 'a', messageId: 'm' },
    });
    expect(answer.status).toBe(200);
    const [told] = (await workspace.api.call('listAutomationRuns', { query: { workflowId: follower.id } })).data;
    expect((await read(told?.id as string)).payload).toMatchObject({ copies: 1, text: 'hello' });
  });

  test('of another workspace are not found', async () => {
    const { id } = await create();
    const other = await hub.workspace();
    const answer = await request('POST', `/workflows/${id}/run`, { payload: {} }, { 'x-api-key': other.key });
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });
});
