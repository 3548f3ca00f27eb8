import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';

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

/** Gives a workflow the history of so many changes, the last `fresh` of them of this moment. */
async function age(id: string, version: number, fresh: number): Promise<void> {
  await hub.database.query(
    `insert into workflow_versions (workflow_id, version, tenant_id, name, steps, created_at)
     select workflow_id, n, tenant_id, name, steps, case when n > $2 - $3 then now() else now() - interval '1 hour' end from workflow_versions, generate_series(2, $2::int) n where workflow_id = $1 and version = 1`,
    [id, version, fresh],
  );
  await hub.database.query(
    `update workflow_versions set created_at = now() - interval '1 hour' where workflow_id = $1 and version = 1`,
    [id],
  );
  await hub.database.query('update workflows set version = $2 where id = $1', [id, version]);
}

test('of a workflow that is changed all day the newest hundred versions stay, and those that runs have', async () => {
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
  await age(other.id, 150, 0);
  await age(id, 300, 0);
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
  expect(await api.call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 20 } })).toMatchObject({
    status: 'succeeded',
    stepsResultJson: [{}, { status: 'succeeded' }],
  });
  await hub.database.query('delete from runs where id = $1', [runId]);
  await change();
  expect(await versionsOf(id)).toEqual(range(205, 304));
});

test('a version that was current within the last minute stays, because a start may have read it', async () => {
  const { api } = workspace;
  const { id } = await api.call('createAutomationWorkflow', {
    body: { name: 'hasty', stepsJson: [{ type: 'log', message: 'x' }] },
  });
  await age(id, 150, 140);
  await api.call('updateAutomationWorkflow', { params: { id }, body: { name: 'hastier' } });
  expect(await versionsOf(id)).toEqual(range(10, 151));
});
