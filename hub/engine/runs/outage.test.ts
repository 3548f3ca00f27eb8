import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { entitlementNames } from '../../../shared/contract/define.ts';
import { AppError } from '../../../shared/errors.ts';
import { acceptManualRun } from '../../../test/fixtures/accepted-run.ts';
import { executeRun } from '../../../test/fixtures/claim-run.ts';
import { enginePorts } from '../../../test/fixtures/engine.ts';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { testSecrets } from '../../../test/fixtures/secrets.ts';
import { createCursors } from '../../platform/cursor.ts';
import { Database } from '../../platform/db/database.ts';
import { createEgress } from '../../platform/egress/egress.ts';
import { PostgresEvents } from '../../platform/events/postgres-events.ts';
import { newId } from '../../platform/ids.ts';
import { createSecrets } from '../../platform/secrets/secrets.ts';
import { Channels } from '../../products/automations/channels/index.ts';
import { channelSkills } from '../../products/automations/channels/skills.ts';
import { Email } from '../../products/automations/email/index.ts';
import { WorkspaceLimits } from '../../products/core/limits/index.ts';
import { wakeRun } from '../index.ts';
import { LeaseWatch } from '../queue/sweeper.ts';
import { defineSkill } from '../skill.ts';
import type { Skill } from '../skill.ts';
import { Engine } from './engine.ts';
import type { EngineDependencies } from './run-context.ts';

const logger = pino({ level: 'silent' });
const never = new AbortController().signal;
const tenantId = newId();
let database: TestDatabase;
let db: Database;
let events: PostgresEvents;

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({
    url: database.url,
    maxConnections: 8,
    applicationName: 'test',
    onError: () => undefined,
    lockTimeoutMs: 200,
    queryTimeoutMs: 10_000,
  });
  events = await PostgresEvents.connect(database.url, testSecrets, logger);
  db.onPublished((topic, payload) => events.publish(topic, payload));
  const entitlements = Object.fromEntries(entitlementNames.map((name) => [name, true]));
  await database.query('insert into tenants (id, name, entitlements) values ($1, $2, $3)', [
    tenantId,
    'outage',
    JSON.stringify(entitlements),
  ]);
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
    ...enginePorts(db),
    logger,
    ...more,
  });
}

async function accept(steps: object[]): Promise<string> {
  const workflowId = newId();
  await database.query(
    `insert into workflows (id, tenant_id, name, active, version, trigger, steps) values ($1, $2, 'w', true, 1, '{"type":"manual","schemaVersion":1}', $3)`,
    [workflowId, tenantId, JSON.stringify(steps)],
  );
  await database.query(
    `insert into workflow_versions (workflow_id, version, tenant_id, name, steps) values ($1, 1, $2, 'w', $3)`,
    [workflowId, tenantId, JSON.stringify(steps)],
  );
  return acceptManualRun(db, { tenantId, workflowId });
}

interface State {
  status: string;
  error: { code: string; message: string } | null;
  lost_leases: number;
  wake_at: Date | null;
  holder_id: string | null;
}
const stateOf = async (runId: string) =>
  (
    await database.query<State>('select status, error, lost_leases, wake_at, holder_id from runs where id = $1', [
      runId,
    ])
  )[0];
const call = (skillId: string) => ({ type: 'skill', skillId, input: {} });
const facts = { title: '', summary: '', requires: [] as [], input: z.strictObject({}), output: z.unknown() };

/** A table that nobody may write to until the lock is let go, as while an index is built on it the plain way. */
async function lockTable(table: string, mode: 'SHARE' | 'ACCESS EXCLUSIVE' = 'SHARE'): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table} IN ${mode} MODE`);
  return async () => {
    await client.query('ROLLBACK');
    await client.end();
  };
}

const blockedBy = async (table: string) =>
  (
    await database.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`,
      [`%${table}%`],
    )
  ).length;
const blockedWrites = () => blockedBy('run_steps');

test.each(['pure', 'keyed', 'once'] as const)(
  'the outcome of a step whose effect is %s is written when the database is available again, and the step is not repeated',
  async (effect) => {
    let calls = 0;
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
        return {
          output: 'done',
          persist: async (tx) => {
            await tx.query(
              'log_outcome',
              `INSERT INTO run_logs (id, tenant_id, run_id, step_index, workflow_id, level, message) SELECT gen_random_uuid(), tenant_id, id, 0, workflow_id, 'info', 'done' FROM runs WHERE id = $1`,
              [runId],
            );
          },
        };
      },
    });
    const runId = await accept([call(skill.id)]);
    const execution = executeRun(engineWith(skill), db, runId, never);
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
    expect(await stateOf(runId)).toMatchObject({
      status: 'succeeded',
      error: null,
      lost_leases: 0,
      holder_id: null,
    });
    expect(calls).toBe(1);
    expect(await database.query('select message from run_logs where run_id = $1', [runId])).toEqual([
      { message: 'done' },
    ]);
  },
);

test('an outcome is discarded if another worker has claimed the run', async () => {
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
  const execution = executeRun(engineWith(skill), db, runId, never);
  await reached.promise;
  const unlock = await lockTable('run_steps');
  go.resolve();
  await expect.poll(blockedWrites).toBe(1);
  await expect.poll(blockedWrites).toBe(0);
  await expect
    .poll(
      async () =>
        (await database.query('UPDATE runs SET fence = fence + 1 WHERE id = $1 RETURNING id', [runId])).length,
    )
    .toBe(1);
  await unlock();
  await execution;
  expect(await stateOf(runId)).toMatchObject({ status: 'running' });
  expect(await database.query('SELECT 1 FROM run_steps WHERE run_id = $1', [runId])).toEqual([]);
});

test.each(['pure', 'keyed', 'once'] as const)(
  'a run whose written steps a crash of the database undid continues at the first of them, before a step whose effect is %s',
  async (effect) => {
    const calls: string[] = [];
    const paused = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const skills = [
      defineSkill({
        ...facts,
        id: 'test.writes',
        effect: 'pure',
        execute: async (_input, { stepIndex }) => {
          calls.push(`writes ${stepIndex}`);
          return {
            output: 'done',
            persist: async (tx) => {
              await tx.query(
                'log_step',
                `INSERT INTO run_logs (id, tenant_id, run_id, step_index, workflow_id, level, message) SELECT gen_random_uuid(), tenant_id, id, $2::int, workflow_id, 'info', 'step ' || $2::int FROM runs WHERE id = $1`,
                [runId, stepIndex],
              );
            },
          };
        },
      }),
      defineSkill({
        ...facts,
        id: 'test.pauses',
        effect: 'pure',
        execute: async () => {
          calls.push('pauses');
          paused.resolve();
          await go.promise;
          return { output: 'done' };
        },
      }),
      defineSkill({
        ...facts,
        id: 'test.last',
        effect,
        execute: async () => {
          calls.push('last');
          return { output: 'done' };
        },
      }),
    ];
    const engine = engineWith(skills[0] as Skill, {
      skills: { find: (id) => skills.find((skill) => skill.id === id), list: () => skills },
    });
    const runId = await accept(['test.writes', 'test.writes', 'test.pauses', 'test.last'].map(call));
    const execution = executeRun(engine, db, runId, never);
    await paused.promise;
    // The state after a crash that undoes the latest commits of the run.
    await database.query('UPDATE runs SET next_step = 1 WHERE id = $1', [runId]);
    await database.query('DELETE FROM run_steps WHERE run_id = $1 AND index > 0', [runId]);
    await database.query('DELETE FROM run_logs WHERE run_id = $1 AND step_index > 0', [runId]);
    go.resolve();
    await execution;
    // The run is released: an expired lease would delay it and count as a lost worker.
    expect(await stateOf(runId)).toMatchObject({ status: 'running', holder_id: null, lost_leases: 0 });
    await executeRun(engine, db, runId, never);
    expect(await stateOf(runId)).toMatchObject({ status: 'succeeded', error: null });
    expect(await database.query('select index from run_steps where run_id = $1 order by index', [runId])).toEqual(
      [0, 1, 2, 3].map((index) => ({ index })),
    );
    expect(await database.query('select message from run_logs where run_id = $1 order by 1', [runId])).toEqual([
      { message: 'step 0' },
      { message: 'step 1' },
    ]);
    // Effects outside the platform happen once. Steps that were undone are repeated.
    const isRepeatable = effect === 'pure';
    expect(calls.filter((name) => name === 'last').length).toBe(isRepeatable ? 2 : 1);
    expect(calls.filter((name) => name === 'writes 0').length).toBe(1);
    expect(calls.filter((name) => name === 'writes 1').length).toBe(2);
  },
);

test('a skill whose rows cannot be stored fails its step immediately, and nothing of it is written', async () => {
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
  await executeRun(engineWith(skill), db, runId, never);
  expect(await stateOf(runId)).toMatchObject({
    status: 'failed',
    lost_leases: 0,
    error: { code: 'memory_full', message: 'This workspace remembers too much.' },
  });
  expect(await database.query('SELECT context FROM runs WHERE id = $1', [runId])).toEqual([{ context: null }]);
});

test('a run that is woken between its check and its wait continues immediately', async () => {
  const skill: Skill = { ...facts, kind: 'spawn', id: 'test.spawn', input: z.object({ workflowId: z.string() }) };
  const childId = await accept([{ type: 'log', message: 'x' }]);
  const startChild: EngineDependencies['startChild'] = async () => ({ runId: childId });
  const runId = await accept([{ type: 'skill', skillId: skill.id, input: { workflowId: newId() } }]);
  await executeRun(engineWith(skill, { startChild }), db, runId, never);
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
          await database.query(
            `UPDATE runs SET status = 'succeeded', finished_at = now(), wake_at = NULL WHERE id = $1`,
            [childId],
          );
          await db.workspace(tenantId, (tx) => wakeRun(tx, runId));
        }
        return answer;
      };
    },
  });
  const woken: string[] = [];
  db.onDue((tenantIds) => woken.push(...tenantIds));
  await executeRun(
    engineWith(skill, {
      startChild,
      db: watched,
    }),
    db,
    runId,
    never,
  );
  expect(hasLooked).toBe(true);
  expect(woken).toEqual([tenantId, tenantId]);
  await executeRun(engineWith(skill, { startChild }), db, runId, never);
  expect(await stateOf(runId)).toMatchObject({ status: 'succeeded' });
});

test('leases are ended only by a process that has reached the database for as long as other processes need to renew theirs', () => {
  let now = 0;
  const watch = new LeaseWatch({ monotonic: () => now, wall: () => now });
  expect(watch.mayEnd()).toBe(false);
  const look = (at: number) => {
    now = at;
    const mayEnd = watch.mayEnd();
    watch.looked();
    return mayEnd;
  };
  const everyThree = (from: number) => Array.from({ length: 7 }, (_value, index) => look(from + index * 3_000));
  const afterGrace = [false, false, false, false, false, true, true];
  expect(everyThree(0)).toEqual(afterGrace);
  // A look that waits for the database begins the time when it succeeds.
  now = 40_000;
  expect(watch.mayEnd()).toBe(false);
  now = 48_000;
  watch.looked();
  expect(everyThree(48_000)).toEqual(afterGrace);
  // A minute without the database.
  expect(everyThree(126_000)).toEqual(afterGrace);
});

test.each([
  ['set back by an hour', -3_600_000, true],
  ['set forward by an hour, as after the machine slept', 3_600_000, false],
])('leases: a clock %s keeps leases from being ended for one renewal at most', (_what, stepMs, endsImmediately) => {
  let monotonic = 0;
  let wall = 1_000_000_000;
  const watch = new LeaseWatch({ monotonic: () => monotonic, wall: () => wall });
  const look = () => {
    monotonic += 3_000;
    wall += 3_000;
    const mayEnd = watch.mayEnd();
    watch.looked();
    return mayEnd;
  };
  const afterGrace = [false, false, false, false, false, true, true];
  expect(Array.from({ length: 7 }, look)).toEqual(afterGrace);
  wall += stepMs;
  expect(Array.from({ length: 7 }, look)).toEqual(endsImmediately ? Array(7).fill(true) : afterGrace);
});

/** A channel to a receiver, and the skill that sends through it. */
async function channelTo(answer: (response: ServerResponse) => void) {
  let calls = 0;
  const receiver = createServer((_request, response) => {
    calls += 1;
    answer(response);
  });
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  onTestFinished(() => void receiver.close());
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const egress = createEgress({ allowHosts: [host] });
  onTestFinished(() => egress[Symbol.asyncDispose]());
  const parts = { db, secrets: createSecrets(Buffer.alloc(32)), egress, email: new Email({ db, mailer: null }) };
  // Nothing comes in through this channel, so that what starts runs of it is never asked.
  const channels = new Channels({
    ...parts,
    cursors: createCursors(Buffer.alloc(32)),
    limits: new WorkspaceLimits(),
  } as ConstructorParameters<typeof Channels>[0]);
  const { id } = await channels.put(
    tenantId,
    {
      provider: 'webhook',
      name: 'w',
      active: true,
      config: { inboundSecret: 'a secret of its own', url: `http://${host}/` },
    },
    'test',
    null,
  );
  const skill = channelSkills(channels)[0] as Skill;
  return {
    skill,
    step: { type: 'skill', skillId: skill.id, input: { channelId: id, to: 'you', text: 'hello' } },
    calls: () => calls,
  };
}

const effectsOf = (runId: string) =>
  database.query('SELECT receipt_at IS NOT NULL AS done FROM effects WHERE run_id = $1', [runId]);

test('a message whose channel cannot be read is sent when the database is available again', async () => {
  const { skill, step, calls } = await channelTo((response) => response.end('{}'));
  const runId = await accept([step]);
  const unlock = await lockTable('channels', 'ACCESS EXCLUSIVE');
  const execution = executeRun(engineWith(skill), db, runId, never);
  await expect.poll(() => blockedBy('channels')).toBe(1);
  await expect.poll(() => blockedBy('channels')).toBe(0);
  await expect.poll(() => blockedBy('channels')).toBe(1);
  expect(await effectsOf(runId)).toEqual([]);
  await unlock();
  await execution;
  expect(await stateOf(runId)).toMatchObject({ status: 'succeeded', error: null });
  expect(calls()).toBe(1);
  expect(await effectsOf(runId)).toEqual([{ done: true }]);
});

test('a message that its receiver refused is recorded as refused after an outage of the database', async () => {
  const reached = Promise.withResolvers<ServerResponse>();
  const { skill, step, calls } = await channelTo(reached.resolve);
  const runId = await accept([step]);
  const execution = executeRun(engineWith(skill), db, runId, never);
  const response = await reached.promise;
  const unlock = await lockTable('messages');
  response.writeHead(400).end('{}');
  await expect.poll(() => blockedBy('messages')).toBe(1);
  await expect.poll(() => blockedBy('messages')).toBe(0);
  await expect.poll(() => blockedBy('messages')).toBe(1);
  await unlock();
  await execution;
  expect(await stateOf(runId)).toMatchObject({ status: 'failed', error: { code: 'delivery_refused' } });
  expect(calls()).toBe(1);
  expect(await database.query('SELECT status FROM messages WHERE run_id = $1', [runId])).toEqual([
    { status: 'failed' },
  ]);
});
