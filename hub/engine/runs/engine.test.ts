import { pino } from 'pino';
import type { Logger } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { entitlementNames } from '../../../shared/contract/define.ts';
import { AppError } from '../../../shared/errors.ts';
import { acceptManualRun } from '../../../test/fixtures/accepted-run.ts';
import { claimRun, executeRun } from '../../../test/fixtures/claim-run.ts';
import { enginePorts } from '../../../test/fixtures/engine.ts';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { testSecrets } from '../../../test/fixtures/secrets.ts';
import { holdElsewhere, loseWorkerOf } from '../../../test/fixtures/worker-leases.ts';
import { Database } from '../../platform/db/database.ts';
import { PostgresEvents } from '../../platform/events/postgres-events.ts';
import { newId } from '../../platform/ids.ts';
import { LeaseLost } from '../failure.ts';
import { claimDueRuns, listDueWorkspaces, VersionSteps } from '../queue/claim-runs.ts';
import type { ClaimedOfWorkspace } from '../queue/claim-runs.ts';
import { repairRuns } from '../queue/sweeper.ts';
import { findLost } from '../queue/worker-lease.ts';
import { defineSkill } from '../skill.ts';
import type { DirectSkill } from '../skill.ts';
import { Engine } from './engine.ts';
import { releaseRun, suspendRun } from './store.ts';
import type { ClaimedRun } from './store.ts';

const logger = pino({ level: 'silent' });
let database: TestDatabase;
let db: Database;
let events: PostgresEvents;
const tenantId = newId();

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 8, applicationName: 'test', onError: () => undefined });
  events = await PostgresEvents.connect(database.url, testSecrets, logger);
  db.onPublished((topic, payload) => events.publish(topic, payload));
  const entitlements = Object.fromEntries(entitlementNames.map((name) => [name, true]));
  await database.query('insert into tenants (id, name, entitlements) values ($1, $2, $3)', [
    tenantId,
    'engine',
    JSON.stringify(entitlements),
  ]);
});
afterAll(async () => {
  await events[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

function engineWith(
  skill: DirectSkill,
  options: { validateOutputs?: boolean; db?: Database; logger?: Logger } = {},
): Engine {
  return new Engine({
    db,
    events,
    skills: { find: (id) => (id === skill.id ? skill : undefined), list: () => [skill] },
    ...enginePorts(options.db ?? db),
    logger,
    ...options,
  });
}

const accept = (...skillIds: string[]): Promise<string> =>
  acceptSteps(skillIds.map((skillId) => ({ type: 'skill', skillId, input: {} })));

async function addWorkflow(workspaceId: string, workflowId: string, steps: object[] = []): Promise<void> {
  await database.query(
    `insert into workflows (id, tenant_id, name, active, version, trigger, steps) values ($1, $2, 'w', true, 1, '{"type":"manual","schemaVersion":1}', $3)`,
    [workflowId, workspaceId, JSON.stringify(steps)],
  );
  await database.query(
    `insert into workflow_versions (workflow_id, version, tenant_id, name, steps) values ($1, 1, $2, 'w', $3)`,
    [workflowId, workspaceId, JSON.stringify(steps)],
  );
}

async function acceptSteps(steps: object[]): Promise<string> {
  const workflowId = newId();
  await addWorkflow(tenantId, workflowId, steps);
  return acceptManualRun(db, { tenantId, workflowId });
}

const stateOf = async (runId: string) =>
  (
    await database.query<{
      status: string;
      error: { code: string } | null;
      lost_leases: number;
      wake_at: Date | null;
      holder_id: string | null;
    }>('select status, error, lost_leases, wake_at, holder_id from runs where id = $1', [runId])
  )[0];
const never = new AbortController().signal;
/** Whether the process of a claim still holds its run, as the renewal of its lease finds. */
const isHeld = async ({ id, fence, holder_id: holderId }: ClaimedRun) =>
  (await findLost(db, holderId, [{ runId: id, fence }])).length === 0;

/** A worker that dies in the middle of a step: it sends nothing more, and the lease of its process ends. */
async function dieIn(skill: DirectSkill, runId: string, reached: () => Promise<void>): Promise<void> {
  let isDead = false;
  const mortal = new Proxy(db, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return isDead ? () => new Promise(() => undefined) : (member.bind(target) as unknown);
    },
  });
  executeRun(engineWith(skill, { db: mortal }), db, runId, never).catch(() => undefined);
  await reached();
  isDead = true;
  await loseWorkerOf(database, runId);
  await repairRuns(db);
}

test.each([
  ['once', 'failed', 1],
  ['keyed', 'succeeded', 2],
  ['pure', 'succeeded', 2],
] as const)(
  'after a crash in a step whose effect is %s the run %s, and the skill was called %i times',
  async (effect, status, calls) => {
    const keys: string[] = [];
    const reached = Promise.withResolvers<void>();
    const skill = defineSkill({
      id: `test.${effect}`,
      title: '',
      summary: '',
      requires: [],
      effect,
      input: z.strictObject({}),
      output: z.unknown(),
      async execute(_input, { idempotencyKey }) {
        keys.push(idempotencyKey);
        if (keys.length === 1) {
          reached.resolve();
          await new Promise(() => undefined);
        }
        return { output: 'done' };
      },
    });
    const runId = await accept(skill.id);
    await dieIn(skill, runId, () => reached.promise);
    await executeRun(engineWith(skill), db, runId, never);
    expect(await stateOf(runId)).toMatchObject({
      status,
      error: effect === 'once' ? { code: 'outcome_unknown' } : null,
      wake_at: null,
      holder_id: null,
    });
    expect(keys.length).toBe(calls);
    expect(new Set(keys).size).toBe(1);
  },
);

test('all attempts of a step have the same idempotency key, also after a crash, and each attempt has its own row in the effects ledger', async () => {
  const keys: string[] = [];
  const reached = Promise.withResolvers<void>();
  const skill = defineSkill({
    id: 'test.tries',
    title: '',
    summary: '',
    requires: [],
    effect: 'keyed',
    input: z.strictObject({}),
    output: z.unknown(),
    async execute(_input, { idempotencyKey }) {
      keys.push(idempotencyKey);
      if (keys.length <= 2) throw new AppError('skill_failed', 'The answer was lost.');
      if (keys.length === 3) {
        reached.resolve();
        await new Promise(() => undefined);
      }
      return { output: 'done' };
    },
  });
  const step = { type: 'skill', skillId: skill.id, input: {} };
  const retry = { maxAttempts: 3, backoffSeconds: 0, factor: 1 };
  const runId = await acceptSteps([{ ...step, retry }, step]);
  await executeRun(engineWith(skill), db, runId, never);
  await executeRun(engineWith(skill), db, runId, never);
  await dieIn(skill, runId, () => reached.promise);
  await executeRun(engineWith(skill), db, runId, never);
  expect(await stateOf(runId)).toMatchObject({ status: 'succeeded' });
  expect(keys).toEqual([keys[0], keys[0], keys[0], keys[0], keys[4]]);
  expect(keys[4]).not.toBe(keys[0]);
  expect(
    await database.query(
      'select step_index, attempt, receipt_at is not null as done from effects where run_id = $1 order by step_index, attempt',
      [runId],
    ),
  ).toEqual([
    { step_index: 0, attempt: 1, done: false },
    { step_index: 0, attempt: 2, done: false },
    { step_index: 0, attempt: 3, done: true },
    { step_index: 1, attempt: 1, done: true },
  ]);
});

test('a call of a worker that crashes before the intent is written is made by the next worker', async () => {
  const reached = Promise.withResolvers<void>();
  let looks = 0;
  let calls = 0;
  const skill = defineSkill({
    id: 'test.lookup',
    title: '',
    summary: '',
    requires: [],
    effect: 'once',
    input: z.strictObject({}),
    output: z.unknown(),
    async lookUp() {
      looks += 1;
      if (looks === 1) {
        reached.resolve();
        await new Promise(() => undefined);
      }
      return `look ${looks}`;
    },
    async execute(_input, _context, found) {
      calls += 1;
      return { output: found };
    },
  });
  const runId = await accept(skill.id);
  await dieIn(skill, runId, () => reached.promise);
  await executeRun(engineWith(skill), db, runId, never);
  expect(await stateOf(runId)).toMatchObject({ status: 'succeeded', error: null });
  expect(calls).toBe(1);
  expect(await database.query('select output from run_steps where run_id = $1', [runId])).toEqual([
    { output: 'look 2' },
  ]);
});

test('a once call that fails unexpectedly after its intent is not repeated automatically', async () => {
  let calls = 0;
  const skill = defineSkill({
    id: 'test.broken',
    title: '',
    summary: '',
    requires: [],
    effect: 'once',
    retry: { maxAttempts: 3, backoffSeconds: 0, factor: 1 },
    input: z.strictObject({}),
    output: z.unknown(),
    async execute() {
      calls += 1;
      throw new TypeError('what nobody foresaw');
    },
  });
  const runId = await accept(skill.id);
  await executeRun(engineWith(skill), db, runId, never);
  expect(await stateOf(runId)).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' } });
  expect(calls).toBe(1);
});

test('a run that crashes its workers repeatedly fails, and other runs continue', async () => {
  const skill = defineSkill({
    id: 'test.poison',
    title: '',
    summary: '',
    requires: [],
    effect: 'pure',
    input: z.strictObject({}),
    output: z.unknown(),
    execute: () => new Promise(() => undefined),
  });
  const runId = await accept(skill.id);
  const pauses: number[] = [];
  for (let death = 0; death < 5; death += 1) {
    await dieIn(skill, runId, async () => {
      await expect.poll(async () => (await stateOf(runId))?.holder_id).not.toBeNull();
    });
    const left = await stateOf(runId);
    expect(left).toMatchObject({ lost_leases: death + 1 });
    // The first worker is replaced at once, the others ever later.
    pauses.push(Math.round(((left?.wake_at?.getTime() ?? 0) - Date.now()) / 1000));
    await database.query('update runs set wake_at = now() where id = $1', [runId]);
  }
  expect(pauses[0]).toBeLessThanOrEqual(0);
  expect(pauses.slice(1)).toEqual(pauses.slice(1).toSorted((a, b) => a - b));
  expect(pauses.at(-1)).toBeGreaterThan(30);
  await executeRun(engineWith(skill), db, runId, never);
  expect(await stateOf(runId)).toMatchObject({ status: 'failed', error: { code: 'worker_lost' } });
});

test('a due run is found without its wake-up, and a run that is held, not due or ended is not found', async () => {
  const skill = defineSkill({
    id: 'test.simple',
    title: '',
    summary: '',
    requires: [],
    effect: 'pure',
    input: z.strictObject({}),
    output: z.unknown(),
    execute: async () => ({ output: null }),
  });
  const runId = await accept(skill.id);
  // Earlier tests leave runs.
  await database.query('update runs set wake_at = null where id <> $1', [runId]);
  const found = async () =>
    (await listDueWorkspaces(db, null)).workspaces.flatMap(({ tenantId: id, inMs }) =>
      id === tenantId && inMs <= 0 ? [id] : [],
    );
  expect(await found()).toEqual([tenantId]);
  // To queue is no loss: nothing is written for it.
  expect(await repairRuns(db)).not.toContain(runId);
  await database.query("update runs set wake_at = now() + interval '1 minute' where id = $1", [runId]);
  expect(await found()).toEqual([]);
  await database.query("update runs set wake_at = now() - interval '1 minute' where id = $1", [runId]);
  await holdElsewhere(database, runId);
  expect(await found()).toEqual([]);
  expect(await repairRuns(db)).not.toContain(runId);
  await database.query('update runs set holder_id = null where id = $1', [runId]);
  await executeRun(engineWith(skill), db, runId, never);
  expect(await found()).toEqual([]);
});

test('a claim takes the runs of each workspace that waited longest, and two processes never claim the same run', async () => {
  const tenants = Array.from({ length: 3 }, () => newId());
  for (const id of tenants) {
    await database.query('insert into tenants (id, name, entitlements) values ($1::uuid, $1::text, $2)', [id, '{}']);
    await addWorkflow(id, id);
  }
  const counts = [500, 3, 1];
  for (const [index, id] of tenants.entries()) {
    await database.query(
      `insert into runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, wake_at, queued_at)
       select gen_random_uuid(), $1::uuid, $1::uuid, 1, $1::uuid, 'queued', jsonb_build_object('type', 'manual', 'n', n), 'live', 1, now() - make_interval(secs => n), now() from generate_series(1, $2) n`,
      [id, counts[index]],
    );
  }
  const { workspaces, upTo } = await listDueWorkspaces(db, null);
  expect(upTo).toBeNull();
  for (const id of tenants) expect(workspaces.find(({ tenantId: own }) => own === id)?.inMs).toBeLessThan(0);
  const asked = tenants.map((id) => ({ tenantId: id, most: 20, onlyRecent: false }));
  const claims = await Promise.all([claimDueRuns(db, asked, newId()), claimDueRuns(db, asked, newId())]);
  const claimed = claims.map((claim) => claim.map(({ runs }) => runs.map(({ trigger }) => Number(trigger['n']))));
  const ofFirst = claimed.flatMap(([first]) => first ?? []).toSorted((a, b) => b - a);
  expect(ofFirst).toEqual(Array.from({ length: 40 }, (_value, index) => 500 - index));
  expect(claimed.flatMap(([, second]) => second ?? []).toSorted()).toEqual([1, 2, 3]);
  expect(claimed.flatMap(([, , third]) => third ?? [])).toEqual([1]);
  for (const [first] of claims) expect(first).toMatchObject({ hasMore: true, isLocked: false, nextInMs: null });
  await database.query('delete from runs where tenant_id = any($1)', [tenants]);
});

test('a claim after a wake-up skips runs that have been due for more than a minute, and the list finds them', async () => {
  await database.query('update runs set wake_at = null');
  const [old, recent] = [await accept('test.none'), await accept('test.none')];
  await database.query("update runs set wake_at = now() - interval '2 minutes' where id = $1", [old]);
  const claim = async (onlyRecent: boolean) => {
    const [claimed] = (await claimDueRuns(db, [{ tenantId, most: 5, onlyRecent }], newId())) as [ClaimedOfWorkspace];
    return claimed.runs.map(({ id }) => id);
  };
  expect(await claim(true)).toEqual([recent]);
  expect(await claim(false)).toEqual([old]);
});

test('the release of a run wakes workers if it becomes due within a second', async () => {
  const woken: string[] = [];
  db.onDue((tenantIds) => woken.push(...tenantIds));
  for (const seconds of [0.2, 60]) {
    const claimed = (await claimRun(db, await accept('test.none'))) as ClaimedRun;
    woken.splice(0);
    await db.workspace(tenantId, (tx) =>
      releaseRun(tx, { runId: claimed.id, fence: claimed.fence }, tenantId, seconds),
    );
    expect(woken).toEqual(seconds < 1 ? [tenantId] : []);
  }
});

test('the execution of a run publishes no event to other processes', async () => {
  const skill = defineSkill({
    id: 'test.quiet',
    title: '',
    summary: '',
    requires: [],
    effect: 'keyed',
    input: z.strictObject({}),
    output: z.unknown(),
    execute: async () => ({ output: null }),
  });
  const runId = await accept(skill.id);
  const published: string[] = [];
  db.onPublished((topic) => published.push(topic));
  await executeRun(engineWith(skill), db, runId, never);
  db.onPublished((topic, payload) => events.publish(topic, payload));
  expect(await stateOf(runId)).toMatchObject({ status: 'succeeded' });
  expect(published).toEqual([]);
});

test('a claim returns when the next run becomes due', async () => {
  const runId = await accept('test.none');
  await database.query("update runs set wake_at = case when id = $1 then now() + interval '30 seconds' end", [runId]);
  const [{ runs, hasMore, nextInMs }] = (await claimDueRuns(
    db,
    [{ tenantId, most: 5, onlyRecent: false }],
    newId(),
  )) as [ClaimedOfWorkspace];
  expect([runs, hasMore]).toEqual([[], false]);
  expect(nextInMs).toBeGreaterThan(0);
  expect(nextInMs).toBeLessThanOrEqual(30_001);
});

test('two workers that claim the same run do not both execute it', async () => {
  let calls = 0;
  const skill = defineSkill({
    id: 'test.twice',
    title: '',
    summary: '',
    requires: [],
    effect: 'pure',
    input: z.strictObject({}),
    output: z.unknown(),
    async execute() {
      calls += 1;
      await new Promise((done) => setTimeout(done, 100));
      return { output: null };
    },
  });
  const runId = await accept(skill.id);
  await Promise.all(Array.from({ length: 5 }, () => executeRun(engineWith(skill), db, runId, never)));
  expect(calls).toBe(1);
  expect(await stateOf(runId)).toMatchObject({ status: 'succeeded' });
});

test.each([
  [
    'waits',
    (claimed: ClaimedRun) =>
      db.workspace(tenantId, (tx) =>
        suspendRun(tx, { runId: claimed.id, fence: claimed.fence }, claimed, {
          step: 0,
          status: 'running',
          wakeInSeconds: 60,
        }),
      ),
  ],
  [
    'was given back',
    (claimed: ClaimedRun) =>
      db.workspace(tenantId, (tx) => releaseRun(tx, { runId: claimed.id, fence: claimed.fence }, tenantId, 60)),
  ],
] as const)(
  'a process that checks its runs late does not hold a run again that %s, with or without an ended lease',
  async (_how, letGo) => {
    for (const wasLost of [false, true]) {
      const claimed = (await claimRun(db, await accept('test.none'))) as ClaimedRun;
      if (wasLost) {
        await loseWorkerOf(database, claimed.id);
        await repairRuns(db);
      }
      expect(await isHeld(claimed)).toBe(true);
      await letGo(claimed);
      expect(await isHeld(claimed)).toBe(false);
      expect(await stateOf(claimed.id)).toMatchObject({ holder_id: null });
    }
  },
);

test('a process holds a claimed run that has not started', async () => {
  const runId = await accept('test.none');
  await database.query(
    `update workflows set limits = '{"maxConcurrentRuns":1,"onLimit":"queue"}' where id = (select workflow_id from runs where id = $1)`,
    [runId],
  );
  const claimed = (await claimRun(db, runId)) as ClaimedRun;
  expect(claimed.started_at).toBeNull();
  expect(await isHeld(claimed)).toBe(true);
});

test('a run is freed again after any number of lost workers', async () => {
  const claimed = (await claimRun(db, await accept('test.none'))) as ClaimedRun;
  await database.query('update runs set lost_leases = 10000 where id = $1', [claimed.id]);
  await loseWorkerOf(database, claimed.id);
  await repairRuns(db);
  expect(await stateOf(claimed.id)).toMatchObject({ holder_id: null, lost_leases: 10_001 });
});

test('a process whose lease had ended holds a run again that no other process has claimed', async () => {
  const claimed = (await claimRun(db, await accept('test.none'))) as ClaimedRun;
  await loseWorkerOf(database, claimed.id);
  await repairRuns(db);
  expect(await stateOf(claimed.id)).toMatchObject({ holder_id: null, lost_leases: 1 });
  expect(await isHeld(claimed)).toBe(true);
  expect(await stateOf(claimed.id)).toMatchObject({ holder_id: claimed.holder_id });
});

test.each([
  [true, 'failed'],
  [false, 'succeeded'],
])('an output that is not what its skill promises, checked: %s, leaves the run %s', async (validateOutputs, status) => {
  const skill = defineSkill({
    id: 'test.promise',
    title: '',
    summary: '',
    requires: [],
    effect: 'pure',
    input: z.strictObject({}),
    output: z.object({ count: z.int() }),
    execute: async () => ({ output: { count: 'many' } }),
  });
  const runId = await accept(skill.id);
  await executeRun(engineWith(skill, { validateOutputs }), db, runId, never);
  expect(await stateOf(runId)).toMatchObject({ status, error: status === 'failed' ? { code: 'internal' } : null });
});

test('a locked run does not delay claims of other runs, and is reported', async () => {
  await database.query('update runs set wake_at = null');
  const runIds = await Promise.all(Array.from({ length: 4 }, () => accept('test.none')));
  const [locked = '', cancelled = '', ...others] = runIds;
  await database.query("update runs set status = 'cancelled', finished_at = now(), wake_at = null where id = $1", [
    cancelled,
  ]);
  const letGo = Promise.withResolvers<void>();
  const isLocked = Promise.withResolvers<void>();
  const holding = db.workspace(tenantId, async (tx) => {
    await tx.query('lock_one', 'SELECT 1 FROM runs WHERE id = $1 FOR UPDATE', [locked]);
    isLocked.resolve();
    await letGo.promise;
  });
  await isLocked.promise;
  const claim = async () => {
    const [claimed] = (await claimDueRuns(db, [{ tenantId, most: 10, onlyRecent: false }], newId())) as [
      ClaimedOfWorkspace,
    ];
    return [claimed.runs.map(({ id }) => id).toSorted(), claimed.isLocked];
  };
  expect(await claim()).toEqual([others.toSorted(), true]);
  expect(await claim()).toEqual([[], true]);
  letGo.resolve();
  await holding;
  expect(await claim()).toEqual([[locked], false]);
  expect(await claim()).toEqual([[], false]);
});

test('large steps are read once for all runs of their version, and not with the claim', async () => {
  const runIds = [await accept('test.none'), await accept('test.none')];
  const steps = [{ type: 'log', message: 'x'.repeat(100_000) }];
  const [{ workflow_id: workflowId }] = (await database.query<{ workflow_id: string }>(
    'select workflow_id from runs where id = $1',
    [runIds[0]],
  )) as [{ workflow_id: string }];
  await database.query('update runs set workflow_id = $2 where id = $1', [runIds[1], workflowId]);
  await database.query('update workflow_versions set steps = $2 where workflow_id = $1', [
    workflowId,
    JSON.stringify(steps),
  ]);
  const read: string[] = [];
  const spied = new Proxy(db, {
    get: (target, name) =>
      name === 'systemStatement'
        ? (label: string, ...rest: [string, unknown[]]) => {
            read.push(label);
            return target.systemStatement(label, ...rest);
          }
        : ((Reflect.get(target, name) as (...args: unknown[]) => unknown).bind?.(target) ?? Reflect.get(target, name)),
  });
  const claimed = await Promise.all(runIds.map(async (id) => (await claimRun(db, id)) as ClaimedRun));
  expect(claimed.map((run) => run.steps)).toEqual([null, null]);
  const versions = new VersionSteps(spied);
  await Promise.all(claimed.map((run) => versions.complete(run)));
  expect(claimed.map((run) => run.steps)).toEqual([steps, steps]);
  expect(claimed[0]?.steps).toBe(claimed[1]?.steps);
  expect(read).toEqual(['read_large_steps']);
});

test('a run counts as executed while the steps of its version are read', async () => {
  const skill = defineSkill({
    id: 'test.reads-version',
    title: '',
    summary: '',
    requires: [],
    effect: 'pure',
    input: z.strictObject({}),
    output: z.unknown(),
    execute: async () => ({ output: null }),
  });
  const engine = engineWith(skill);
  const runId = await accept(skill.id);
  const run = (await claimRun(db, runId)) as ClaimedRun;
  const execution = engine.execute({ ...run, held_since: Number.POSITIVE_INFINITY }, never);
  expect(engine.executing.has({ runId, fence: run.fence })).toBe(true);
  await execution;
  expect(engine.executing.has({ runId, fence: run.fence })).toBe(false);
  expect((await stateOf(runId))?.status).toBe('succeeded');
});

test('the log of a lost run contains why it was lost, and no message of another error', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line) => lines.push(line) });
  const skill = defineSkill({
    id: 'test.loses-run',
    title: '',
    summary: '',
    requires: [],
    effect: 'pure',
    input: z.strictObject({}),
    output: z.unknown(),
    execute: async (_input, { runId }) => ({
      output: null,
      persist: async () => {
        engine.executing.lose({ runId, fence: run.fence }, new LeaseLost('another process has it'));
        throw new Error('a secret of the workspace');
      },
    }),
  });
  const engine = engineWith(skill, { logger: log });
  const runId = await accept(skill.id);
  const run = (await claimRun(db, runId)) as ClaimedRun;
  await engine.execute({ ...run, held_since: Number.POSITIVE_INFINITY }, never);
  expect(lines.join('')).toContain('another process has it');
  expect(lines.join('')).not.toContain('secret');
});

test('the fence token of a claim that a crash of the database undid is never used again', async () => {
  const runId = await accept('test.none');
  // What the server has after a crash: the row as it was before the claim.
  const lose = () =>
    database.query(`update runs set fence = $2, holder_id = null, status = 'queued', started_at = null where id = $1`, [
      runId,
      '0',
    ]);
  const first = (await claimRun(db, runId)) as ClaimedRun;
  await lose();
  const second = (await claimRun(db, runId)) as ClaimedRun;
  expect(second.fence).not.toBe(first.fence);
  expect([await isHeld(first), await isHeld(second)]).toEqual([false, true]);
});

test('a once call is made by one worker only, even if two workers believe that they hold the run, and does not delay other runs', async () => {
  const calls: string[] = [];
  const arrived = Promise.withResolvers<void>();
  let lookUps = 0;
  const skill = defineSkill({
    id: 'test.meeting',
    title: '',
    summary: '',
    requires: [],
    effect: 'once',
    input: z.strictObject({}),
    output: z.unknown(),
    async lookUp() {
      lookUps += 1;
      if (lookUps === 3) arrived.resolve();
      await arrived.promise;
    },
    async execute(_input, { runId }) {
      calls.push(runId);
      // The first call lasts until the other worker has either left the run or made the call, too.
      if (calls.filter((id) => id === runId).length > 1) isOver.resolve();
      if (runId === contested) await isOver.promise;
      return { output: null };
    },
  });
  const isOver = Promise.withResolvers<void>();
  const [contested, other] = [await accept(skill.id), await accept(skill.id)];
  const [locked, free] = (await Promise.all([claimRun(db, contested), claimRun(db, other)])) as [
    ClaimedRun,
    ClaimedRun,
  ];
  const [first, second] = [engineWith(skill), engineWith(skill)];
  const since = () => ({ held_since: Number.POSITIVE_INFINITY });
  await Promise.all([
    first.execute({ ...locked, ...since() }, never).finally(isOver.resolve),
    second.execute({ ...locked, ...since() }, never).finally(isOver.resolve),
    second.execute({ ...free, ...since() }, never),
  ]);
  expect(calls.toSorted()).toEqual([contested, other].toSorted());
  expect(await stateOf(other)).toMatchObject({ status: 'succeeded' });
});

test.each([
  ['an intent', null, 'The worker died while test.found was under way'],
  ['a receipt', new Date(), 'test.found was carried out for this call before'],
])(
  'a once call with %s of another worker is not made, and its step fails with outcome_unknown',
  async (_what, receiptAt, reason) => {
    let calls = 0;
    const skill = defineSkill({
      id: 'test.found',
      title: '',
      summary: '',
      requires: [],
      effect: 'once',
      input: z.strictObject({}),
      output: z.unknown(),
      async execute() {
        calls += 1;
        return { output: null };
      },
    });
    const runId = await accept(skill.id);
    await database.query(
      `insert into effects (run_id, step_index, attempt, call, tenant_id, skill_id, kind, declaration_id, receipt_at) values ($1, 0, 1, 0, $2, $3, 'once', $4, $5)`,
      [runId, tenantId, skill.id, newId(), receiptAt],
    );
    await executeRun(engineWith(skill), db, runId, never);
    expect(calls).toBe(0);
    expect(await stateOf(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'outcome_unknown', message: expect.stringContaining(reason) as string },
    });
  },
);

test('the intent of a call is committed before the call, without a slot, and its receipt before a slow next step ends', async () => {
  const gate = Promise.withResolvers<void>();
  const intents = () =>
    database.query<{ done: boolean }>('select receipt_at is not null as done from effects where run_id = $1', [runId]);
  const seen: unknown[] = [];
  const define = (id: string, effect: 'keyed' | 'pure', execute: () => Promise<void>) =>
    defineSkill({
      id,
      title: '',
      summary: '',
      requires: [],
      effect,
      waitsForThirdParty: effect === 'keyed',
      input: z.strictObject({}),
      output: z.unknown(),
      execute: async () => {
        await execute();
        return { output: null };
      },
    });
  const calling = define('test.calling', 'keyed', async () => void seen.push(['called', await intents()]));
  const slow = define('test.slow', 'pure', () => gate.promise);
  const runId = await accept(calling.id, slow.id);
  const skills = [calling, slow];
  const engine = new Engine({
    db,
    events,
    skills: { find: (id) => skills.find((skill) => skill.id === id), list: () => skills },
    ...enginePorts(db),
    logger,
  });
  const executing = executeRun(engine, db, runId, never, {
    outside: async (work) => {
      seen.push(['place given', await intents()]);
      return work();
    },
    release: () => undefined,
  });
  await expect.poll(intents).toEqual([{ done: true }]);
  expect(seen).toEqual([
    ['place given', []],
    ['called', [{ done: false }]],
  ]);
  const [run] = await database.query('select status, next_step from runs where id = $1', [runId]);
  expect(run).toEqual({ status: 'running', next_step: 1 });
  gate.resolve();
  await executing;
  expect(await database.query('select status from runs where id = $1', [runId])).toEqual([{ status: 'succeeded' }]);
});
