import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { entitlementNames } from '../../../shared/contract/define.ts';
import { executeRun } from '../../../test/fixtures/claim-run.ts';
import { enginePorts } from '../../../test/fixtures/engine.ts';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { testSecrets } from '../../../test/fixtures/secrets.ts';
import { until } from '../../../test/fixtures/until.ts';
import { Database } from '../../platform/db/database.ts';
import { PostgresEvents } from '../../platform/events/postgres-events.ts';
import { newId } from '../../platform/ids.ts';
import { MemoryBudget } from '../../platform/process/memory-budget.ts';
import { lockCommand } from '../../products/nodes/commands/command-rows.ts';
import { extendLeases } from '../../products/nodes/commands/lease-commands.ts';
import { recordLateResult } from '../../products/nodes/results/late-result.ts';
import { nodeSkills } from '../../products/nodes/skills.ts';
import { acceptRun } from '../index.ts';
import { Engine } from '../runs/engine.ts';
import { defineSkill } from '../skill.ts';
import type { Skill } from '../skill.ts';

const mib = 1024 * 1024;
const never = new AbortController().signal;
const tenantId = newId();
let database: TestDatabase;
let db: Database;
let events: PostgresEvents;

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 8, applicationName: 'test', onError: () => undefined });
  events = await PostgresEvents.connect(database.url, testSecrets, pino({ level: 'silent' }));
  db.onPublished((topic, payload) => events.publish(topic, payload));
  const entitlements = Object.fromEntries(entitlementNames.map((name) => [name, true]));
  await database.query('insert into tenants (id, name, entitlements) values ($1, $2, $3)', [
    tenantId,
    'agents',
    JSON.stringify(entitlements),
  ]);
});
afterAll(async () => {
  await events[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** Accepts a run with one agent step that is retried. */
async function accept(): Promise<string> {
  const workflowId = newId();
  const retry = { maxAttempts: 3, backoffSeconds: 1, factor: 1 };
  const steps = JSON.stringify([{ type: 'agent', prompt: 'go', maxTurns: 5, toolProfileId: newId(), retry }]);
  await database.query(
    `insert into workflows (id, tenant_id, name, active, version, trigger, steps) values ($1, $2, 'w', true, 1, '{"type":"manual","schemaVersion":1}', $3)`,
    [workflowId, tenantId, steps],
  );
  await database.query(
    `insert into workflow_versions (workflow_id, version, tenant_id, name, steps) values ($1, 1, $2, 'w', $3)`,
    [workflowId, tenantId, steps],
  );
  const start = { trigger: { type: 'manual' }, context: null, payload: null, environment: 'live' as const };
  const accepted = await db.workspace(tenantId, (tx) =>
    acceptRun(tx, { tenantId, workflowId, workflowVersion: 1, ...start }),
  );
  return accepted.runId;
}

/** An engine whose model returns these answers in order, then FINAL. */
function engineOf(skills: readonly Skill[], answers: string[], memory: MemoryBudget = newMemory()) {
  const ports = enginePorts(db);
  return new Engine({
    db,
    events,
    skills: { find: (id) => skills.find((skill) => skill.id === id), list: () => [...skills] },
    ...ports,
    logger: pino({ level: 'silent' }),
    memory,
    agents: {
      ...ports.agents,
      findToolProfile: () => Promise.resolve({ allow: ['*'], deny: [] } as never),
      generate: () => {
        const usage = { inputTokens: 1, outputTokens: 1 };
        return Promise.resolve({
          text: answers.shift() ?? 'FINAL:done',
          model: 'm',
          latencyMs: 1,
          usage,
          attempts: [],
        } as never);
      },
    },
  });
}

const newMemory = () => new MemoryBudget({ limitBytes: 16 * mib, waitMs: 300, largestPart: 1 / 2 });

/** Fills the memory so that a large state does not fit. */
function fill(memory: MemoryBudget): Disposable {
  const reservations = [memory.open('a'), memory.open('b')];
  expect(reservations[0]?.tryResize(8 * mib)).toBe(true);
  expect(reservations[1]?.tryResize(7 * mib)).toBe(true);
  return { [Symbol.dispose]: () => reservations.forEach((reservation) => reservation[Symbol.dispose]()) };
}

const wake = (runId: string) =>
  database.query('update runs set wake_at = now(), holder_id = null where id = $1', [runId]);
const stepOf = async (runId: string) =>
  (
    await database.query<{ status: string; attempts: number; error: { code: string } | null; wait: object | null }>(
      'select status, attempts, error, wait from run_steps where run_id = $1',
      [runId],
    )
  )[0];

const large = defineSkill({
  id: 'test.large',
  title: '',
  summary: '',
  requires: [],
  effect: 'pure',
  input: z.strictObject({}),
  output: z.unknown(),
  execute: () => Promise.resolve({ output: { text: 'x'.repeat(1_500_000) } }),
});

/** A `once` skill that counts its calls. */
function countingSkill() {
  const calls = { count: 0, hangs: false };
  const skill = defineSkill({
    id: 'test.once',
    title: '',
    summary: '',
    requires: [],
    effect: 'once',
    input: z.strictObject({}),
    output: z.unknown(),
    async execute() {
      calls.count += 1;
      if (calls.hangs) await new Promise(() => undefined);
      return { output: null };
    },
  });
  return { calls, skill };
}

async function addNode(): Promise<string> {
  const nodeId = newId();
  await database.query(
    `insert into nodes (id, tenant_id, name, allow_system, allow_browser, paired_at, last_seen_at, online) values ($1, $2, $3, false, true, now(), now(), true)`,
    [nodeId, tenantId, nodeId],
  );
  return nodeId;
}

/** Starts a run of an agent step with a large state that waits for an acting command. */
async function waitForCommand() {
  const nodeId = await addNode();
  const runId = await accept();
  const memory = newMemory();
  const navigate = `TOOL_CALL:browser.navigate|${JSON.stringify({ nodeId, url: 'https://example.org/pay' })}`;
  const engine = engineOf([large, ...nodeSkills()], ['TOOL_CALL:test.large|{}', navigate], memory);
  await executeRun(engine, db, runId, never);
  expect(await stepOf(runId)).toMatchObject({ wait: { kind: 'node_command' } });
  const [command] = await database.query<{ id: string }>('select id from node_commands where run_id = $1', [runId]);
  return { nodeId, runId, memory, engine, commandId: command?.id as string };
}

/** Ends a command like the sweep after a device stopped responding. */
const expireCommand = (commandId: string) =>
  database.query(
    `update node_commands set status = 'failed', overdue = true, error = '{"code":"outcome_unknown","message":"silent"}',
       handed_out_at = now(), finished_at = now() where id = $1`,
    [commandId],
  );

const recordLate = (nodeId: string, commandId: string) =>
  db.workspace(tenantId, async (tx) => {
    const row = await lockCommand(tx, nodeId, commandId);
    if (row === null) throw new Error('there is no such command');
    await recordLateResult(tx, row, 'succeeded', { output: { ok: true } });
  });

test('a retried agent uses the result of the node command that it waited for, and sends no second command', async () => {
  const { runId, memory, engine } = await waitForCommand();
  await database.query(
    `update node_commands set status = 'succeeded', output = '{"ok":true}', finished_at = now() where run_id = $1`,
    [runId],
  );
  {
    using _full = fill(memory);
    await wake(runId);
    await executeRun(engine, db, runId, never);
  }
  expect(await stepOf(runId)).toMatchObject({ error: { code: 'out_of_memory' }, wait: { kind: 'retry' } });
  await wake(runId);
  await executeRun(engine, db, runId, never);
  expect(await database.query('select status from node_commands where run_id = $1', [runId])).toEqual([
    { status: 'succeeded' },
  ]);
  expect(await stepOf(runId)).toMatchObject({ status: 'succeeded', attempts: 2 });
});

test('a late result of a node command reopens a run whose retried agent failed without it', async () => {
  const { nodeId, runId, memory, engine, commandId } = await waitForCommand();
  await expireCommand(commandId);
  {
    using _full = fill(memory);
    await wake(runId);
    await executeRun(engine, db, runId, never);
  }
  expect(await stepOf(runId)).toMatchObject({ attempts: 1, wait: { kind: 'retry' } });
  await wake(runId);
  await executeRun(engine, db, runId, never);
  expect(await stepOf(runId)).toMatchObject({ status: 'failed', attempts: 2, error: { code: 'outcome_unknown' } });
  expect(await db.workspace(tenantId, (tx) => extendLeases(tx, nodeId, [commandId]))).toEqual([]);
  await recordLate(nodeId, commandId);
  await executeRun(engine, db, runId, never);
  expect(await stepOf(runId)).toMatchObject({ status: 'succeeded', attempts: 2 });
});

test('a late result of a node command continues an agent that waits for its next attempt', async () => {
  const { nodeId, runId, memory, engine, commandId } = await waitForCommand();
  await expireCommand(commandId);
  {
    using _full = fill(memory);
    await wake(runId);
    await executeRun(engine, db, runId, never);
  }
  expect(await stepOf(runId)).toMatchObject({ wait: { kind: 'retry', of: { kind: 'node_command' } } });
  await recordLate(nodeId, commandId);
  await executeRun(engine, db, runId, never);
  expect(await stepOf(runId)).toMatchObject({ status: 'succeeded', attempts: 1 });
});

test('a repeated tool call keeps the attempt that requested it in its key, and its step has the current attempt', async () => {
  const attempts: unknown[] = [];
  let hangs = true;
  const keyed = defineSkill({
    id: 'test.keyed',
    title: '',
    summary: '',
    requires: [],
    effect: 'keyed',
    input: z.strictObject({}),
    output: z.unknown(),
    async execute(_input, { runId: id, attempt }) {
      attempts.push([attempt, (await stepOf(id))?.attempts]);
      if (hangs) await new Promise(() => undefined);
      return { output: null };
    },
  });
  const runId = await accept();
  const workerLost = new AbortController();
  const answers = ['TOOL_CALL:test.large|{}', 'TOOL_CALL:test.keyed|{}'];
  const first = executeRun(engineOf([large, keyed], answers), db, runId, workerLost.signal).catch(() => undefined);
  await until(
    () => attempts.length === 1,
    () => 'the tool was not called',
  );
  hangs = false;
  await database.query('update runs set fence = fence + 1, holder_id = null, wake_at = now() where id = $1', [runId]);
  workerLost.abort(new Error('gone'));
  await first;
  const memory = newMemory();
  const second = engineOf([large, keyed], answers, memory);
  {
    using _full = fill(memory);
    await executeRun(second, db, runId, never);
  }
  expect(await stepOf(runId)).toMatchObject({ error: { code: 'out_of_memory' } });
  await wake(runId);
  await executeRun(second, db, runId, never);
  expect(await stepOf(runId)).toMatchObject({ status: 'succeeded', attempts: 2 });
  expect(attempts).toEqual([
    [1, 1],
    [1, 2],
  ]);
});

test('an agent whose acting command was interrupted fails, and does not send the command again', async () => {
  const nodeId = newId();
  await database.query(
    `insert into nodes (id, tenant_id, name, allow_system, allow_browser, paired_at, last_seen_at, online) values ($1, $2, 'interrupted', false, true, now(), now(), true)`,
    [nodeId, tenantId],
  );
  const runId = await accept();
  const navigate = `TOOL_CALL:browser.navigate|${JSON.stringify({ nodeId, url: 'https://example.org/pay' })}`;
  const engine = engineOf(nodeSkills(), [navigate, navigate]);
  await executeRun(engine, db, runId, never);
  await database.query(
    `update node_commands set status = 'failed', error = '{"code":"interrupted","message":"It was ended after 2.0 s."}', finished_at = now() where run_id = $1`,
    [runId],
  );
  await wake(runId);
  await executeRun(engine, db, runId, never);
  expect(await database.query('select status from node_commands where run_id = $1', [runId])).toHaveLength(1);
  expect(await stepOf(runId)).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'interrupted' } });
});

test('a once tool whose result could not be written fails the next attempt with outcome_unknown, and is not executed again', async () => {
  const { calls, skill } = countingSkill();
  const runId = await accept();
  await database.query(
    `create function fail_receipt() returns trigger language plpgsql as $f$ begin if new.receipt_at is not null then raise exception 'no' using errcode = '53200'; end if; return new; end $f$`,
  );
  await database.query(
    'create trigger fail_receipt before update on effects for each row execute function fail_receipt()',
  );
  const engine = engineOf([skill], ['TOOL_CALL:test.once|{}']);
  await executeRun(engine, db, runId, never);
  await database.query('drop trigger fail_receipt on effects');
  await wake(runId);
  await executeRun(engine, db, runId, never);
  expect(calls.count).toBe(1);
  expect(await stepOf(runId)).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' } });
});

test('a once tool of a crashed worker has an unknown outcome, also after an attempt that failed before the tool', async () => {
  const { calls, skill } = countingSkill();
  calls.hangs = true;
  const runId = await accept();
  const answers = ['TOOL_CALL:test.large|{}', 'TOOL_CALL:test.once|{}'];
  const workerLost = new AbortController();
  const first = executeRun(engineOf([large, skill], answers), db, runId, workerLost.signal).catch(() => undefined);
  await until(
    () => calls.count === 1,
    () => 'the tool was not called',
  );
  calls.hangs = false;
  await database.query('update runs set fence = fence + 1, holder_id = null, wake_at = now() where id = $1', [runId]);
  workerLost.abort(new Error('gone'));
  await first;
  const memory = newMemory();
  const second = engineOf([large, skill], answers, memory);
  {
    using _full = fill(memory);
    await executeRun(second, db, runId, never);
  }
  expect(await stepOf(runId)).toMatchObject({ error: { code: 'out_of_memory' } });
  await delay(10);
  await wake(runId);
  await executeRun(second, db, runId, never);
  expect(calls.count).toBe(1);
  expect(await stepOf(runId)).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' } });
});
