import { expect, test } from 'vitest';
import { newId } from '../hub/platform/ids.ts';
import { acquireDatabase } from './fixtures/postgres.ts';
import { explainAll, planRulesOf } from './fixtures/statement-plans.ts';

test('the check detects a statement that locks rows and selects partitions at run time', async () => {
  await using database = await acquireDatabase();
  const rules = await planRulesOf(database, 3_000, 2_000);
  const problemsOf = async (text: string, ...values: unknown[]) => {
    const statement = { name: 'tested', text, values, role: 'outrigger_system', tenantId: null, settings: '' } as const;
    const [found] = await explainAll(database, [statement], rules);
    return found?.problems.filter((problem) => problem.includes('PostgreSQL 18')) ?? [];
  };
  const problem =
    'tested locks or changes rows and selects partitions of run_steps at run time, which can crash PostgreSQL 18. Read run_steps in a statement of its own';
  const both = [problem, `prepared, ${problem}`];
  const lock = 'SELECT id FROM runs WHERE id = ANY($1::uuid[]) FOR NO KEY UPDATE';
  const update = 'UPDATE runs SET wake_at = now() WHERE id = ANY($1::uuid[])';
  const steps = (run: string) => `(SELECT json_agg(s.index) FROM run_steps s WHERE s.run_id = ${run})`;
  const runs = [newId()];
  for (const text of [
    `WITH locked AS (${lock}) SELECT id, ${steps('locked.id')} FROM locked`,
    `WITH locked AS (${lock}), other AS MATERIALIZED (SELECT ${steps('unnest')} AS steps FROM unnest($1::uuid[])) SELECT id, steps FROM locked CROSS JOIN other`,
    `WITH locked AS (${lock}) SELECT s.index FROM run_steps s WHERE s.run_id = ANY(ARRAY(SELECT id FROM locked))`,
    `WITH locked AS (${lock}) INSERT INTO run_steps SELECT s.* FROM run_steps s JOIN locked ON locked.id = s.run_id ON CONFLICT DO NOTHING`,
    `WITH updated AS (${update} RETURNING id) SELECT id, ${steps('updated.id')} FROM updated`,
    `${update} AND EXISTS (SELECT FROM run_steps s WHERE s.run_id = runs.id AND s.index = runs.next_step)`,
    'UPDATE run_steps SET attempts = attempts FROM unnest($1::uuid[]) AS run WHERE run_id = run',
    'DELETE FROM runs USING run_steps s WHERE runs.id = ANY($1::uuid[]) AND s.run_id = runs.id AND s.index = -1',
    'MERGE INTO runs USING run_steps s ON runs.id = s.run_id AND s.index = runs.next_step AND runs.id = ANY($1::uuid[]) WHEN MATCHED THEN UPDATE SET wake_at = now()',
  ])
    expect([text, await problemsOf(text, runs)]).toEqual([text, both]);
  for (const text of [
    `SELECT id, ${steps('runs.id')} FROM runs WHERE id = ANY($1::uuid[])`,
    'UPDATE run_steps SET attempts = attempts WHERE run_id = ANY($1::uuid[]) AND index = 0',
    'SELECT FROM run_steps WHERE run_id = ANY($1::uuid[]) FOR UPDATE',
    `${update} AND EXISTS (SELECT FROM run_steps s WHERE s.run_id = ANY($1::uuid[]) AND s.index = runs.next_step)`,
    `INSERT INTO run_steps (run_id, index, tenant_id, status, attempts) SELECT s.run_id, s.index, s.tenant_id, s.status, s.attempts FROM runs JOIN run_steps s ON s.run_id = runs.id WHERE runs.id = ANY($1::uuid[])
     ON CONFLICT (run_id, index) DO UPDATE SET attempts = excluded.attempts`,
  ])
    expect([text, await problemsOf(text, runs)]).toEqual([text, []]);
});
