import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
});

const settled = (id: string) => settledRun(workspace.api, id);
const validator = (schema: object) => new Ajv2020({ strict: false, validateFormats: false }).compile(schema);

describe('the catalog of skills', () => {
  const read = async () => (await workspace.api.call('listAutomationSkillCatalog', {})).skills;
  const find = async (id: string) =>
    (await read()).find((skill) => skill.id === id) as Awaited<ReturnType<typeof read>>[0];

  test('lists every skill once, by id, with its input and output as JSON Schema', async () => {
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
      // Later versions may add properties.
      expect(JSON.stringify(output)).not.toContain('"additionalProperties":false');
      validator(output);
    }
    expect(await find('memory.write')).toMatchObject({
      requires: ['automations'],
      needsApproval: false,
      effect: 'changes nothing outside this workspace',
      input: { required: ['key'], properties: { key: { type: 'string', maxLength: 200 } } },
    });
    expect([await find('memory.write'), await find('node.ping'), await find('system.run')]).toMatchObject([
      { effectType: 'changes_workspace' },
      { effectType: 'reads_node' },
      { effectType: 'changes_node' },
    ]);
    const { skills: sdk } = await workspace.api.call('getAutomationSkillSdk', {});
    expect(sdk.map(({ id, input, output }) => ({ id, input, output }))).toEqual(
      skills.map(({ id, input, output }) => ({ id, input, output })),
    );
  });

  test('shows whether an approval is needed always or as the policy of the workspace requires', async () => {
    expect((await find('system.run')).needsApproval).toBe(true);
    expect((await find('memory.write')).needsApproval).toBe(false);
    await workspace.api.call('putAutomationPolicy', { body: { approvalsRequiredFor: ['memory.*'] } });
    expect((await find('memory.write')).needsApproval).toBe(true);
    expect((await find('log.write')).needsApproval).toBe(false);
  });

  test('declares the actual outputs of its skills', async () => {
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

  test('requires a permission for automations', async () => {
    const get = (headers: Record<string, string>, query = '') =>
      send(hub.url, 'GET', `/v1/automations/skills/catalog${query}`, { headers });
    expect((await get({ authorization: `Bearer ${workspace.jwt}` })).status).toBe(200);
    expect((await get({})).status).toBe(401);
    expect((await get({ 'x-api-key': (await workspace.createKey({ product: 'chat' })).key })).status).toBe(403);
    expect((await get({ 'x-api-key': workspace.key }, '?limit=1')).status).toBe(400);
  });
});

describe('a skill that is called directly', () => {
  const call = (skillId: string, body: object, client = workspace.api) =>
    client.call('runAutomationSkill', { params: { skillId }, body: body as never });
  const post = (skillId: string, body: unknown, headers: Record<string, string> = { 'x-api-key': workspace.key }) =>
    send(hub.url, 'POST', `/v1/automations/skills/${skillId}/run`, { headers, body });

  test('is a run of one step, with the output of the skill', async () => {
    const { runId, workflowId } = await call('memory.write', { input: { key: 'k', value: { a: 1 } } });
    const run = await settled(runId);
    expect(run).toMatchObject({
      status: 'succeeded',
      workflowId,
      environment: 'live',
      payload: { key: 'k', value: { a: 1 } },
      trigger: { type: 'skill', skillId: 'memory.write' },
      stepsResultJson: [{ type: 'skill', skillId: 'memory.write', output: { key: 'k', value: { a: 1 } } }],
    });
    const { data } = await workspace.api.call('listAutomationRuns', { query: { workflowId } });
    expect(data.map(({ id }) => id)).toEqual([runId]);
    expect((await workspace.api.call('getAutomationWorkflow', { params: { id: workflowId } })).name).toBe(
      'Skill: Write memory',
    );
  });

  test('receives its input byte for byte, without templates, and broken template syntax is accepted', async () => {
    const value = {
      '{{key}}': '{{payload.key}} {{secrets}} {{steps.x.output}} {{ {{ }} {{last.output',
      list: ['{{run.id}}', '{{context}}', '{{now}}', null, 1.5, '\u00e9\u{1f600}'],
    };
    for (const input of [
      { key: '{{payload.value}}', value },
      { key: 'plain', value: '{{' },
    ]) {
      const { runId } = await call('memory.write', { input });
      const run = await settled(runId);
      expect(run).toMatchObject({ status: 'succeeded', payload: input });
      expect(run.stepsResultJson[0]?.output).toEqual({ key: input.key, value: input.value });
      const read = await settled((await call('memory.read', { input: { key: input.key } })).runId);
      expect(read.stepsResultJson[0]?.output).toEqual({ key: input.key, value: input.value });
      const again = await workspace.api.call('replayAutomationRun', { params: { id: runId }, body: {} });
      expect((await settled(again.id)).stepsResultJson[0]?.output).toEqual({ key: input.key, value: input.value });
    }
  });

  test('uses one hidden workflow per skill, which no list shows and no limit counts', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_value, index) =>
        call(index % 2 === 0 ? 'log.write' : 'memory.read', {
          input: index % 2 === 0 ? { message: `m${index}` } : { key: 'k' },
          timeoutSeconds: index + 60,
        }),
      ),
    );
    expect(new Set(answers.map(({ workflowId }) => workflowId)).size).toBe(2);
    for (const { runId } of answers) expect((await settled(runId)).status).toBe('succeeded');
    expect((await workspace.api.call('listAutomationWorkflows', {})).data).toEqual([]);
    expect((await workspace.session.call('growthListWorkflows', {})).data).toEqual([]);
    const [row] = await hub.database.query<{ count: string }>(
      'select count(*) from workflow_versions where tenant_id = $1',
      [workspace.tenantId],
    );
    expect(Number(row?.count)).toBe(2);
    // With a cached workflow, a call only writes its run.
    using recorder = new StatementRecorder(50);
    const { runId } = await call('log.write', { input: { message: 'x' } });
    const sent = recorder.statements.filter(({ tenantId }) => tenantId === workspace.tenantId).map(({ name }) => name);
    expect(sent.slice(0, 3).filter((name) => name !== 'count_queued_runs')).toEqual([
      'find_startable_by_origin',
      'accept_runs',
    ]);
    await settled(runId);
  });

  test('repairs its hidden workflow if a member changed it', async () => {
    const { workflowId: id } = await call('log.write', { input: { message: 'x' } });
    for (const body of [
      { active: false },
      { inputs: { type: 'object' as const } },
      { limits: { maxRunsPerMinute: 1 } },
    ])
      await expect(workspace.api.call('updateAutomationWorkflow', { params: { id }, body })).rejects.toMatchObject({
        status: 409,
        code: 'conflict',
      });
    const put = await call('log.write', { input: { message: 'after a change' } });
    expect(put.workflowId).toBe(id);
    await workspace.api.call('deleteAutomationWorkflow', { params: { id } });
    const made = await call('log.write', { input: { message: 'after its end' } });
    expect(made.workflowId).not.toBe(id);
    for (const [{ runId }, message] of [
      [put, 'after a change'],
      [made, 'after its end'],
    ] as const)
      expect(await settled(runId)).toMatchObject({ status: 'succeeded', stepsResultJson: [{ output: { message } }] });
  });

  test('waits for the approval that the policy requires, and executes exactly the approved input', async () => {
    await workspace.api.call('putAutomationPolicy', { body: { approvalsRequiredFor: ['memory.write'] } });
    const input = { key: 'k', value: '{{payload.key}}' };
    const { runId } = await call('memory.write', { input });
    expect((await settled(runId)).status).toBe('waiting_approval');
    const [approval] = (await workspace.api.call('listAutomationApprovals', { query: { runId } })).data;
    expect(approval?.request).toEqual({ skillId: 'memory.write', input });
    await workspace.api.call('decideAutomationApproval', {
      params: { id: approval?.id as string },
      body: { decision: 'approved' },
    });
    const run = await settled(runId);
    expect(run).toMatchObject({ status: 'succeeded', stepsResultJson: [{ output: input }] });
  });

  test('stays in the environment of its key', async () => {
    const { key } = await workspace.createKey({ environment: 'test' });
    const { runId } = await call('webhook.deliver', { input: { url: 'https://example.org/' } }, hub.client(key));
    expect(await settled(runId)).toMatchObject({
      status: 'succeeded',
      environment: 'test',
      stepsResultJson: [{ output: { simulated: true } }],
    });
  });

  test('is retried as the call specifies', async () => {
    const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
    const device = { name: 'd', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] };
    await hub.client().call('claimAutomationNode', { body: { pairingCode, device } });
    // A device that leases no command: each attempt ends by the time-out of the call.
    const { runId } = await call('node.ping', {
      input: { nodeId, waitMs: 300_000 },
      timeoutSeconds: 0.5,
      retry: { maxAttempts: 2, backoffSeconds: 0 },
    });
    expect(await settled(runId)).toMatchObject({ status: 'failed', stepsResultJson: [{ attempts: 2 }] });
    const missing = await settled((await call('node.ping', { input: { nodeId: missingId } })).runId);
    expect(missing).toMatchObject({ status: 'failed', stepsResultJson: [{ attempts: 1 }] });
    const refused = { url: 'https://127.0.0.1:1/' };
    const once = await settled((await call('webhook.deliver', { input: refused })).runId);
    expect(once).toMatchObject({ status: 'failed', error: { code: 'egress_refused' } });
    const { runId: slow } = await call('log.write', {
      input: { message: 'x' },
      retry: { maxAttempts: 3, backoffSeconds: 0 },
      timeoutSeconds: 5,
    });
    expect((await settled(slow)).trigger).toMatchObject({
      timeoutSeconds: 5,
      retry: { maxAttempts: 3, backoffSeconds: 0, factor: 2 },
    });
  });

  test('is rejected immediately with an invalid input and its field, and an unknown skill is not found', async () => {
    for (const [skillId, body, path] of [
      ['memory.write', {}, 'body.input.key'],
      ['memory.write', { input: { key: '' } }, 'body.input.key'],
      ['email.send', { input: { to: ['nobody'], subject: 's', text: 't' } }, 'body.input.to[0]'],
      ['email.send', { input: { to: ['a@example.org'], subject: 's' } }, 'body.input.text'],
      ['log.write', { input: { message: 'x', more: 1 } }, 'body.input.more'],
      ['log.write', { input: [] }, 'body.input'],
      ['log.write', { input: { message: 'x' }, timeoutSeconds: 0 }, 'body.timeoutSeconds'],
      ['log.write', { input: { message: 'x' }, retry: { maxAttempts: 11 } }, 'body.retry.maxAttempts'],
    ] as const) {
      const answer = await post(skillId, body);
      expect([skillId, answer.status, answer.body.details?.map((detail) => detail.path)]).toEqual([
        skillId,
        400,
        [path],
      ]);
    }
    expect((await post('no.such', { input: {} })).body).toMatchObject({ statusCode: 404, code: 'not_found' });
    expect((await workspace.api.call('listAutomationRuns', {})).data).toEqual([]);
  });

  test('requires the permissions of the skill, and runs once for an Idempotency-Key', async () => {
    const headers = { 'x-api-key': workspace.key, 'idempotency-key': 'skill' };
    const input = { message: 'once' };
    const [first, again] = [await post('log.write', { input }, headers), await post('log.write', { input }, headers)];
    expect(again.body).toEqual(first.body);
    expect((await workspace.api.call('listAutomationRuns', {})).data).toHaveLength(1);
    await hub
      .client(adminKey)
      .call('putEntitlements', { params: { tenantId: workspace.tenantId }, body: { business_email: false } });
    const mail = { input: { to: ['a@example.org'], subject: 's', text: 't' } };
    expect((await post('email.send', mail)).body).toMatchObject({ statusCode: 403, code: 'product_not_entitled' });
    expect((await post('log.write', { input }, {})).status).toBe(401);
    const chat = await workspace.createKey({ product: 'chat' });
    expect((await post('log.write', { input }, { 'x-api-key': chat.key })).status).toBe(403);
    expect((await post('log.write', { input }, { authorization: `Bearer ${workspace.jwt}` })).status).toBe(200);
    const other = await hub.workspace();
    const { runId } = first.body as unknown as { runId: string };
    await expect(other.api.call('getAutomationRun', { params: { id: runId } })).rejects.toMatchObject({ status: 404 });
  });
});
