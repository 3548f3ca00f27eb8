import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Step } from '../../../shared/contract/automations/steps.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { acceptManualRun } from '../../../test/fixtures/accepted-run.ts';
import { claimRun, executeRun } from '../../../test/fixtures/claim-run.ts';
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
import { defineSkill } from '../skill.ts';
import { Engine } from './engine.ts';
import { neededOutputs, outputUses } from './output-uses.ts';
import type { EngineDependencies } from './run-context.ts';
import { maxRunOutputBytes, outputBytesOf } from './run-outputs.ts';
import type { StepRow } from './store.ts';

const logger = pino({ level: 'silent' });
const never = new AbortController().signal;
const tenantId = newId();
let database: TestDatabase;
let db: Database;
let events: PostgresEvents;
beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 6, applicationName: 'test', onError: () => undefined });
  events = await PostgresEvents.connect(database.url, testSecrets, logger);
  db.onPublished((topic, payload) => events.publish(topic, payload));
  await database.query(
    `insert into tenants (id, name, entitlements) values ($1, 'outputs', '{"automations":true,"ai_agent":true}')`,
    [tenantId],
  );
});
afterAll(async () => {
  await events[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const seen: unknown[] = [];
const skill = defineSkill({
  id: 'test.make',
  title: '',
  summary: '',
  requires: [],
  effect: 'pure',
  input: z.strictObject({ kib: z.int().default(0), see: z.unknown().optional() }),
  output: z.unknown(),
  execute: async ({ kib, see }) => {
    if (see !== undefined) seen.push(see);
    return { output: { text: 'x'.repeat(kib * 1024) }, outputText: `${kib} KiB` };
  },
});

function engine(more: Partial<EngineDependencies> = {}): Engine {
  return new Engine({
    db,
    events,
    skills: { find: () => skill, list: () => [skill] },
    ...enginePorts(db),
    logger,
    ...more,
  });
}

async function accept(steps: Record<string, unknown>[], payload: JsonObject | null = null): Promise<string> {
  const workflowId = newId();
  const text = JSON.stringify(steps.map((step) => ({ type: 'skill', skillId: skill.id, input: {}, ...step })));
  await database.query(
    `insert into workflows (id, tenant_id, name, active, version, trigger, steps) values ($1, $2, 'w', true, 1, '{"type":"manual","schemaVersion":1}', $3)`,
    [workflowId, tenantId, text],
  );
  await database.query(
    `insert into workflow_versions (workflow_id, version, tenant_id, name, steps) values ($1, 1, $2, 'w', $3)`,
    [workflowId, tenantId, text],
  );
  return acceptManualRun(db, { tenantId, workflowId, payload });
}
const statusOf = async (runId: string) =>
  (await database.query<{ status: string }>('select status from runs where id = $1', [runId]))[0]?.status;
const wake = (runId: string) =>
  database.query('update runs set wake_at = now(), holder_id = null where id = $1', [runId]);

describe('the outputs of a run', () => {
  test('have a limit: the step that would exceed it fails and names the limit', async () => {
    const runId = await accept(
      Array.from({ length: 20 }, (_unused, index) => ({ id: `s${index}`, input: { kib: 4000 } })),
    );
    await executeRun(engine(), db, runId, never);
    const [run] = await database.query<{ status: string; error: { code: string; message: string; stepIndex: number } }>(
      'select status, error from runs where id = $1',
      [runId],
    );
    expect(run).toMatchObject({ status: 'failed', error: { code: 'run_outputs_too_large', stepIndex: 8 } });
    expect(run?.error.message).toContain(String(maxRunOutputBytes));
    const [kept] = await database.query<{ steps: number; fits: boolean; large: boolean }>(
      "select count(*)::int as steps, sum(output_bytes) <= $2::bigint as fits, sum(output_bytes) > 30000000 as large from run_steps where run_id = $1 and status = 'succeeded'",
      [runId, maxRunOutputBytes],
    );
    expect(kept).toEqual({ steps: 8, fits: true, large: true });
  });

  test('count those from before a wait', async () => {
    const runId = await accept([
      ...Array.from({ length: 7 }, () => ({ input: { kib: 4000 } })),
      { delaySeconds: 3600, input: { kib: 4000 } },
      { input: { kib: 4000 } },
    ]);
    await executeRun(engine(), db, runId, never);
    await wake(runId);
    await executeRun(engine(), db, runId, never);
    expect(
      (
        await database.query<{ error: { code: string; stepIndex: number } }>('select error from runs where id = $1', [
          runId,
        ])
      )[0]?.error,
    ).toMatchObject({ code: 'run_outputs_too_large', stepIndex: 8 });
  });

  test('are not read with a claim; those that later steps name are read and render unchanged', async () => {
    seen.length = 0;
    const runId = await accept([
      { id: 'one', input: { kib: 2 } },
      { id: 'two', input: { kib: 3 } },
      { delaySeconds: 3600, input: { see: '{{steps.one.outputText}} {{steps.two.status}} {{last.outputText}}' } },
      { input: { see: '{{steps.one.output.text}}' } },
    ]);
    await executeRun(engine(), db, runId, never);
    await wake(runId);
    const claimed = await claimRun(db, runId);
    expect(
      claimed?.results.map(({ output, output_text: text, output_bytes: bytes }) => [output, text, bytes > 0]),
    ).toEqual([
      [null, null, true],
      [null, null, true],
      [null, null, false],
    ]);
    await wake(runId);
    await executeRun(engine(), db, runId, never);
    expect(seen).toEqual(['2 KiB succeeded 3 KiB', 'x'.repeat(2048)]);
  });

  test('are dropped from memory if they are large, and the step that names them reads them when memory is free', async () => {
    seen.length = 0;
    const memory = new MemoryBudget({ limitBytes: 16 * 1024 * 1024, waitMs: 60_000 });
    const runId = await accept(
      [
        { id: 'one', input: { kib: 3000 } },
        { id: 'two', input: { kib: 1 } },
        { id: 'three', input: { kib: 2000, see: '{{steps.two.output.text}}' } },
        { input: { see: '{{steps.one.output.text}}{{payload.p}}' } },
        { input: { see: '{{steps.three.output.text}} {{steps.one.outputText}} {{last.outputText}}' } },
      ],
      { p: 'p'.repeat(500_000) },
    );
    // Other workspaces use so much that the fourth step has to wait.
    const others = ['a', 'b', 'c', 'd'].map((tenant) => memory.open(tenant));
    for (const other of others) expect(other.tryResize(3.5 * 1024 * 1024)).toBe(true);
    const ran = executeRun(engine({ memory }), db, runId, never);
    await until(
      () => seen.length === 1,
      () => 'the third step did not run',
    );
    expect(seen).toEqual(['x'.repeat(1024)]);
    for (const other of others) other[Symbol.dispose]();
    await ran;
    expect(seen.slice(1)).toEqual([
      'x'.repeat(3000 * 1024) + 'p'.repeat(500_000),
      `${'x'.repeat(2000 * 1024)} 3000 KiB 0 KiB`,
    ]);
    expect(memory.counts).toEqual({ used: 0, workspaces: 0 });
    expect(await statusOf(runId)).toBe('succeeded');
  });

  test('and large payloads are read only by the steps that name them', async () => {
    const payload = { p: 'p'.repeat(200_000) };
    const runId = await accept([{}, { input: { see: '{{payload.p}}' } }, {}], payload);
    const queries: string[] = [];
    const spied = new Proxy(db, {
      get: (target, name) =>
        name === 'workspace'
          ? (tenant: string, work: (tx: Transaction) => Promise<unknown>, options: TransactionOptions) =>
              db.workspace(
                tenant,
                (tx) => {
                  const query = tx.query.bind(tx);
                  tx.query = ((label: string, ...rest: [string, unknown[]]) => {
                    queries.push(label);
                    return query(label, ...rest);
                  }) as typeof tx.query;
                  return work(tx);
                },
                options,
              )
          : ((Reflect.get(target, name) as (...args: unknown[]) => unknown).bind?.(target) ??
            Reflect.get(target, name)),
    });
    const claimed = await claimRun(db, runId);
    expect([claimed?.payload, claimed?.unread_input]).toEqual([null, expect.any(Number)]);
    await wake(runId);
    seen.length = 0;
    await executeRun(engine({ db: spied }), db, runId, never);
    expect(seen).toEqual([payload.p]);
    expect(queries.filter((label) => label === 'load_input')).toHaveLength(1);
    expect(await statusOf(runId)).toBe('succeeded');
  });

  test('of the tools of an agent stay in the database while no memory is free', async () => {
    const memory = new MemoryBudget({ limitBytes: 16 * 1024 * 1024, waitMs: 60_000 });
    const runId = await accept([{ type: 'agent', prompt: 'make {{payload.p}}', toolProfileId: newId() }], {
      p: 'much',
    });
    const others = ['a', 'b', 'c', 'd'].map((tenant) => memory.open(tenant));
    for (const other of others) expect(other.tryResize(3.5 * 1024 * 1024)).toBe(true);
    let turns = 0;
    const ports = enginePorts(db);
    const ran = executeRun(
      engine({
        memory,
        agents: {
          ...ports.agents,
          findToolProfile: async () => ({ allow: ['*'], deny: [] }) as never,
          generate: async () => {
            turns += 1;
            const text = turns < 4 ? `TOOL_CALL:${skill.id}|{"kib":1000}` : 'FINAL:made';
            return {
              text,
              model: 'm',
              latencyMs: 1,
              usage: { inputTokens: 1, outputTokens: 1 },
              attempts: [],
            } as never;
          },
        },
      }),
      db,
      runId,
      never,
    );
    await until(
      () => turns >= 1,
      () => 'the model was not asked',
    );
    await until(
      async () =>
        ((
          await database.query<{ bytes: number }>(
            'select octet_length(state::text) as bytes from run_steps where run_id = $1',
            [runId],
          )
        )[0]?.bytes ?? 0) > 1_000_000,
      () => 'the result of the first tool was not written',
    );
    expect(turns).toBe(1);
    for (const other of others) other[Symbol.dispose]();
    await ran;
    expect(turns).toBe(4);
    const [step] = await database.query<{ status: string; turns: { calls: { output: { text: string } }[] }[] }>(
      "select status, output->'turns' as turns from run_steps where run_id = $1",
      [runId],
    );
    expect(step?.status).toBe('succeeded');
    expect(step?.turns.map(({ calls }) => calls[0]?.output.text.length ?? 0)).toEqual([
      1_024_000, 1_024_000, 1_024_000, 0,
    ]);
    expect(memory.counts).toEqual({ used: 0, workspaces: 0 });
  });

  test('of an agent stay in the database between two turns if another workspace waits for memory', async () => {
    const memory = new MemoryBudget({ limitBytes: 16 * 1024 * 1024, waitMs: 60_000, largestPart: 1 / 2 });
    const runId = await accept([{ type: 'agent', prompt: 'make', maxTurns: 50, toolProfileId: newId() }], {});
    using other = memory.open('other');
    using waiting = memory.open('waiting');
    let granted: Promise<void> | undefined;
    let isGranted = false;
    let turns = 0;
    const ports = enginePorts(db);
    await executeRun(
      engine({
        memory,
        agents: {
          ...ports.agents,
          findToolProfile: async () => ({ allow: ['*'], deny: [] }) as never,
          generate: async () => {
            turns += 1;
            if (turns === 2) {
              expect(other.tryResize(8 * 1024 * 1024)).toBe(true);
              granted = waiting.resize(8 * 1024 * 1024, never).then(() => {
                isGranted = true;
                setTimeout(() => waiting[Symbol.dispose](), 100);
              });
            }
            await delay(turns > 1 ? 300 : 0);
            const text =
              isGranted || turns > 30 ? 'FINAL:made' : `TOOL_CALL:${skill.id}|{"kib":${turns === 1 ? 3000 : 1}}`;
            return {
              text,
              model: 'm',
              latencyMs: 1,
              usage: { inputTokens: 1, outputTokens: 1 },
              attempts: [],
            } as never;
          },
        },
      }),
      db,
      runId,
      never,
    );
    await granted;
    expect(turns).toBeLessThan(30);
    expect(await statusOf(runId)).toBe('succeeded');
    other[Symbol.dispose]();
    expect(memory.counts).toEqual({ used: 0, workspaces: 0 });
  });

  test('count by their heap if that is much more than their length', () => {
    const text = 'x'.repeat(900_000);
    expect(outputBytesOf(text, null)).toBe(text.length + 2);
    const objects = Array.from({ length: 300_000 }, () => ({}));
    expect(outputBytesOf(objects, null)).toBeGreaterThan(6 * JSON.stringify(objects).length);
  });

  test('are read only as far as a template names them', () => {
    const steps = [
      { id: 'a' },
      { id: 'b' },
      { id: 'c' },
      { input: { x: ['{{steps.a.output.y}}'] } },
      { input: { x: '{{steps.b.status}} {{steps.b.error.code}}' } },
      { when: '{{last.output}}' },
      {},
    ] as unknown as Step[];
    const results = new Map(steps.map((_step, index) => [index, { index, status: 'succeeded' } as StepRow]));
    const needed = (from: number) => [...neededOutputs(steps, outputUses(steps), results, from)];
    expect([1, 2, 3, 4, 5, 6].map(needed)).toEqual([[0], [0, 1], [0, 2], [3], [4], []]);
  });
});
