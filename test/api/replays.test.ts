import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000' });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
});

const log = (message: string) => ({ type: 'log' as const, message });
const cityInput = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

async function create(stepsJson: object[], more: object = {}): Promise<string> {
  const body = { name: 'w', stepsJson, ...more };
  return (await workspace.api.call('createAutomationWorkflow', { body: body as never })).id;
}
const update = (id: string, body: object) =>
  workspace.api.call('updateAutomationWorkflow', { params: { id }, body: body as never });
async function run(id: string, payload: object = {}): Promise<string> {
  const { runId } = startedRun(
    await workspace.api.call('runAutomationWorkflow', { params: { id }, body: { payload: payload as never } }),
  );
  await settledRun(workspace.api, runId);
  return runId;
}
const replay = (id: string, body: object) =>
  send(hub.url, 'POST', `/v1/automations/runs/${id}/replay`, { headers: { 'x-api-key': workspace.key }, body });
async function replayed(id: string, body: object) {
  const { status, body: answer } = await replay(id, body);
  expect([status, answer]).toEqual([200, expect.anything()]);
  await settledRun(workspace.api, answer['id'] as string);
  return workspace.api.call('getAutomationRun', {
    params: { id: answer['id'] as string },
    query: { include: 'inputs' },
  });
}
const messagesOf = async (runId: string) =>
  (await workspace.api.call('listAutomationLogs', { query: { runId, order: 'asc' } as never })).data.map(
    ({ message }) => message,
  );
const refusal = (path: string, message: string) => ({
  status: 400,
  body: { code: 'validation_failed', details: [{ path, message: expect.stringContaining(message) as string }] },
});

describe('a replay', () => {
  test('with another input runs the steps with it, and earlier steps keep what came from the old one', async () => {
    const id = await create([log('first {{payload.city}}'), log('second {{payload.city}}')]);
    const first = await run(id, { city: 'Oslo' });
    const second = await replayed(first, { fromStep: 1, payload: { city: 'Rome' } });
    expect(second).toMatchObject({ status: 'succeeded', payload: { city: 'Rome' }, workflowVersion: 1 });
    expect(await messagesOf(second.id)).toEqual(['second Rome']);
    const third = await replayed(second.id, {});
    expect(third.payload).toEqual({ city: 'Rome' });
    expect(await messagesOf(third.id)).toEqual(['first Rome', 'second Rome']);
    expect(
      (await workspace.api.call('getAutomationRun', { params: { id: first }, query: { include: 'inputs' } })).payload,
    ).toEqual({ city: 'Oslo' });
  });

  test('checks its input against the inputs of its version', async () => {
    const id = await create([log('{{payload.city}}')], { inputs: cityInput });
    const first = await run(id, { city: 'Oslo' });
    expect(await replay(first, { payload: {} })).toMatchObject(refusal('body.payload.city', 'is required'));
    expect(await replay(first, { payload: { city: 7 } })).toMatchObject(
      refusal('body.payload.city', 'must be a string'),
    );
    await update(id, {
      inputs: { ...cityInput, properties: { ...cityInput.properties, unit: { type: 'string', default: 'km' } } },
    });
    const second = await replayed(first, { workflowVersion: 2 });
    expect(second).toMatchObject({ workflowVersion: 2, payload: { city: 'Oslo', unit: 'km' } });
  });

  test('with another version runs its steps, if those before the first one are the same', async () => {
    const id = await create([log('one'), log('{{payload.missing}}')]);
    const first = await run(id);
    await update(id, { stepsJson: [log('one'), log('repaired'), log('new')] });
    const second = await replayed(first, { fromStep: 1, workflowVersion: 2 });
    expect(second).toMatchObject({ status: 'succeeded', workflowVersion: 2, attempt: 2 });
    expect(await messagesOf(second.id)).toEqual(['repaired', 'new']);
    const audit = await workspace.session.call('listAuditLog', {
      params: { tenantId: workspace.tenantId },
      query: { action: 'run.replayed' } as never,
    });
    expect(audit.data[0]?.details).toEqual({ as: second.id, fromStep: 1, workflowVersion: 2 });

    await update(id, { stepsJson: [log('other'), log('repaired'), log('new')] });
    expect(await replay(second.id, { fromStep: 1, workflowVersion: 3 })).toMatchObject(
      refusal('body.fromStep', 'must be from 0 to 0: the step at 0 of version 3 differs'),
    );
    await update(id, { stepsJson: [log('one')] });
    expect(await replay(second.id, { fromStep: 1, workflowVersion: 4 })).toMatchObject(
      refusal('body.fromStep', 'version 4 has no further steps'),
    );
    expect(await replay(second.id, { workflowVersion: 99 })).toMatchObject(
      refusal('body.workflowVersion', 'must be 2, the version of the run, or 4, the current version'),
    );
    // An earlier version can only be made the current one by a caller who may change workflows.
    expect(await replay(second.id, { workflowVersion: 3 })).toMatchObject(
      refusal('body.workflowVersion', 'must be 2, the version of the run, or 4, the current version'),
    );
    const third = await replayed(second.id, { workflowVersion: 4 });
    expect(await messagesOf(third.id)).toEqual(['one']);
    const inactive = { status: 400, body: { code: 'workflow_inactive' } };
    await update(id, { active: false });
    expect(await replay(third.id, { payload: { city: 'Rome' } })).toMatchObject(inactive);
    const fourth = await replayed(third.id, {});
    await workspace.api.call('deleteAutomationWorkflow', { params: { id } });
    expect(await replay(fourth.id, { workflowVersion: 4 })).toMatchObject(inactive);
  });

  test('of a run of another workspace is not found', async () => {
    const id = await create([log('x')]);
    const first = await run(id);
    workspace = await hub.workspace();
    expect(await replay(first, { payload: {} })).toMatchObject({ status: 404 });
  });
});
