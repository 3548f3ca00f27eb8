import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { entitlementNames } from '../../shared/contract/define.ts';
import { enginePorts } from '../../test/fixtures/engine.ts';
import { acquireDatabase } from '../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../test/fixtures/postgres.ts';
import { testSecrets } from '../../test/fixtures/secrets.ts';
import { until } from '../../test/fixtures/until.ts';
import { Database } from '../platform/db/database.ts';
import { PostgresEvents } from '../platform/events/postgres-events.ts';
import { newId } from '../platform/ids.ts';
import { MemoryBudget } from '../platform/memory-budget.ts';
import { nodeSkills } from '../products/nodes/skills.ts';
import { Engine } from './engine.ts';
import { acceptRun } from './index.ts';
import { defineSkill } from './skill.ts';
import type { Skill } from './skill.ts';

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

/** A run of one agent step that is retried. */
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

/** An engine whose model gives these answers in turn, and then FINAL. */
function engineOf(skills: readonly Skill[], answers: string[], memory: MemoryBudget = newMemory()) {
  const ports = enginePorts(db, events);
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

/** Leaves no memory for a large state. */
function fill(memory: MemoryBudget): Disposable {
  const held = [memory.open('a'), memory.open('b')];
  expect(held[0]?.tryResize(8 * mib)).toBe(true);
  expect(held[1]?.tryResize(7 * mib)).toBe(true);
  return { [Symbol.dispose]: () => held.forEach((one) => one[Symbol.dispose]()) };
}

const wake = (runId: string) =>
  database.query('update runs set wake_at = now(), lease_expires_at = null where id = $1', [runId]);
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

/** A skill whose effect may happen once. */
function countingSkill() {
  const seen = { calls: 0, hangs: false };
  const skill = defineSkill({
    id: 'test.once',
    title: '',
    summary: '',
    requires: [],
    effect: 'once',
    input: z.strictObject({}),
    output: z.unknown(),
    async execute() {
      seen.calls += 1;
      if (seen.hangs) await new Promise(() => undefined);
      return { output: null };
    },
  });
  return { seen, skill };
}

test('a retried agent takes the answer of the node command that it waited for, and sends no second one', async () => {
  const nodeId = newId();
  await database.query(
    `insert into nodes (id, tenant_id, name, allow_system, allow_browser, paired_at, last_seen_at, online) values ($1, $2, 'n', false, true, now(), now(), true)`,
    [nodeId, tenantId],
  );
  const runId = await accept();
  const memory = newMemory();
  const navigate = `TOOL_CALL:browser.navigate|${JSON.stringify({ nodeId, url: 'https://example.org/pay' })}`;
  const engine = engineOf([large, ...nodeSkills()], ['TOOL_CALL:test.large|{}', navigate], memory);
  await engine.execute(runId, never);
  expect(await stepOf(runId)).toMatchObject({ wait: { kind: 'node_command' } });
  await database.query(
    `update node_commands set status = 'succeeded', output = '{"ok":true}', finished_at = now() where run_id = $1`,
    [runId],
  );
  {
    using _full = fill(memory);
    await wake(runId);
    await engine.execute(runId, never);
  }
  expect(await stepOf(runId)).toMatchObject({ error: { code: 'out_of_memory' }, wait: { kind: 'retry' } });
  await wake(runId);
  await engine.execute(runId, never);
  expect(await database.query('select status from node_commands where run_id = $1', [runId])).toEqual([
    { status: 'succeeded' },
  ]);
  expect(await stepOf(runId)).toMatchObject({ status: 'succeeded', attempts: 2 });
});

test('an agent whose acting command was interrupted fails, and sends the command no second time', async () => {
  const nodeId = newId();
  await database.query(
    `insert into nodes (id, tenant_id, name, allow_system, allow_browser, paired_at, last_seen_at, online) values ($1, $2, 'interrupted', false, true, now(), now(), true)`,
    [nodeId, tenantId],
  );
  const runId = await accept();
  const navigate = `TOOL_CALL:browser.navigate|${JSON.stringify({ nodeId, url: 'https://example.org/pay' })}`;
  const engine = engineOf(nodeSkills(), [navigate, navigate]);
  await engine.execute(runId, never);
  await database.query(
    `update node_commands set status = 'failed', error = '{"code":"interrupted","message":"It was ended after 2.0 s."}', finished_at = now() where run_id = $1`,
    [runId],
  );
  await wake(runId);
  await engine.execute(runId, never);
  expect(await database.query('select status from node_commands where run_id = $1', [runId])).toHaveLength(1);
  expect(await stepOf(runId)).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'interrupted' } });
});

test('a once tool whose result could not be written is in doubt for the next try, and not carried out again', async () => {
  const { seen, skill } = countingSkill();
  const runId = await accept();
  await database.query(
    `create function fail_receipt() returns trigger language plpgsql as $f$ begin if new.receipt_at is not null then raise exception 'no' using errcode = '53200'; end if; return new; end $f$`,
  );
  await database.query(
    'create trigger fail_receipt before update on effects for each row execute function fail_receipt()',
  );
  const engine = engineOf([skill], ['TOOL_CALL:test.once|{}']);
  await engine.execute(runId, never);
  await database.query('drop trigger fail_receipt on effects');
  await wake(runId);
  await engine.execute(runId, never);
  expect(seen.calls).toBe(1);
  expect(await stepOf(runId)).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' } });
});

test('a once tool of a worker that died is in doubt, also after a try that failed before it reached the tool', async () => {
  const { seen, skill } = countingSkill();
  seen.hangs = true;
  const runId = await accept();
  const answers = ['TOOL_CALL:test.large|{}', 'TOOL_CALL:test.once|{}'];
  const died = new AbortController();
  const first = engineOf([large, skill], answers)
    .execute(runId, died.signal)
    .catch(() => undefined);
  await until(
    () => seen.calls === 1,
    () => 'the tool was not called',
  );
  seen.hangs = false;
  await database.query('update runs set fence = fence + 1, lease_expires_at = null, wake_at = now() where id = $1', [
    runId,
  ]);
  died.abort(new Error('gone'));
  await first;
  const memory = newMemory();
  const second = engineOf([large, skill], answers, memory);
  {
    using _full = fill(memory);
    await second.execute(runId, never);
  }
  expect(await stepOf(runId)).toMatchObject({ error: { code: 'out_of_memory' } });
  await delay(10);
  await wake(runId);
  await second.execute(runId, never);
  expect(seen.calls).toBe(1);
  expect(await stepOf(runId)).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' } });
});
