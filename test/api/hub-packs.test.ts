import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { cli } from '../fixtures/processes.ts';
import { send } from '../fixtures/requests.ts';
import { testSecretKey } from '../fixtures/secrets.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { removeHubPacks } from '../fixtures/stage/automations.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let other: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
  other = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const operator = () => hub.client(adminKey);
let count = 0;
/** A pack with a unique id, unless one is given. */
const manifest = (extra: Record<string, unknown> = {}) => ({
  id: `partner-pack-${(count += 1)}`,
  name: 'Partner',
  version: '1.0.0',
  publisher: 'Operator',
  summary: 'Says hello.',
  inputsSchema: { properties: { who: { type: 'string', title: 'Who' } }, required: ['who'] },
  skills: ['log.write'],
  graph: { trigger: { type: 'manual' }, steps: [{ type: 'log', message: 'Hello {{inputs.who}}' }] },
  ...extra,
});
const publish = (pack: ReturnType<typeof manifest>) => operator().call('publishHubPack', { body: { manifest: pack } });
const listed = async (of: TestWorkspace, id: string) =>
  (await of.api.call('listAutomationSkills', { query: { limit: 100 } })).data.find((pack) => pack.id === id);

test('a pack that the operator publishes can be listed, installed and run in every workspace', async () => {
  const pack = manifest();
  expect(await publish(pack)).toMatchObject({
    pack: { packId: pack.id, version: '1.0.0', withdrawnAt: null },
    grants: { skills: [{ id: 'log.write' }], hosts: [] },
  });
  for (const each of [workspace, other]) {
    expect(await listed(each, pack.id)).toMatchObject({ source: 'hub', installedVersion: null });
    await each.api.call('installAutomationSkill', { body: { packId: pack.id } });
    expect(await listed(each, pack.id)).toMatchObject({ installedVersion: '1.0.0' });
    const made = await each.api.call('createAutomationSkillWorkflow', {
      params: { packId: pack.id },
      body: { inputs: { who: 'all' } },
    });
    const { runId } = startedRun(await each.api.call('runAutomationWorkflow', { params: { id: made.id } }));
    expect(await settledRun(each.api, runId)).toMatchObject({ status: 'succeeded' });
  }
});

test('a pack that a workspace publishes stays invisible to other workspaces', async () => {
  const pack = manifest();
  await workspace.api.call('postAutomationSkillSdk', { body: { manifest: pack, publish: true } });
  expect(await listed(workspace, pack.id)).toMatchObject({ source: 'published' });
  expect(await listed(other, pack.id)).toBeUndefined();
  await expect(other.api.call('installAutomationSkill', { body: { packId: pack.id } })).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('workspaces install the newest version, and installed versions stay unchanged until then', async () => {
  const pack = manifest();
  await publish(pack);
  await workspace.api.call('installAutomationSkill', { body: { packId: pack.id } });
  await publish({ ...pack, version: '1.1.0' });
  expect(await listed(workspace, pack.id)).toMatchObject({ version: '1.1.0', installedVersion: '1.0.0' });
  await workspace.api.call('installAutomationSkill', { body: { packId: pack.id } });
  expect(await listed(workspace, pack.id)).toMatchObject({ version: '1.1.0', installedVersion: '1.1.0' });
});

test('a withdrawn version cannot be installed, stays where it is installed, and cannot be published again', async () => {
  const pack = manifest();
  await publish(pack);
  await workspace.api.call('installAutomationSkill', { body: { packId: pack.id } });
  const params = { packId: pack.id, version: '1.0.0' };
  const { withdrawnAt } = await operator().call('withdrawHubPack', { params });
  expect(withdrawnAt).not.toBeNull();
  expect(await operator().call('withdrawHubPack', { params })).toMatchObject({ withdrawnAt });
  for (const each of [workspace, other]) expect(await listed(each, pack.id)).toBeUndefined();
  const detail = { params: { packId: pack.id } };
  expect(await workspace.api.call('getAutomationSkillPack', detail)).toMatchObject({
    installedVersion: '1.0.0',
    versions: [{ version: '1.0.0', withdrawn: true }],
  });
  await expect(other.api.call('getAutomationSkillPack', detail)).rejects.toMatchObject({ code: 'not_found' });
  await expect(other.api.call('installAutomationSkill', { body: { packId: pack.id } })).rejects.toMatchObject({
    code: 'not_found',
  });
  const made = await workspace.api.call('createAutomationSkillWorkflow', {
    params: { packId: pack.id },
    body: { inputs: { who: 'us' } },
  });
  expect(made).toMatchObject({ name: 'Partner' });
  await expect(publish(pack)).rejects.toMatchObject({ code: 'conflict' });
  await expect(
    operator().call('withdrawHubPack', { params: { packId: pack.id, version: '9.9.9' } }),
  ).rejects.toMatchObject({ code: 'not_found' });
});

test('the operator cannot replace a pack of a workspace, and a workspace cannot replace a pack of the operator', async () => {
  const pack = manifest({ name: 'Ours' });
  await workspace.api.call('postAutomationSkillSdk', { body: { manifest: pack, publish: true } });
  await workspace.api.call('installAutomationSkill', { body: { packId: pack.id } });
  await publish({ ...pack, name: 'Theirs', version: '2.0.0' });
  expect(await listed(workspace, pack.id)).toMatchObject({ name: 'Ours', source: 'published', version: '1.0.0' });
  expect(await listed(other, pack.id)).toMatchObject({ name: 'Theirs', source: 'hub', version: '2.0.0' });
  await expect(
    other.api.call('postAutomationSkillSdk', { body: { manifest: { ...pack, version: '3.0.0' }, publish: true } }),
  ).rejects.toMatchObject({ code: 'conflict' });
});

test('a pack with undeclared effects, a shipped id or an incomplete manifest is rejected with the field', async () => {
  await expect(publish(manifest({ skills: [] }))).rejects.toMatchObject({
    code: 'pack_invalid',
    details: expect.arrayContaining([
      expect.objectContaining({ path: expect.stringContaining('body.manifest.') as string }),
    ]) as unknown,
  });
  await expect(publish(manifest({ id: 'weekly-run-digest' }))).rejects.toMatchObject({ code: 'conflict' });
  await expect(operator().call('publishHubPack', { body: { manifest: {} } })).rejects.toMatchObject({
    code: 'pack_invalid',
  });
});

test('only the platform admin key reads and changes the packs of the operator', async () => {
  const pack = manifest();
  await publish(pack);
  for (const authorization of ['', `Bearer ${workspace.key}`, `Bearer ${workspace.jwt}`])
    for (const [method, path, body] of [
      ['GET', '/platform/packs', undefined],
      ['POST', '/platform/packs', { manifest: manifest() }],
      ['DELETE', `/platform/packs/${pack.id}/versions/1.0.0`, undefined],
    ] as const)
      expect(
        await send(hub.url, method, path, { headers: { authorization }, ...(body === undefined ? {} : { body }) }),
      ).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  expect(await listed(other, pack.id)).toMatchObject({ version: '1.0.0' });
});

test('the list of the operator is paged, newest first, and shows withdrawn versions', async () => {
  const [first, second] = [manifest(), manifest()];
  await publish(first);
  await publish(second);
  await operator().call('withdrawHubPack', { params: { packId: first.id, version: '1.0.0' } });
  const page = await operator().call('listHubPacks', { query: { limit: 1 } });
  expect(page.data).toMatchObject([{ packId: second.id, withdrawnAt: null }]);
  const next = await operator().call('listHubPacks', {
    query: { limit: 1, cursor: page.meta.nextCursor as string },
  });
  expect(next.data).toMatchObject([{ packId: first.id, withdrawnAt: expect.any(String) as string }]);
});

test('a workspace cannot write to the packs of the hub, even with direct database access', async () => {
  await publish(manifest());
  await expect(removeHubPacks(hub.app.db, workspace.tenantId)).rejects.toThrow('permission denied');
});

test('outrigger pack publishes, lists and withdraws packs, and reports every problem of a manifest', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-packs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'pack.json');
  const env = { DATABASE_URL: hub.database.url, OUTRIGGER_HOME: folder, SECRET_KEY: testSecretKey };
  const pack = manifest();
  writeFileSync(file, JSON.stringify(pack));
  expect(await cli(env, 'pack', 'publish', file)).toBe(`Published ${pack.id} 1.0.0 for all workspaces.`);
  expect(await cli(env, 'pack', 'list')).toContain(pack.id);
  expect(await listed(other, pack.id)).toMatchObject({ source: 'hub' });
  expect(await cli(env, 'pack', 'withdraw', pack.id, '1.0.0')).toContain(`Withdrew ${pack.id} 1.0.0`);
  expect(await listed(other, pack.id)).toBeUndefined();
  writeFileSync(file, JSON.stringify({ ...pack, skills: [], version: 'one' }));
  await expect(cli(env, 'pack', 'publish', file)).rejects.toThrow(
    /The pack can't be published:\s+version must be a version/,
  );
  await expect(cli(env, 'pack', 'publish', join(folder, 'none.json'))).rejects.toThrow(/ENOENT/);
});
