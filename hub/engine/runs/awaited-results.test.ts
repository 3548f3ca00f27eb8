import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { executeRun } from '../../../test/fixtures/claim-run.ts';
import { enginePorts } from '../../../test/fixtures/engine.ts';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { testSecrets } from '../../../test/fixtures/secrets.ts';
import { until } from '../../../test/fixtures/until.ts';
import { Database } from '../../platform/db/database.ts';
import type { Transaction, TransactionOptions } from '../../platform/db/database.ts';
import { PostgresEvents } from '../../platform/events/postgres-events.ts';
import { newId } from '../../platform/ids.ts';
import { MemoryBudget } from '../../platform/process/memory-budget.ts';
import { nodePort, NodeCommands } from '../../products/nodes/index.ts';
import { nodeSkills } from '../../products/nodes/skills.ts';
import { acceptRun } from '../index.ts';
import { defineSkill } from '../skill.ts';
import type { Skill, SpawnSkill } from '../skill.ts';
import { Engine } from './engine.ts';
import type { Slot } from './run-context.ts';

const logger = pino({ level: 'silent' });
const mib = 1024 * 1024;
const largeText = 1_000_000;
const never = new AbortController().signal;
const tenantId = newId();
const nodeId = newId();
let database: TestDatabase;
let db: Database;
let events: PostgresEvents;

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 8, applicationName: 'test', onError: () => undefined });
  events = await PostgresEvents.connect(database.url, testSecrets, logger);
  db.onPublished((topic, payload) => events.publish(topic, payload));
  await database.query(
    `insert into tenants (id, name, entitlements) values ($1, 'results', '{"automations":true,"ai_agent":true}')`,
    [tenantId],
  );
  await database.query(
    `insert into nodes (id, tenant_id, name, allow_system, allow_browser, paired_at, last_seen_at, online) values ($1, $2, 'n', false, true, now(), now(), true)`,
    [nodeId, tenantId],
  );
});
afterAll(async () => {
  await events[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const make = defineSkill({
  id: 'test.make',
  title: '',
  summary: '',
  requires: [],
  effect: 'pure',
  input: z.strictObject({ kib: z.int().default(0) }),
  output: z.unknown(),
  execute: async ({ kib }) => ({ output: { text: 'x'.repeat(kib * 1024) } }),
});
const spawn: SpawnSkill = {
  kind: 'spawn',
  id: 'subagent.spawn',
  title: '',
  summary: '',
  requires: [],
  input: z.strictObject({ workflowId: z.string() }),
  output: z.unknown() as never,
};
const skills: Skill[] = [make, spawn, ...nodeSkills()];
const ping = { skillId: 'node.ping', input: { nodeId } };

async function addWorkflow(steps: Record<string, unknown>[]): Promise<string> {
  const workflowId = newId();
  const text = JSON.stringify(steps.map((step) => ({ type: 'skill', skillId: make.id, input: {}, ...step })));
  await database.query(
    `insert into workflows (id, tenant_id, name, active, version, trigger, steps) values ($1, $2, 'w', true, 1, '{"type":"manual","schemaVersion":1}', $3)`,
    [workflowId, tenantId, text],
  );
  await database.query(
    `insert into workflow_versions (workflow_id, version, tenant_id, name, steps) values ($1, 1, $2, 'w', $3)`,
    [workflowId, tenantId, text],
  );
  return workflowId;
}

const newRun = (workflowId: string) => ({
  tenantId,
  workflowId,
  workflowVersion: 1,
  trigger: { type: 'manual' },
  context: null,
  payload: null,
  environment: 'live' as const,
});
const accept = async (steps: Record<string, unknown>[]) => {
  const workflowId = await addWorkflow(steps);
  return (await db.workspace(tenantId, (tx) => acceptRun(tx, newRun(workflowId)))).runId;
};
const addLargeChild = () => addWorkflow([{ input: { kib: 2000 } }]);
const wake = (runId: string) =>
  database.query('update runs set wake_at = now(), holder_id = null where id = $1', [runId]);
const stepOf = async (runId: string) =>
  (
    await database.query<{ status: string; attempts: number; error: { code: string } | null; wait: object | null }>(
      'select status, attempts, error, wait from run_steps where run_id = $1 and index = 0',
      [runId],
    )
  )[0];

interface Seen {
  /** Whether a large value was read or written, and the memory that was reserved then. */
  large: { label: string; reserved: number }[];
  /** Calls of `outside`, and whether the place was released, by the time of the last write of a large value. */
  waits: number;
  isReleased: boolean;
  wasReleasedAtWrite: boolean;
}

/** An engine that records the statements with large values, and the place of its run. */
function engineOf(memory: MemoryBudget, answers: string[] = []) {
  const seen: Seen = { large: [], waits: 0, isReleased: false, wasReleasedAtWrite: false };
  const note = (label: string, value: unknown, isWrite: boolean) => {
    if (JSON.stringify(value).length < largeText) return;
    seen.large.push({ label, reserved: memory.counts.used });
    if (isWrite) seen.wasReleasedAtWrite ||= seen.isReleased;
  };
  const spied = new Proxy(db, {
    get(target, name) {
      if (name === 'systemStatement')
        return async (label: string, text: string, values: unknown[]) => {
          const rows = await db.systemStatement(label, text, values);
          note(label, rows, false);
          return rows;
        };
      if (name === 'workspace')
        return (tenant: string, work: (tx: Transaction) => Promise<unknown>, options: TransactionOptions) =>
          db.workspace(
            tenant,
            (tx) => {
              const query = tx.query.bind(tx);
              tx.query = (async (label: string, text: string, values: unknown[]) => {
                note(label, values, true);
                const result = await query(label, text, values);
                note(label, result.rows, false);
                return result;
              }) as typeof tx.query;
              return work(tx);
            },
            options,
          );
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const ports = enginePorts(spied);
  const engine = new Engine({
    db: spied,
    events,
    logger,
    skills: { find: (id) => skills.find((skill) => skill.id === id), list: () => skills },
    ...ports,
    nodes: nodePort(new NodeCommands({ db: spied }), 15),
    memory,
    validateOutputs: false,
    startChild: async (tx, { workflowId, ...request }) => {
      const { runId } = await acceptRun(tx, { ...newRun(workflowId), ...request });
      return { runId };
    },
    agents: {
      ...ports.agents,
      findToolProfile: () => Promise.resolve({ allow: ['*'], deny: [] } as never),
      generate: () =>
        Promise.resolve({
          text: answers.shift() ?? 'FINAL:done',
          model: 'm',
          latencyMs: 1,
          usage: { inputTokens: 1, outputTokens: 1 },
          attempts: [],
        } as never),
    },
  });
  const slot: Slot = {
    outside(work) {
      seen.waits += 1;
      return work();
    },
    release() {
      seen.isReleased = true;
    },
  };
  return { seen, execute: (runId: string) => executeRun(engine, db, runId, never, slot) };
}

const newMemory = (waitMs = 60_000) => new MemoryBudget({ limitBytes: 16 * mib, waitMs, largestPart: 1 / 2 });

/** Leaves no memory for a large value. */
function fill(memory: MemoryBudget): Disposable {
  const others = [memory.open('a'), memory.open('b')];
  expect(others[0]?.tryResize(8 * mib)).toBe(true);
  expect(others[1]?.tryResize(7 * mib)).toBe(true);
  return { [Symbol.dispose]: () => others.forEach((one) => one[Symbol.dispose]()) };
}

/** Ends what the first step of a run waits for, with a large output. */
async function endAwaited(runId: string): Promise<void> {
  const [child] = await database.query<{ id: string }>('select id from runs where parent_run_id = $1', [runId]);
  if (child !== undefined) await engineOf(newMemory()).execute(child.id);
  await database.query(
    `update node_commands set status = 'succeeded', output = jsonb_build_object('text', repeat('x', 2000000)), finished_at = now() where run_id = $1`,
    [runId],
  );
  await wake(runId);
}

const spawnStep = async () => ({ skillId: spawn.id, input: { workflowId: await addLargeChild() } });
const agentStep = { type: 'agent', prompt: 'go', toolProfileId: newId() };
const toolCall = (skillId: string, input: object) => `TOOL_CALL:${skillId}|${JSON.stringify(input)}`;

describe('a large result that a run waited for', () => {
  test.each([
    ['of a child run, in the last step', async () => ({ steps: [await spawnStep()], answers: [] })],
    ['of a child run, in a step before others', async () => ({ steps: [await spawnStep(), {}], answers: [] })],
    [
      'of a child run that an agent started',
      async () => ({ steps: [agentStep], answers: [toolCall(spawn.id, { workflowId: await addLargeChild() })] }),
    ],
    ['of a node command, in the last step', async () => ({ steps: [ping], answers: [] })],
    ['of a node command, in a step before others', async () => ({ steps: [ping, {}], answers: [] })],
    [
      'of a node command that an agent sent',
      async () => ({ steps: [agentStep], answers: [toolCall(ping.skillId, ping.input)] }),
    ],
  ])('%s, is read once there is memory, which stays reserved until it is written', async (_what, given) => {
    const { steps, answers } = await given();
    const runId = await accept(steps);
    await engineOf(newMemory(), answers).execute(runId);
    await endAwaited(runId);
    const memory = newMemory();
    const { seen, execute } = engineOf(memory);
    const others = fill(memory);
    const ended = execute(runId);
    await until(
      () => seen.waits > 0,
      () => 'the run did not wait for memory',
    );
    expect(seen.large).toEqual([]);
    others[Symbol.dispose]();
    await ended;
    expect(await database.query('select status from runs where id = $1', [runId])).toEqual([{ status: 'succeeded' }]);
    expect(seen.large.length).toBeGreaterThan(1);
    expect(seen.large.filter(({ reserved }) => reserved === 0)).toEqual([]);
    expect(seen.wasReleasedAtWrite).toBe(false);
    expect(memory.counts).toEqual({ used: 0, workspaces: 0 });
  });

  test('fails its step if no memory is free, and a retry repeats neither child run nor command', async () => {
    const retry = { maxAttempts: 3, backoffSeconds: 1, factor: 1 };
    for (const step of [await spawnStep(), ping]) {
      const runId = await accept([{ ...step, retry }]);
      await engineOf(newMemory()).execute(runId);
      await endAwaited(runId);
      const memory = newMemory(50);
      using _full = fill(memory);
      await engineOf(memory).execute(runId);
      expect(await stepOf(runId)).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'out_of_memory' } });
    }
  });

  test('is read by the next attempt of its agent if no memory is free', async () => {
    const retry = { maxAttempts: 3, backoffSeconds: 1, factor: 1 };
    const runId = await accept([{ ...agentStep, retry }]);
    await engineOf(newMemory(), [toolCall(spawn.id, { workflowId: await addLargeChild() })]).execute(runId);
    await endAwaited(runId);
    {
      const memory = newMemory(50);
      using _full = fill(memory);
      await engineOf(memory).execute(runId);
    }
    expect(await stepOf(runId)).toMatchObject({ error: { code: 'out_of_memory' }, wait: { kind: 'retry' } });
    await wake(runId);
    await engineOf(newMemory()).execute(runId);
    expect(await stepOf(runId)).toMatchObject({ status: 'succeeded', attempts: 2 });
    expect(await database.query('select id from runs where parent_run_id = $1', [runId])).toHaveLength(1);
  });
});

test('a child run that does not end in the remaining time of its agent fails the call, and the agent continues', async () => {
  const runId = await accept([{ ...agentStep, timeoutSeconds: 60 }]);
  await engineOf(newMemory(), [toolCall(spawn.id, { workflowId: await addLargeChild() })]).execute(runId);
  await wake(runId);
  await engineOf(newMemory()).execute(runId);
  expect(await stepOf(runId)).toMatchObject({ status: 'running', wait: { kind: 'run' } });
  await database.query(`update runs set queued_at = queued_at - interval '1 minute' where parent_run_id = $1`, [runId]);
  await wake(runId);
  await engineOf(newMemory()).execute(runId);
  expect(await stepOf(runId)).toMatchObject({ status: 'succeeded' });
  const [step] = await database.query<{ calls: object[] }>(
    `select output->'turns'->0->'calls' as calls from run_steps where run_id = $1`,
    [runId],
  );
  expect(step?.calls).toMatchObject([{ status: 'failed', error: { code: 'timeout' } }]);
});
