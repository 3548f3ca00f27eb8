import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import {
  expireToken,
  moveTokenToWorkspace,
  revokeToken,
  setEntitlement,
  setTokenAddresses,
  setTokenPermissions,
} from '../fixtures/stage/core.ts';
import { revokeNode, takeNodesOffline } from '../fixtures/stage/nodes.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

/** Two hubs on one database: one caches callers and workflows, and the other one changes them. */
let database: TestDatabase;
let here: TestHub;
let there: TestHub;
beforeAll(async () => {
  database = await acquireDatabase();
  here = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', HOOK_RATE_LIMIT_PER_MINUTE: '1000000' }, database);
  there = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', HOOK_RATE_LIMIT_PER_MINUTE: '1000000' }, database);
});
afterAll(async () => {
  await there[Symbol.asyncDispose]();
  await here[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** Makes a change without any notification to the processes. */
async function changeSilently(change: () => Promise<unknown>): Promise<void> {
  await database.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'outrigger-events' and datname = current_database()",
  );
  await change();
}

async function webhook(workspace: TestWorkspace, token: string) {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'hook',
      triggerJson: { type: 'webhook', webhook: { token } },
      stepsJson: [{ type: 'log', message: 'first' }],
    },
  });
  const call = async (hub: TestHub, body: object = {}) => {
    const response = await fetch(`${hub.url}/v1/automations/hooks/inbound`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-automation-token': token },
      body: JSON.stringify({ event: 'test', ...body }),
    });
    return { status: response.status, body: (await response.json()) as { runId?: string } };
  };
  // Both hubs have cached the workflow, and accept runs from their cache.
  for (const hub of [here, there, here, there]) expect((await call(hub)).status).toBe(200);
  using recorder = new StatementRecorder();
  for (const hub of [here, there]) expect((await call(hub)).status).toBe(200);
  expect(recorder.statements.map(({ name }) => name)).not.toContain('find_by_webhook_token');
  return { id, call };
}

const runsOf = async (workflowId: string) =>
  (await database.query<{ n: number }>('select count(*)::int as n from runs where workflow_id = $1', [workflowId]))[0]
    ?.n as number;

describe('a webhook workflow that both processes have cached', () => {
  test.each([
    [
      'is switched off',
      (workspace: TestWorkspace, id: string) =>
        workspace.api.call('updateAutomationWorkflow', { params: { id }, body: { active: false } }),
      401,
    ],
    [
      'is deleted',
      (workspace: TestWorkspace, id: string) => workspace.api.call('deleteAutomationWorkflow', { params: { id } }),
      401,
    ],
    [
      'gets another token',
      (workspace: TestWorkspace, id: string) =>
        workspace.api.call('updateAutomationWorkflow', {
          params: { id },
          body: { triggerJson: { type: 'webhook', webhook: { token: 'another-token-of-the-hook' } } },
        }),
      401,
    ],
    [
      'is of a workspace that is entitled no longer',
      ({ tenantId }: TestWorkspace) => setEntitlement(database, tenantId, 'automations', false),
      403,
    ],
  ])(
    'and that %s starts nothing afterwards on either process, without a notification',
    async (what, change, status) => {
      const workspace = await here.workspace();
      const { id, call } = await webhook(workspace, `token of what ${what} ${workspace.tenantId}`);
      await changeSilently(() => change(workspace, id));
      const before = await runsOf(id);
      const answers = await Promise.all([there, here, there, here].map((hub) => call(hub)));
      expect(answers.map((answer) => answer.status)).toEqual([status, status, status, status]);
      expect(await runsOf(id)).toBe(before);
    },
  );

  test('starts runs with the new steps only after its steps change', async () => {
    const workspace = await here.workspace();
    const { id, call } = await webhook(workspace, `token of changing steps ${workspace.tenantId}`);
    await changeSilently(() =>
      workspace.api.call('updateAutomationWorkflow', {
        params: { id },
        body: { stepsJson: [{ type: 'log', message: 'second' }] },
      }),
    );
    for (const hub of [there, here]) {
      const { runId } = (await call(hub)).body;
      const run = await settledRun(workspace.api, runId as string);
      expect(run).toMatchObject({
        status: 'succeeded',
        workflowVersion: 2,
        stepsResultJson: [{ outputText: 'second' }],
      });
    }
  });

  test('starts both workflows after another workflow gets the same token', async () => {
    const workspace = await here.workspace();
    const token = `token of two ${workspace.tenantId}`;
    const { id, call } = await webhook(workspace, token);
    const other = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'hook too',
        triggerJson: { type: 'webhook', webhook: { token } },
        stepsJson: [{ type: 'log', message: 'other' }],
      },
    });
    const before = await runsOf(id);
    for (const hub of [there, here]) expect((await call(hub)).status).toBe(200);
    expect([await runsOf(id), await runsOf(other.id)]).toEqual([before + 2, 2]);
  });

  test('immediately rejects payloads that do not match newly added inputs', async () => {
    const workspace = await here.workspace();
    const { id, call } = await webhook(workspace, `token of inputs ${workspace.tenantId}`);
    await changeSilently(() =>
      workspace.api.call('updateAutomationWorkflow', {
        params: { id },
        body: { inputs: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } } as never,
      }),
    );
    for (const hub of [there, here]) {
      expect(await call(hub, { payload: { n: 'x' } })).toMatchObject({ status: 400 });
      expect(await call(hub, { payload: { n: 1 } })).toMatchObject({ status: 200 });
      expect(await call(hub, { payload: {} })).toMatchObject({ status: 400 });
    }
  });
});

describe('an API key that both processes have cached', () => {
  const get = async (hub: TestHub, key: string, path: string) => {
    const response = await fetch(hub.url + path, { headers: { 'x-api-key': key } });
    const { code } = (await response.json()) as { code?: string };
    return { status: response.status, code, etag: response.headers.get('etag') };
  };
  const refused = (status: number, code: string) => ({ status, code, etag: null });

  test.each([
    [
      'is revoked',
      (workspace: TestWorkspace, id: string) =>
        workspace.session.call('deleteApiToken', { params: { tenantId: workspace.tenantId, id } } as never),
      refused(401, 'token_revoked'),
    ],
    ['expires', (_workspace: TestWorkspace, id: string) => expireToken(database, id), refused(401, 'token_expired')],
    [
      'may be used from elsewhere only',
      (_workspace: TestWorkspace, id: string) => setTokenAddresses(database, id, ['203.0.113.0/24']),
      refused(403, 'ip_not_allowed'),
    ],
    [
      'loses a permission',
      (_workspace: TestWorkspace, id: string) => setTokenPermissions(database, id, ['runs:read']),
      refused(403, 'missing_permission'),
    ],
    [
      'is of a workspace that is entitled no longer',
      ({ tenantId }: TestWorkspace) => setEntitlement(database, tenantId, 'automations', false),
      refused(403, 'product_not_entitled'),
    ],
  ])(
    'and that %s gets no data afterwards from either process, without a notification',
    async (_what, change, expected) => {
      const workspace = await here.workspace();
      const { id, key } = await workspace.createKey();
      const workflow = await workspace.api.call('createAutomationWorkflow', {
        body: { name: 'secret', stepsJson: [{ type: 'log', message: 'x' }] },
      });
      const path = `/v1/automations/workflows/${workflow.id}`;
      for (const hub of [here, there, here, there]) {
        const answer = await get(hub, key, path);
        expect(answer.status).toBe(200);
        expect(answer.etag).not.toBeNull();
      }
      await changeSilently(() => change(workspace, id));
      // Unauthenticated callers get no validation errors either.
      for (const each of [path, path, `/v1/automations/workflows?limit=x`, `/v1/automations/workflows/${id}`])
        expect(await Promise.all([there, here].map((hub) => get(hub, key, each)))).toEqual([expected, expected]);
    },
  );

  test('reads only its new workspace after it moves', async () => {
    const [first, second] = [await here.workspace(), await here.workspace()];
    const { id, key } = await first.createKey();
    const list = async (hub: TestHub) => {
      const page = await hub.client(key).call('listAutomationWorkflows', {});
      return page.data.map(({ name }) => name);
    };
    for (const [workspace, name] of [
      [first, 'of the first'],
      [second, 'of the second'],
    ] as const)
      await workspace.api.call('createAutomationWorkflow', {
        body: { name, stepsJson: [{ type: 'log', message: 'x' }] },
      });
    for (const hub of [here, there]) expect(await list(hub)).toEqual(['of the first']);
    await moveTokenToWorkspace(database, id, second.tenantId);
    for (const hub of [here, there, here]) expect(await list(hub)).toEqual(['of the second']);
  });

  test('is verified in the same flush as the reads, and changes nothing before it is verified', async () => {
    const workspace = await here.workspace();
    const api = here.client(workspace.key);
    await api.call('listAutomationWorkflows', {});
    using recorder = new StatementRecorder();
    await api.call('listAutomationWorkflows', {});
    expect(recorder.statements.map(({ name, role }) => [name, role])).toContainEqual([
      'find_tokens',
      'outrigger_system',
    ]);
    await workspace.session.call('deleteApiToken', {
      params: { tenantId: workspace.tenantId, id: (await workspace.createKey()).id },
    } as never);
    const { id, key } = await workspace.createKey();
    const own = here.client(key);
    await own.call('listAutomationWorkflows', {});
    await revokeToken(database, id);
    await expect(
      own.call('createAutomationWorkflow', { body: { name: 'late', stepsJson: [{ type: 'log', message: 'x' }] } }),
    ).rejects.toMatchObject({ status: 401 });
    expect(await database.query("select id from workflows where name = 'late'")).toEqual([]);
  });
});

describe('a device that both processes have cached', () => {
  const info = { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] };
  const pair = async (workspace: TestWorkspace) => {
    const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
    const { deviceSecret } = await here.client().call('claimAutomationNode', { body: { pairingCode, device: info } });
    const ask = async (hub: TestHub, method: string, path: string, body?: object) => {
      const response = await fetch(`${hub.url}/v1/automations/nodes/${nodeId}/${path}`, {
        method,
        headers: { authorization: `Bearer ${deviceSecret}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const { code, commands } = (await response.json()) as { code?: string; commands?: unknown[] };
      return { status: response.status, code, commands };
    };
    const asks = {
      poll: (hub: TestHub) => ask(hub, 'GET', 'commands?max=4'),
      'poll that holds something': (hub: TestHub) => ask(hub, 'GET', `commands?running=${crypto.randomUUID()}`),
      heartbeat: (hub: TestHub) => ask(hub, 'POST', 'heartbeat', { paused: true }),
      result: (hub: TestHub, commandId: string = crypto.randomUUID()) =>
        ask(hub, 'POST', `commands/${commandId}/result`, {
          status: 'succeeded',
          output: { pong: true, latencyMs: 0, appVersion: '1' },
        }),
    };
    return { nodeId, ask, asks };
  };
  const names = (recorder: StatementRecorder) => recorder.statements.map(({ name }) => name);

  test('receives and changes nothing after it is revoked, without a notification', async () => {
    const workspace = await here.workspace();
    const { nodeId, ask, asks } = await pair(workspace);
    for (const hub of [here, there, here, there]) {
      expect(await asks.poll(hub)).toMatchObject({ status: 200 });
      expect(await asks.heartbeat(hub)).toMatchObject({ status: 200 });
      expect(await asks.result(hub)).toMatchObject({ status: 404 });
    }
    const { runId } = await workspace.api.call('runAutomationSkill', {
      params: { skillId: 'node.ping' },
      body: { input: { nodeId, waitMs: 300_000 } },
    });
    const commandOf = async () =>
      (
        await database.query<{ id: string; status: string; handed_out_at: Date | null }>(
          'select id, status, handed_out_at from node_commands where run_id = $1',
          [runId],
        )
      )[0];
    await expect.poll(async () => (await commandOf())?.status).toBe('pending');
    await changeSilently(() => revokeNode(database, nodeId));
    const before = await database.query('select * from nodes where id = $1', [nodeId]);
    const id = (await commandOf())?.id as string;
    const refused = { status: 401, code: 'device_secret_invalid' };
    for (const hub of [there, here]) {
      for (const each of Object.values(asks)) expect(await each(hub)).toMatchObject(refused);
      expect(await asks.result(hub, id)).toMatchObject(refused);
      // Unauthenticated devices get no validation errors either.
      expect(await ask(hub, 'GET', 'commands?max=x')).toMatchObject(refused);
      expect(await ask(hub, 'POST', 'heartbeat', { paused: 'x' })).toMatchObject(refused);
    }
    expect(await database.query('select * from nodes where id = $1', [nodeId])).toEqual(before);
    expect(await commandOf()).toMatchObject({ status: 'pending', handed_out_at: null });
  });

  test('is not accepted with another secret, and its secret is not accepted for another device', async () => {
    const workspace = await here.workspace();
    const [one, other] = [await pair(workspace), await pair(workspace)];
    for (const hub of [here, there]) {
      expect(await one.asks.poll(hub)).toMatchObject({ status: 200 });
      const response = await fetch(`${hub.url}/v1/automations/nodes/${one.nodeId}/commands`, {
        headers: { authorization: 'Bearer wrong' },
      });
      expect(response.status).toBe(401);
      expect(await one.ask(hub, 'GET', `../${other.nodeId}/commands`)).toMatchObject({ status: 401 });
      expect(await one.asks.poll(hub)).toMatchObject({ status: 200 });
    }
  });

  test('needs one statement for an empty poll and one for a heartbeat, without a separate check of its secret', async () => {
    const { asks } = await pair(await here.workspace());
    await asks.poll(here);
    await asks.heartbeat(here);
    {
      using recorder = new StatementRecorder();
      await asks.poll(here);
      expect(names(recorder)).toContain('check_in_devices');
      for (const name of ['authenticate_devices', 'poll_node', 'lease_commands'])
        expect(names(recorder)).not.toContain(name);
    }
    {
      using recorder = new StatementRecorder();
      await asks.heartbeat(here);
      expect(names(recorder)).toContain('record_heartbeat');
      expect(names(recorder)).not.toContain('authenticate_devices');
    }
  });

  test('sends its heartbeat in one statement with many other devices', async () => {
    const workspace = await here.workspace();
    const devices = await Promise.all(Array.from({ length: 12 }, () => pair(workspace)));
    await Promise.all(devices.map(({ asks }) => asks.heartbeat(here)));
    await takeNodesOffline(database, workspace.tenantId);
    using recorder = new StatementRecorder(50);
    const answers = await Promise.all(devices.map(({ asks }) => asks.heartbeat(here)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const heartbeatStatements = recorder.statements.filter(({ name }) => name === 'record_heartbeats');
    expect(heartbeatStatements.flatMap(({ values }) => values[0] as string[]).length).toBeGreaterThan(6);
    expect(
      heartbeatStatements.every(({ role, tenantId }) => role === 'outrigger_app' && tenantId === workspace.tenantId),
    ).toBe(true);
    const nodes = await database.query('select paused, online from nodes where tenant_id = $1', [workspace.tenantId]);
    expect(nodes).toEqual(devices.map(() => ({ paused: true, online: true })));
  });
});
