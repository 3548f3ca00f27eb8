import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
});

const settled = (id: string) => workspace.api.call('getAutomationRun', { params: { id }, query: { waitSeconds: 20 } });
const validator = (schema: object) => new Ajv2020({ strict: false, validateFormats: false }).compile(schema);

describe('the catalogue of skills', () => {
  const read = async () => (await workspace.api.call('listAutomationSkillCatalog', {})).skills;
  const find = async (id: string) =>
    (await read()).find((skill) => skill.id === id) as Awaited<ReturnType<typeof read>>[0];

  test('has every skill once, by id, with what it takes and puts out as JSON Schema', async () => {
    const skills = await read();
    const ids = skills.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(
      expect.arrayContaining(['memory.read', 'webhook.deliver', 'subagent.spawn', 'system.run', 'ai.invoke']),
    );
    expect(await read()).toEqual(skills);
    for (const { id, title, input, output } of skills) {
      expect(title).not.toBe('');
      expect([id, input['type']]).toEqual([id, 'object']);
      validator(input);
      expect([id, Object.keys(output).some((key) => ['type', 'anyOf', 'oneOf'].includes(key))]).toEqual([id, true]);
      // A later version may add to it.
      expect(JSON.stringify(output)).not.toContain('"additionalProperties":false');
      validator(output);
    }
    expect(await find('memory.write')).toMatchObject({
      requires: ['automations'],
      needsApproval: false,
      effect: 'changes nothing outside this workspace',
      input: { required: ['key'], properties: { key: { type: 'string', maxLength: 200 } } },
    });
    const { skills: sdk } = await workspace.api.call('getAutomationSkillSdk', {});
    expect(sdk.map(({ id, input, output }) => ({ id, input, output }))).toEqual(
      skills.map(({ id, input, output }) => ({ id, input, output })),
    );
  });

  test('says whether a person approves: always, or as the policy of the workspace has it', async () => {
    expect((await find('system.run')).needsApproval).toBe(true);
    expect((await find('memory.write')).needsApproval).toBe(false);
    await workspace.api.call('putAutomationPolicy', { body: { approvalsRequiredFor: ['memory.*'] } });
    expect((await find('memory.write')).needsApproval).toBe(true);
    expect((await find('log.write')).needsApproval).toBe(false);
  });

  test('promises what its skills put out', async () => {
    const child = await workspace.api.call('createAutomationWorkflow', {
      body: { name: 'child', stepsJson: [{ type: 'log', message: 'x' }] },
    });
    const test_ = hub.client((await workspace.createKey({ environment: 'test' })).key);
    const { id: channelId } = await workspace.api.call('putAutomationChannel', {
      body: {
        provider: 'webhook',
        name: 'c',
        config: { inboundSecret: 'sixteen-characters', url: 'https://example.org/' },
      },
    });
    const calls: [string, object][] = [
      ['log.write', { message: 'x' }],
      ['memory.write', { key: 'k', value: { a: [1] } }],
      ['memory.read', { key: 'k' }],
      ['memory.diff', { key: 'list', items: [{ id: 1 }], by: 'id' }],
      ['runs.summary', {}],
      ['subagent.spawn', { workflowId: child.id }],
      ['email.send', { to: ['a@example.org'], subject: 's', text: 't' }],
      ['channel.deliver', { channelId, to: 'a', text: 't' }],
      ['webhook.deliver', { url: 'https://example.org/' }],
    ];
    const { id } = await test_.call('createAutomationWorkflow', {
      body: {
        name: 'all',
        stepsJson: calls.map(([skillId, input]) => ({ type: 'skill', skillId, input })) as never,
      },
    });
    const run = await settled(startedRun(await test_.call('runAutomationWorkflow', { params: { id } })).runId);
    expect(run).toMatchObject({ status: 'succeeded' });
    const skills = await read();
    for (const { skillId, output } of run.stepsResultJson) {
      const check = validator(skills.find((skill) => skill.id === skillId)?.output as object);
      expect([skillId, check(output), check.errors]).toEqual([skillId, true, null]);
    }
  });

  test('is for whoever manages automations', async () => {
    const get = (headers: Record<string, string>, query = '') =>
      send(hub.url, 'GET', `/v1/automations/skills/catalog${query}`, { headers });
    expect((await get({ authorization: `Bearer ${workspace.jwt}` })).status).toBe(200);
    expect((await get({})).status).toBe(401);
    expect((await get({ 'x-api-key': (await workspace.createKey({ product: 'chat' })).key })).status).toBe(403);
    expect((await get({ 'x-api-key': workspace.key }, '?limit=1')).status).toBe(400);
  });
});
