import { pino } from 'pino';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { entitlementNames } from '../../shared/contract/define.ts';
import { AppError } from '../../shared/errors.ts';
import { acquireDatabase } from '../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../test/fixtures/postgres.ts';
import { NodeCommands } from '../modules/nodes/index.ts';
import { acceptRun, wakeRun } from '../modules/runs/index.ts';
import { Database } from '../platform/db/database.ts';
import { PostgresEvents } from '../platform/events/postgres-events.ts';
import { newId } from '../platform/ids.ts';
import { defineSkill } from '../skills/define.ts';
import type { Skill } from '../skills/define.ts';
import { Engine } from './engine.ts';
import type { EngineDependencies } from './held-run.ts';
import { LeaseWatch } from './sweeper.ts';
import { unmarked } from './working-marks.ts';

const logger = pino({ level: 'silent' });
const never = new AbortController().signal;
const tenantId = newId();
let database: TestDatabase;
let db: Database;
let events: PostgresEvents;

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 8, applicationName: 'test', onError: () => undefined, lockTimeoutMs: 200, queryTimeoutMs: 1_000 });
  events = await PostgresEvents.connect(database.url, logger);
  const entitlements = Object.fromEntries(entitlementNames.map((name) => [name, true]));
  await database.query('insert into tenants (id, name, entitlements) values ($1, $2, $3)', [tenantId, 'outage', JSON.stringify(entitlements)]);
});
afterAll(async () => {
  await events[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

function engineWith(skill: Skill, more: Partial<EngineDependencies> = {}): Engine {
  return new Engine({
    db,
    events,
    skills: { find: (id) => (id === skill.id ? skill : undefined), list: () => [skill] },
    nodeCommands: new NodeCommands({ db, events, dispatch: () => undefined }),
    logger,
    dispatch: () => undefined,
    onFinished: () => undefined,
    startChild: () => Promise.reject(new Error('no child is started here')),
    generate: () => Promise.reject(new Error('no model is asked here')),
    findAgent: async () => null,
    findToolProfile: async () => null,
    mark: unmarked,
    ...more,
  });
}

async function accept(steps: object[]): Promise<string> {
  const workflowId = newId();
  await database.query(`insert into workflows (id, tenant_id, name, active, version, trigger, steps) values ($1, $2, 'w', true, 1, '{"type":"manual","schemaVersion":1}', $3)`, [workflowId, tenantId, JSON.stringify(steps)]);
  await database.query(`insert into workflow_versions (workflow_id, version, tenant_id, name, steps) values ($1, 1, $2, 'w', $3)`, [workflowId, tenantId, JSON.stringify(steps)]);
  const { runId } = await db.workspace(tenantId, (tx) => acceptRun(tx, { tenantId, workflowId, workflowVersion: 1, trigger: { type: 'manual' }, context: null, payload: null, environment: 'live' }));
  return runId;
}

interface State {
  status: string;
  error: { code: string; message: string } | null;
  lost_leases: number;
  wake_at: Date | null;
  lease_expires_at: Date | null;
}
const stateOf = async (runId: string) => (await database.query<State>('select status, error, lost_leases, wake_at, lease_expires_at from runs where id = $1', [runId]))[0];
const call = (skillId: string) => ({ type: 'skill', skillId, input: {} });
const facts = { title: '', summary: '', requires: [] as [], input: z.strictObject({}) };

/** A table that nobody may write to until the lock is let go, as while an index is built on it the plain way. */
async function lockTable(table: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
  return async () => {
    await client.query('ROLLBACK');
    await client.end();
  };
}

const blockedWrites = async () => (await database.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%run_steps%'`)).length;

test.each(['pure', 'keyed', 'once'] as const)('what became of a step whose effect is %s is written once the database takes it, and the step is not done again', async (effect) => {
  let calls = 0;
  let tries = 0;
  const reached = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const skill = defineSkill({
    ...facts,
    id: `test.${effect}`,
    effect,
    async execute() {
      calls += 1;
      reached.resolve();
      await go.promise;
      return { output: 'done', persist: async () => void (tries += 1) };
    },
  });
  const runId = await accept([call(skill.id)]);
  const execution = engineWith(skill).execute(runId, never);
  await reached.promise;
  const unlock = await lockTable('run_steps');
  go.resolve();
  // More than one try has found the table locked.
  await expect.poll(blockedWrites).toBe(1);
  await expect.poll(blockedWrites).toBe(0);
  await expect.poll(blockedWrites).toBe(1);
  expect(await stateOf(runId)).toMatchObject({ status: 'running', lost_leases: 0 });
  await unlock();
  await execution;
  expect(await stateOf(runId)).toMatchObject({ status: 'succeeded', error: null, lost_leases: 0, lease_expires_at: null });
  expect(calls).toBe(1);
  expect(tries).toBe(1);
});

test('an outcome is dropped when somebody else has taken the run meanwhile', async () => {
  const reached = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const skill = defineSkill({
    ...facts,
    id: 'test.overtaken',
    effect: 'pure',
    async execute() {
      reached.resolve();
      await go.promise;
      return { output: 'of the first' };
    },
  });
  const runId = await accept([call(skill.id)]);
  const execution = engineWith(skill).execute(runId, never);
  await reached.promise;
  const unlock = await lockTable('run_steps');
  go.resolve();
  await expect.poll(blockedWrites).toBe(1);
  await expect.poll(blockedWrites).toBe(0);
  await expect.poll(async () => (await database.query('UPDATE runs SET fence = fence + 1 WHERE id = $1 RETURNING id', [runId])).length).toBe(1);
  await unlock();
  await execution;
  expect(await stateOf(runId)).toMatchObject({ status: 'running' });
  expect(await database.query('SELECT 1 FROM run_steps WHERE run_id = $1', [runId])).toEqual([]);
});

test('what a skill writes with its step fails the step by name, at once and with nothing of it written', async () => {
  const skill = defineSkill({
    ...facts,
    id: 'test.full',
    effect: 'pure',
    execute: async (_input, context) => ({
      output: 'done',
      persist: async (tx) => {
        await tx.query('leave', `UPDATE runs SET context = 'left behind' WHERE id = $1`, [context.runId]);
        throw new AppError('memory_full', 'This workspace remembers too much.');
      },
    }),
  });
  const runId = await accept([call(skill.id)]);
  await engineWith(skill).execute(runId, never);
  expect(await stateOf(runId)).toMatchObject({ status: 'failed', lost_leases: 0, error: { code: 'memory_full', message: 'This workspace remembers too much.' } });
  expect(await database.query('SELECT context FROM runs WHERE id = $1', [runId])).toEqual([{ context: null }]);
});

test('a run that is woken between its look and its wait goes on at once', async () => {
  const skill: Skill = { ...facts, kind: 'spawn', id: 'test.spawn', input: z.object({ workflowId: z.string() }) };
  const childId = await accept([{ type: 'log', message: 'x' }]);
  const startChild: EngineDependencies['startChild'] = async () => ({ runId: childId, job: { outboxId: 0, job: 'run', jobId: 'child', data: { runId: childId, tenantId }, notBefore: null }, committed: () => undefined });
  const runId = await accept([{ type: 'skill', skillId: skill.id, input: { workflowId: newId() } }]);
  await engineWith(skill, { startChild }).execute(runId, never);
  // The run looks by itself, sees its child still under way, and is told of the end before it waits again.
  await database.query('UPDATE runs SET wake_at = now() WHERE id = $1', [runId]);
  let hasLooked = false;
  const watched = new Proxy(db, {
    get(target, name) {
      const member = Reflect.get(target, name, target) as unknown;
      if (typeof member !== 'function') return member;
      if (name !== 'workspace') return member.bind(target) as unknown;
      return async (...given: Parameters<Database['workspace']>) => {
        const answer = await target.workspace(...given);
        if (!hasLooked && (answer as { status?: string } | undefined)?.status === 'queued') {
          hasLooked = true;
          await database.query(`UPDATE runs SET status = 'succeeded', finished_at = now(), wake_at = NULL WHERE id = $1`, [childId]);
          await db.workspace(tenantId, (tx) => wakeRun(tx, runId));
        }
        return answer;
      };
    },
  });
  const promised: string[] = [];
  await engineWith(skill, { startChild, db: watched, dispatch: (jobs) => promised.push(...jobs.map((job) => job.jobId)) }).execute(runId, never);
  expect(hasLooked).toBe(true);
  expect(promised.length).toBe(1);
  await engineWith(skill, { startChild }).execute(runId, never);
  expect(await stateOf(runId)).toMatchObject({ status: 'succeeded' });
});

test('leases are ended only by whoever could see the database for as long as their holders need to renew them', () => {
  const watch = new LeaseWatch();
  expect(watch.mayEnd(0)).toBe(false);
  const look = (at: number) => {
    const mayEnd = watch.mayEnd(at);
    watch.looked(at);
    return mayEnd;
  };
  expect([0, 3_000, 6_000, 9_000, 12_000, 15_000].map(look)).toEqual([false, false, false, true, true, true]);
  // A minute without the database.
  expect([75_000, 78_000, 81_000, 84_000, 87_000].map(look)).toEqual([false, false, false, true, true]);
});
