import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { addWorkflowVersions, removeRun } from '../fixtures/stage/automations.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_value, index) => from + index);
const versionsOf = async (id: string) =>
  (
    await hub.database.query<{ version: number }>(
      'select version from workflow_versions where workflow_id = $1 order by version',
      [id],
    )
  ).map(({ version }) => version);

test('the newest hundred versions of a frequently changed workflow are kept, and versions with runs', async () => {
  const { api } = workspace;
  const { id } = await api.call('createAutomationWorkflow', {
    body: {
      name: 'busy',
      stepsJson: [
        { type: 'approval', title: 'go on?' },
        { type: 'log', message: 'the first version' },
      ],
    },
  });
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id } }));
  await expect
    .poll(async () => (await api.call('getAutomationRun', { params: { id: runId } })).status)
    .toBe('waiting_approval');
  const other = await api.call('createAutomationWorkflow', {
    body: { name: 'other', stepsJson: [{ type: 'log', message: 'x' }] },
  });
  await addWorkflowVersions(hub.database, other.id, { latest: 150, fresh: 0 });
  await addWorkflowVersions(hub.database, id, { latest: 300, fresh: 0 });
  const change = () =>
    api.call('updateAutomationWorkflow', {
      params: { id },
      body: { stepsJson: [{ type: 'log', message: 'another' }] },
    });
  for (let count = 0; count < 3; count += 1) await change();
  expect(await versionsOf(id)).toEqual([1, ...range(204, 303)]);
  expect(await versionsOf(other.id)).toEqual(range(1, 150));

  const [approval] = (await api.call('listAutomationApprovals', { query: { runId } })).data;
  await workspace.session.call('growthDecideApproval', {
    params: { id: approval?.id as string },
    body: { decision: 'approved' },
  });
  expect(await settledRun(api, runId)).toMatchObject({
    status: 'succeeded',
    stepsResultJson: [{}, { status: 'succeeded' }],
  });
  await removeRun(hub.database, runId);
  await change();
  expect(await versionsOf(id)).toEqual(range(205, 304));
});

test('a version that was current within the last minute stays, because a start may have read it', async () => {
  const { api } = workspace;
  const { id } = await api.call('createAutomationWorkflow', {
    body: { name: 'hasty', stepsJson: [{ type: 'log', message: 'x' }] },
  });
  await addWorkflowVersions(hub.database, id, { latest: 150, fresh: 140 });
  await api.call('updateAutomationWorkflow', { params: { id }, body: { name: 'hastier' } });
  expect(await versionsOf(id)).toEqual(range(10, 151));
});

describe('the history of a workflow', () => {
  const log = (message: string) => [{ type: 'log' as const, message }];
  const read = async (id: string) => {
    const response = await fetch(`${hub.url}/v1/automations/workflows/${id}`, {
      headers: { 'x-api-key': workspace.key },
    });
    return { etag: response.headers.get('etag'), body: (await response.json()) as { version: number; name: string } };
  };
  const change = async (method: string, path: string, ifMatch: string | null, body?: unknown) => {
    const response = await fetch(`${hub.url}/v1/automations/workflows/${path}`, {
      method,
      headers: {
        'x-api-key': workspace.key,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(ifMatch === null ? {} : { 'if-match': ifMatch }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      etag: response.headers.get('etag'),
      body: (await response.json()) as Record<string, unknown>,
    };
  };

  test('is listed in pages, and any version can be restored as a new one', async () => {
    const { api } = workspace;
    const { id } = await api.call('createAutomationWorkflow', {
      body: { name: 'one', stepsJson: log('1'), limits: { maxConcurrentRuns: 2 } },
    });
    await api.call('updateAutomationWorkflow', { params: { id }, body: { name: 'two', stepsJson: log('2') } });
    await api.call('updateAutomationWorkflow', { params: { id }, body: { active: false } });
    const first = await api.call('listAutomationWorkflowVersions', { params: { id }, query: { limit: 2 } });
    expect(first.data.map(({ version, name }) => [version, name])).toEqual([
      [3, 'two'],
      [2, 'two'],
    ]);
    const rest = await api.call('listAutomationWorkflowVersions', {
      params: { id },
      query: { limit: 2, cursor: first.meta.nextCursor as string },
    });
    expect([rest.data.map(({ version }) => version), rest.meta.nextCursor]).toEqual([[1], null]);
    expect(await api.call('getAutomationWorkflowVersion', { params: { id, version: 1 } })).toMatchObject({
      name: 'one',
      stepsJson: log('1'),
    });
    const restored = await api.call('restoreAutomationWorkflowVersion', { params: { id, version: 1 } });
    // Fields outside of a version stay unchanged.
    expect(restored).toMatchObject({
      version: 4,
      name: 'one',
      stepsJson: log('1'),
      active: false,
      limits: { maxConcurrentRuns: 2 },
    });
    expect(await api.call('getAutomationWorkflow', { params: { id } })).toEqual(restored);
    for (const operation of ['getAutomationWorkflowVersion', 'restoreAutomationWorkflowVersion'] as const) {
      await expect(api.call(operation, { params: { id, version: 9 } })).rejects.toMatchObject({
        status: 404,
        code: 'not_found',
      });
    }
  });

  test('is changed by one of two members with the same base version, and the other gets the newer version', async () => {
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: { name: 'shared', stepsJson: log('x') },
    });
    const { etag } = await read(id);
    expect(etag).toBe('"1"');
    const answers = await Promise.all(['a', 'b'].map((name) => change('PATCH', id, etag, { name })));
    const [done, refused] = answers.toSorted((left, right) => left.status - right.status);
    expect(done).toMatchObject({ status: 200, etag: '"2"', body: { version: 2 } });
    expect(refused).toMatchObject({ status: 409, etag: '"2"', body: { code: 'version_conflict' } });
    expect((await read(id)).body).toMatchObject({ version: 2, name: done?.body['name'] });
    expect(await change('POST', `${id}/versions/1/restore`, '"1"')).toMatchObject({ status: 409 });
    expect(await change('POST', `${id}/versions/1/restore`, '"7", W/"2"')).toMatchObject({ status: 200, etag: '"3"' });
    expect(await change('PATCH', id, '*', { name: 'c' })).toMatchObject({ status: 200 });
    expect(await change('PATCH', id, 'newest', { name: 'd' })).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', details: [{ path: 'headers.if-match' }] },
    });
  });

  test('is not visible to another workspace', async () => {
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: { name: 'mine', stepsJson: log('x') },
    });
    const { api } = await hub.workspace();
    await expect(api.call('listAutomationWorkflowVersions', { params: { id } })).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(api.call('getAutomationWorkflowVersion', { params: { id, version: 1 } })).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});
