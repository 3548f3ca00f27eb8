import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { copyApproval } from '../fixtures/stage/automations.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

async function settle(payload: Record<string, unknown>) {
  const { api } = workspace;
  const value = '{{payload.value}}';
  const { id } = await api.call('createAutomationWorkflow', {
    body: {
      name: 'approved',
      stepsJson: [
        { type: 'approval', title: 'Go on?' },
        { type: 'skill', skillId: 'memory.diff', input: { key: 'k', by: 'id', items: [{ id: 'a', value }] } },
      ],
    } as never,
  });
  const { runId } = startedRun(
    await api.call('runAutomationWorkflow', { params: { id }, body: { payload: payload as never } }),
  );
  return settledRun(api, runId);
}

test.each([
  ['text', 'x'.repeat(300_000), 'has 300[0-9]{3} bytes, and the limit is 262144'],
  ['values', Array.from({ length: 50_000 }, () => ({})), 'uses [0-9]{7} bytes of memory, and the limit is 2097152'],
])('a step whose approval would show too much fails and names size and limit: %s', async (_name, value, message) => {
  expect(await settle({ value })).toMatchObject({
    status: 'failed',
    error: { code: 'approval_too_large', message: expect.stringMatching(message) },
  });
});

test('a list of large approvals of an earlier version has as many on a page as memory allows', async () => {
  const run = await settle({ value: 'small' });
  expect(run.status).toBe('waiting_approval');
  await copyApproval(hub.database, run.id, { copies: 4, request: { value: 'x'.repeat(1_500_000) } });
  const pages: string[][] = [];
  let cursor: string | null = null;
  do {
    const page: { data: { id: string }[]; meta: { nextCursor: string | null } } = await workspace.api.call(
      'listAutomationApprovals',
      { query: { limit: 100, runId: run.id, ...(cursor === null ? {} : { cursor }) } },
    );
    pages.push(page.data.map(({ id }) => id));
    cursor = page.meta.nextCursor;
  } while (cursor !== null);
  expect(pages.length).toBeGreaterThan(1);
  expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(3);
  expect(new Set(pages.flat()).size).toBe(5);
});
