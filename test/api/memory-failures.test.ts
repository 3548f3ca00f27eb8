import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../hub/platform/ids.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { addMemoryEntries, expireMemoryEntries } from '../fixtures/stage/automations.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

async function runOf(stepsJson: unknown[], { api } = workspace) {
  const { id } = await api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson } as never });
  const { runId } = startedRun(
    await api.call('runAutomationWorkflow', { params: { id }, body: { payload: { sessionId: newId() } } }),
  );
  return settledRun(api, runId);
}

test('writing a memory entry for an unknown session fails the step with not_found', async () => {
  const run = await runOf([
    { type: 'skill', skillId: 'memory.write', input: { key: 'a', value: 1, sessionId: '{{payload.sessionId}}' } },
  ]);
  expect(run).toMatchObject({ status: 'failed', error: { code: 'not_found', stepIndex: 0 } });
  expect(await hub.database.query('SELECT lost_leases FROM runs WHERE id = $1', [run.id])).toEqual([
    { lost_leases: 0 },
  ]);
});

test('a full memory fails the step with memory_full, and a step with continueOnError lets its run continue', async () => {
  await addMemoryEntries(hub.database, workspace.tenantId, { count: 10_000, value: 1 });
  expect(await runOf([{ type: 'skill', skillId: 'memory.write', input: { key: 'one more', value: 1 } }])).toMatchObject(
    { status: 'failed', error: { code: 'memory_full' } },
  );
  const run = await runOf([
    { type: 'skill', skillId: 'memory.write', input: { key: 'one more', value: 1 }, continueOnError: true },
    { type: 'log', message: 'on' },
  ]);
  expect(run).toMatchObject({
    status: 'succeeded',
    stepsResultJson: [{ status: 'failed', error: { code: 'memory_full' } }, { status: 'succeeded' }],
  });
  expect(await hub.database.query(`SELECT 1 FROM memory_entries WHERE key = 'one more'`)).toEqual([]);
});

test('expired entries do not count towards a full memory, also before retention removes them', async () => {
  const other = await hub.workspace();
  const write = (key: string) => ({ type: 'skill', skillId: 'memory.write', input: { key, value: 1 } });
  const full = { status: 'failed', error: { code: 'memory_full' } };
  await addMemoryEntries(hub.database, other.tenantId, { count: 10_000, value: 1 });
  expect(await runOf([write('first')], other)).toMatchObject(full);
  await expireMemoryEntries(hub.database, other.tenantId, { count: 2 });
  expect(await runOf([write('first'), write('second')], other)).toMatchObject({ status: 'succeeded' });
  expect(await runOf([write('third')], other)).toMatchObject(full);
});
