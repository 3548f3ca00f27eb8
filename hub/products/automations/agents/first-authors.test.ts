import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrateAnew } from '../../../../test/fixtures/migrate-anew.ts';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { migrateDatabase } from '../../../platform/db/migrate.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await acquireDatabase();
});
afterEach(() => database[Symbol.asyncDispose]());

test('the migration sets the last author of a resource as the author of each of its fields', async () => {
  await migrateAnew(database, 145);
  await database.query(`
    INSERT INTO tenants (id, name, entitlements) VALUES (md5('t')::uuid, 't', '{}');
    INSERT INTO tool_profiles (id, tenant_id, name, allow, deny)
      SELECT md5(name)::uuid, md5('t')::uuid, name, '{}', '{}' FROM unnest(ARRAY['known', 'unknown']) name;
    INSERT INTO agents (id, tenant_id, name, system_prompt, route_keys, changed_by)
      VALUES (md5('a')::uuid, md5('t')::uuid, 'a', '', '{}', 'user:1');
    INSERT INTO model_configs (tenant_id, models, "order") VALUES (md5('t')::uuid, '[]', '{}');
    INSERT INTO automation_policies (tenant_id, standing_orders, approvals_required_for) VALUES (md5('t')::uuid, '', '{}');
    INSERT INTO published_packs (id, tenant_id, pack_id, version, manifest)
      SELECT md5(version)::uuid, md5('t')::uuid, 'p', version, '{}' FROM unnest(ARRAY['1.0.0', '2.0.0']) version;
    INSERT INTO workflows (id, tenant_id, name, active, trigger, steps, version)
      VALUES (md5('w')::uuid, md5('t')::uuid, 'w', true, '{}', '[]', 1);
    INSERT INTO workflow_versions (workflow_id, version, tenant_id, name, steps, changed_by, defined_by)
      VALUES (md5('w')::uuid, 1, md5('t')::uuid, 'w', '[]', 'user:2', 'user:1');
    INSERT INTO audit_log (id, tenant_id, actor, action, target_type, target_id, details)
      SELECT md5(at::text)::uuid, md5('t')::uuid, actor, action, type, target, details FROM (VALUES
        (1, 'user:1', 'tool-profile.updated', 'tool-profile', md5('known')::uuid::text, '{}'::jsonb),
        (2, 'token:1', 'models.updated', 'models', md5('t')::uuid::text, '{}'),
        (3, 'user:3', 'policy.updated', 'policy', md5('t')::uuid::text, '{}'),
        (4, 'user:4', 'pack.published', 'pack', 'p', '{"version": "1.0.0"}')) AS given (at, actor, action, type, target, details);
  `);
  await migrateDatabase(database.url);
  const authorsOf = async (table: string, order = 'tenant_id') => {
    const rows = (await database.query(`SELECT authors FROM ${table} ORDER BY ${order}`)) as { authors: unknown }[];
    return rows.map(({ authors }) => authors);
  };
  expect(await authorsOf('tool_profiles', 'name')).toEqual([{ allow: 'user:1', deny: 'user:1' }, {}]);
  expect(await authorsOf('agents')).toEqual([
    { systemPrompt: 'user:1', toolProfileId: 'user:1', model: 'user:1', routeKeys: 'user:1' },
  ]);
  expect(await authorsOf('model_configs')).toEqual([{ models: 'token:1', order: 'token:1' }]);
  expect(await authorsOf('automation_policies')).toEqual([{ errorWorkflowId: 'user:3', standingOrders: 'user:3' }]);
  expect(await authorsOf('workflow_versions')).toEqual([{ steps: 'user:1', inputs: 'user:1', trigger: 'user:1' }]);
  expect(await database.query('SELECT version, published_by FROM published_packs ORDER BY version')).toEqual([
    { version: '1.0.0', published_by: 'user:4' },
    { version: '2.0.0', published_by: null },
  ]);
});
