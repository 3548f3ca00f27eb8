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
import { StatementRecorder } from '../../../test/fixtures/statement-plans.ts';
import { Database, DatabaseOutage } from '../../platform/db/database.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { PostgresEvents } from '../../platform/events/postgres-events.ts';
import { newId } from '../../platform/ids.ts';
import { logSkills } from '../../products/automations/logs/skills.ts';
import { WaitingPoll } from '../../products/nodes/commands/waiting-poll.ts';
import { NodeCommands, nodePort } from '../../products/nodes/index.ts';
import { nodeSkills } from '../../products/nodes/skills.ts';
import { acceptRun } from '../index.ts';
import { runTopic } from '../queue/wake-runs.ts';
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
  db = new Database({ url: database.url, maxConnections: 8, applicationName: 'test', onError: () => undefined });
  events = await PostgresEvents.connect(database.url, testSecrets, logger);
  db.onPublished((topic, payload) => events.publish(topic, payload));
  const entitlements = Object.fromEntries(entitlementNames.map((name) => [name, true]));
  await database.query('insert into tenants (id, name, entitlements) values ($1, $2, $3)', [
    tenantId,
    'lost answers',
    JSON.stringify(entitlements),
  ]);
});
afterAll(async () => {
  await events[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** The database, by a connection that breaks once: after the commit of the first transaction with a statement of that name, and before its answer. */
function breakingAfter(statement: string): { db: Database; broke: () => boolean; changedTopics: string[] } {
  let hasBroken = false;
  const changedTopics: string[] = [];
  const workspace: Database['workspace'] = async (tenant, work, ...options) => {
    using recorder = new StatementRecorder(1);
    // A process that hears of no commit has no effects of it either.
    const effects: (() => void)[] = [];
    const result = await db.workspace(
      tenant,
      (tx) => {
        effects.length = 0;
        tx.onCommit = (effect) => effects.push(effect);
        tx.publish = (topic, payload) => effects.push(() => events.publish(topic, payload));
        tx.changed = (topic) => effects.push(() => changedTopics.push(topic));
        return work(tx);
      },
      ...options,
    );
    if (hasBroken || !recorder.statements.some(({ name }) => name === statement)) {
      for (const effect of effects) effect();
      return result;
    }
    hasBroken = true;
    throw new DatabaseOutage('The database is out of reach.', new Error('Connection terminated unexpectedly'));
  };
  return { db: replacing(workspace), broke: () => hasBroken, changedTopics };
}

/**
 * The database, by a connection that breaks once: while the first transaction with a statement of that name commits. The transaction goes on, as
 * on a server whose disk is slow.
 */
function breakingWithin(statement: string): { db: Database; broke: () => boolean; settled: () => Promise<unknown> } {
  let first: Promise<unknown> | undefined;
  const workspace = ((tenant: string, work: (tx: Transaction) => Promise<unknown>, ...options: never[]) => {
    const broken = Promise.withResolvers<never>();
    const done = db.workspace(
      tenant,
      async (tx) => {
        using recorder = new StatementRecorder(1);
        const result = await work(tx);
        if (first !== undefined || !recorder.statements.some(({ name }) => name === statement)) return result;
        first = done;
        broken.reject(
          new DatabaseOutage('The database is out of reach.', new Error('Connection terminated unexpectedly')),
        );
        await delay(1_000);
        return result;
      },
      ...options,
    );
    return Promise.race([done, broken.promise]);
  }) as Database['workspace'];
  return { db: replacing(workspace), broke: () => first !== undefined, settled: () => first ?? Promise.resolve() };
}

/** The database with another way to begin a transaction of a workspace. */
const replacing = (workspace: Database['workspace']): Database =>
  new Proxy(db, {
    get(target, key) {
      if (key === 'workspace') return workspace;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

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
  const start = { trigger: { type: 'manual' }, context: null, payload: null, environment: 'live' as const };
  const accepted = await db.workspace(tenantId, (tx) =>
    acceptRun(tx, { tenantId, workflowId, workflowVersion: 1, ...start }),
  );
  return accepted.runId;
}

const engineOn = (breaking: Database, skills: readonly Skill[], more: Partial<EngineDependencies> = {}) =>
  new Engine({
    db: breaking,
    events,
    skills: { find: (id) => skills.find((skill) => skill.id === id), list: () => [...skills] },
    ...enginePorts(breaking),
    logger,
    ...more,
  });

const statusOf = async (runId: string) =>
  (await database.query<{ status: string }>('select status from runs where id = $1', [runId]))[0]?.status;

test.each(['write_intents', 'advance_all_runs'])(
  'a run whose connection breaks after a commit with %s and before its acknowledgement has each log line once and makes its call once',
  async (statement) => {
    let calls = 0;
    const calling = defineSkill({
      id: 'test.calling',
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
    const log = (message: string) => ({ type: 'log', message, level: 'info' });
    const runId = await accept([log('before'), { type: 'skill', skillId: calling.id, input: {} }, log('after')]);
    const { db: breaking, broke } = breakingAfter(statement);
    await executeRun(engineOn(breaking, [...logSkills(), calling]), db, runId, never);
    expect([broke(), calls, await statusOf(runId)]).toEqual([true, 1, 'succeeded']);
    const lines = await database.query<{ message: string }>(
      'select message from run_logs where run_id = $1 order by step_index, id',
      [runId],
    );
    expect(lines.map(({ message }) => message)).toEqual(['before', 'after']);
    expect(
      await database.query('select receipt_at is not null as done from effects where run_id = $1', [runId]),
    ).toEqual([{ done: true }]);
  },
);

test('callers that wait for a run whose connection breaks after the commit of its end are woken once', async () => {
  const runId = await accept([{ type: 'log', message: 'only', level: 'info' }]);
  const { db: breaking, broke, changedTopics } = breakingAfter('advance_all_runs');
  await executeRun(engineOn(breaking, logSkills()), db, runId, never);
  const woken = changedTopics.filter((topic) => topic === runTopic(runId));
  expect([broke(), await statusOf(runId), woken.length]).toEqual([true, 'succeeded', 1]);
});

test('a command that was leased to a poll in a commit whose acknowledgement was lost waits for its device again, and the device is notified', async () => {
  const nodeId = newId();
  await database.query(
    `insert into nodes (id, tenant_id, name, allow_system, allow_browser, paired_at, last_seen_at, online) values ($1, $2, 'n', false, false, now(), now(), true)`,
    [nodeId, tenantId],
  );
  const runId = await accept([{ type: 'skill', skillId: 'node.ping', input: { nodeId } }]);
  const { db: breaking, broke } = breakingAfter('suspend_run_at_once');
  const commands = new NodeCommands({ db: breaking });
  const delivered: unknown[] = [];
  commands.waitingPolls.controller = { complete: (_poll, result) => delivered.push(result) > 0, wake: () => undefined };
  const poll = new WaitingPoll(
    {
      device: { tenantId, nodeId },
      secretHash: 'h',
      isConfirmed: true,
      max: 3,
      running: [],
      hasSinglePoll: true,
      deadline: performance.now() + 30_000,
      idleState: null,
    },
    { answered: () => undefined, failed: () => undefined },
    null,
  );
  poll.isWaiting = true;
  commands.waitingPolls.add(poll);
  let notified = 0;
  using _notified = events.subscribe(`node:${nodeId}`, () => void (notified += 1));
  await executeRun(engineOn(breaking, nodeSkills(), { nodes: nodePort(commands, 15) }), db, runId, never);
  expect([broke(), poll.isReserved, delivered, notified]).toEqual([true, true, [], 1]);
  expect(
    await database.query('select status, lease_expires_at as lease from node_commands where run_id = $1', [runId]),
  ).toEqual([{ status: 'pending', lease: null }]);
  expect(await statusOf(runId)).toBe('running');
});

test('a tool result of an agent is written once if the connection breaks during its commit', async () => {
  const runId = await accept([{ type: 'agent', prompt: 'go', maxTurns: 5, toolProfileId: newId() }]);
  const { db: breaking, broke, settled } = breakingWithin('insert_logs');
  let turns = 0;
  const { agents } = enginePorts(breaking);
  const engine = engineOn(breaking, logSkills(), {
    agents: {
      ...agents,
      findToolProfile: () => Promise.resolve({ allow: ['*'], deny: [] } as never),
      generate: () => {
        turns += 1;
        return Promise.resolve({
          text: turns === 1 ? 'TOOL_CALL:log.write|{"message":"hello"}' : 'FINAL:done',
          model: 'm',
          latencyMs: 1,
          usage: { inputTokens: 1, outputTokens: 1 },
          attempts: [],
          authors: [],
        } as never);
      },
    },
  });
  await executeRun(engine, db, runId, never);
  await settled();
  expect([broke(), turns, await statusOf(runId)]).toEqual([true, 2, 'succeeded']);
  expect(await database.query('select message from run_logs where run_id = $1', [runId])).toEqual([
    { message: 'hello' },
  ]);
});
