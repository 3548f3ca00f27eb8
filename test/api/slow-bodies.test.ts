import { randomUUID } from 'node:crypto';
import { encode as encodePng } from 'fast-png';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { beginRequest } from '../fixtures/slow-request.ts';
import { expireToken } from '../fixtures/stage/core.ts';
import { chatScene } from '../fixtures/visitor.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
type Target = readonly [method: string, path: string, body: object | Buffer, headers?: Record<string, string>];

/**
 * Sends the first bytes of requests, ends the access of their caller, and then sends the rest.
 * @param probe the path of a quick request of the same caller.
 * @returns the responses, and the response to a new request of the caller.
 */
async function endMeanwhile(token: string, probe: string, targets: readonly Target[], end: () => Promise<unknown>) {
  const begun = await Promise.all(
    targets.map(([method, path, body, headers = {}]) =>
      beginRequest(hub.url, [method, path], { ...bearer(token), ...headers }, body),
    ),
  );
  const quick = async () => {
    const { status, body } = await send(hub.url, 'GET', probe, { headers: bearer(token) });
    return { status, code: body.code };
  };
  // The hub authenticates requests of one caller in turn, so the earlier ones are authenticated too.
  expect((await quick()).status).toBe(200);
  await end();
  const next = await quick();
  return { next, slow: await Promise.all(begun.map((request) => request.finish())) };
}

const password = 'another long password';
let members = 0;
async function secondAdmin() {
  const email = `member${(members += 1)}.${workspace.tenantId}@example.org`;
  const params = { tenantId: workspace.tenantId };
  const { id } = await workspace.session.call('addMember', { params, body: { email, password, role: 'admin' } });
  const signIn = async () => (await hub.client().call('logIn', { body: { email, password } })).token;
  return { id, email, signIn, token: await signIn() };
}

async function pendingApproval(): Promise<string> {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'approval', stepsJson: [{ type: 'approval', title: 't' }] },
  });
  const { runId } = (await workspace.api.call('runAutomationWorkflow', { params: { id } })) as { runId: string };
  await workspace.api.call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 20 } });
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId } });
  return data[0]?.id as string;
}

const workflow = async (triggerJson?: object) =>
  (
    await workspace.api.call('createAutomationWorkflow', {
      body: { name: 'w', stepsJson: [{ type: 'log', message: 'x' }], ...(triggerJson && { triggerJson }) } as never,
    })
  ).id;

describe('a request whose body arrives slowly has the rights that its caller has at the end of the body', () => {
  const adminTargets = async (email: string): Promise<Target[]> => [
    ['POST', `/tenants/${workspace.tenantId}/members`, { email: `second.${email}`, password, role: 'admin' }],
    ['POST', `/tenants/${workspace.tenantId}/webhooks`, { url: 'https://evil.example/', events: ['message.created'] }],
    ['PUT', `/tenants/${workspace.tenantId}/allowed-origins`, { origins: ['https://evil.example'] }],
  ];

  test('a removed admin writes nothing', async () => {
    const { id, email, token } = await secondAdmin();
    const targets: Target[] = [
      ...(await adminTargets(email)),
      ['POST', '/v1/automations/nodes', { name: 'n', allowSystem: true }],
      ['POST', `/v1/automations/approvals/${await pendingApproval()}/decide`, { decision: 'approved' }],
      ['POST', `/v1/automations/workflows/${await workflow()}/run`, { payload: {} }],
      ['POST', '/v1/automations/tool-profiles', { name: 'evil', allow: ['*'] }],
    ];
    const params = { tenantId: workspace.tenantId, userId: id };
    const { next, slow } = await endMeanwhile(token, '/auth/me', targets, () =>
      workspace.session.call('removeMember', { params, query: { revokeKeys: 'true' } }),
    );
    expect(next.status).toBe(401);
    expect(slow.map(({ status }) => status)).toEqual(targets.map(() => 401));
    const { data } = await workspace.session.call('listMembers', { params: { tenantId: workspace.tenantId } });
    expect(data.filter((member) => member.email.includes(email))).toEqual([]);
  });

  test('an admin who became an agent writes as an agent', async () => {
    const { id, email, token } = await secondAdmin();
    const targets: Target[] = [
      ...(await adminTargets(email)),
      ['PATCH', `/growth/automations/tool-profiles/${randomUUID()}`, { name: 'evil' }],
      ['POST', `/v1/automations/workflows/${await workflow()}/run`, { payload: {} }],
    ];
    const params = { tenantId: workspace.tenantId, userId: id };
    const { next, slow } = await endMeanwhile(token, '/auth/me', targets, () =>
      workspace.session.call('changeMember', { params, body: { role: 'agent' } }),
    );
    expect(next.status).toBe(200);
    expect(slow.map(({ status }) => status)).toEqual([403, 403, 403, 403, 200]);
  });

  test('the sessions of the old password and a session that logged out write nothing', async () => {
    const { email, token, signIn } = await secondAdmin();
    const other = hub.client(await signIn());
    const body = { currentPassword: password, newPassword: `${password} 2` };
    const changed = await endMeanwhile(token, '/auth/me', await adminTargets(email), () =>
      other.call('changePassword', { body }),
    );
    expect(changed.slow.map(({ status }) => status)).toEqual([401, 401, 401]);
    const third = await secondAdmin();
    const left = await endMeanwhile(third.token, '/auth/me', await adminTargets(third.email), () =>
      hub.client(third.token).call('logOut', {}),
    );
    expect(left.slow.map(({ status }) => status)).toEqual([401, 401, 401]);
  });

  test.each([
    [
      'revoked',
      'token_revoked',
      (id: string) => workspace.session.call('deleteApiToken', { params: { tenantId: workspace.tenantId, id } }),
    ],
    ['expired', 'token_expired', (id: string) => expireToken(hub.database, id)],
  ] as const)('an API key that is %s starts and decides nothing', async (_state, code, end) => {
    const { id, key } = await workspace.createKey({ permissions: ['automations:manage', 'approvals:decide'] });
    const workflowId = await workflow();
    const { id: channelId } = await workspace.api.call('putAutomationChannel', {
      body: {
        provider: 'webhook',
        name: 'c',
        config: { inboundSecret: 'sixteen-characters', url: 'https://a.example/' },
      },
    });
    const hookWorkflow = await workflow({ type: 'webhook', webhook: { token: randomUUID() } });
    const targets: Target[] = [
      ['POST', `/v1/automations/workflows/${workflowId}/run`, { payload: {} }],
      ['POST', `/v1/automations/workflows/${workflowId}/run`, { payload: { text: 'x'.repeat(100_000) } }],
      ['POST', `/v1/automations/workflows/${workflowId}/run`, Buffer.alloc(0)],
      ['POST', `/v1/automations/approvals/${await pendingApproval()}/decide`, { decision: 'approved' }],
      ['POST', '/v1/automations/hooks/inbound', { workflowId: hookWorkflow, payload: {} }],
      ['POST', `/v1/automations/channels/${channelId}/inbound`, { text: 'x', from: 'y' }],
      ['POST', `/v1/automations/workflows/${workflowId}/run`, { payload: {} }, { 'idempotency-key': randomUUID() }],
    ];
    const { next, slow } = await endMeanwhile(key, '/v1/me', targets, () => end(id));
    expect(next).toEqual({ status: 401, code });
    expect(slow.map((response) => [response.status, response.code])).toEqual(targets.map(() => [401, code]));
    const runs = await workspace.api.call('listAutomationRuns', { query: { workflowId } });
    expect(runs.data).toEqual([]);
  });

  test('a blocked visitor and an ended visitor session send no message and no file', async () => {
    const scene = await chatScene(hub);
    const { tenantId } = scene;
    const targets = (): Target[] => [
      ['POST', '/widget/v1/messages', { clientId: randomUUID(), content: 'late message' }],
      [
        'POST',
        '/widget/v1/files?name=a.txt',
        Buffer.from('a late file'),
        { 'content-type': 'application/octet-stream' },
      ],
    ];
    const one = await scene.visitor();
    const blocked = await endMeanwhile(one.token, '/widget/v1/conversation', targets(), () =>
      scene.workspace.session.call('blockInboxVisitor', { params: { tenantId, id: one.visitorId } }),
    );
    expect(blocked.slow.map(({ code }) => code)).toEqual(['visitor_blocked', 'visitor_blocked']);
    const two = await scene.visitor();
    const ended = await endMeanwhile(two.token, '/widget/v1/conversation', targets(), () =>
      two.api.call('endVisitorSession', {}),
    );
    expect(ended.slow.map(({ status }) => status)).toEqual([401, 401]);
    expect(await hub.database.query('SELECT id FROM chat_files WHERE tenant_id = $1', [tenantId])).toEqual([]);
  });

  test('a removed or demoted admin stores no picture', async () => {
    const picture = Buffer.from(
      encodePng({ data: new Uint8Array(64 * 64 * 3).fill(90), width: 64, height: 64, channels: 3 }),
    );
    const admin = await secondAdmin();
    const other = await secondAdmin();
    const { tenantId } = workspace;
    const path = `/tenants/${tenantId}/members/${other.id}/picture`;
    const targets: Target[] = [['PUT', path, picture, { 'content-type': 'application/octet-stream' }]];
    const params = { tenantId, userId: admin.id };
    const demoted = await endMeanwhile(admin.token, '/auth/me', targets, () =>
      workspace.session.call('changeMember', { params, body: { role: 'agent' } }),
    );
    expect(demoted.slow.map(({ status }) => status)).toEqual([403]);
    const own: Target[] = [['PUT', '/auth/me/picture', picture, { 'content-type': 'application/octet-stream' }]];
    const removed = await endMeanwhile(admin.token, '/auth/me', own, () =>
      workspace.session.call('removeMember', { params }),
    );
    expect(removed.slow.map(({ status }) => status)).toEqual([401]);
    expect(await hub.database.query('SELECT id FROM member_pictures WHERE tenant_id = $1', [tenantId])).toEqual([]);
  });

  test('a revoked node sends no heartbeat, result or artifact', async () => {
    const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
    const device = { name: 'd', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] };
    const { deviceSecret } = await hub.client().call('claimAutomationNode', { body: { pairingCode, device } as never });
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'x',
        stepsJson: [{ type: 'skill', skillId: 'node.files_read', input: { nodeId, path: 'shared/big' } }],
      },
    });
    await workspace.api.call('runAutomationWorkflow', { params: { id } });
    const node = `/v1/automations/nodes/${nodeId}`;
    const { commands } = await hub
      .client(deviceSecret)
      .call('pollAutomationNodeCommands', { params: { id: nodeId }, query: { wait: 30, max: 1 } });
    const command = `${node}/commands/${commands[0]?.id}`;
    const result = { status: 'succeeded', output: { bytes: 4 } };
    const artifact = { name: 'a', contentType: 'image/png', base64: 'AAAA' };
    const form = `--b\r\nContent-Disposition: form-data; name="result"\r\n\r\n${JSON.stringify(result)}\r\n--b--\r\n`;
    const sha256 = '9f64a747e1b97f131fabb6b447296c9b6f0201e79fb3c5356e6c77e89b6a806a';
    const upload = `/artifacts/file.bin?bytes=4&sha256=${sha256}&contentType=image%2Fpng&offset=0`;
    const targets: Target[] = [
      ['POST', `${node}/heartbeat`, { paused: false }],
      ['POST', `${command}/result`, result],
      ['POST', `${command}/result`, { ...result, artifacts: [artifact] }],
      ['POST', `${command}/result`, Buffer.from(form), { 'content-type': 'multipart/form-data; boundary=b' }],
      ['PUT', `${command}${upload}`, Buffer.from([1, 2, 3, 4]), { 'content-type': 'application/octet-stream' }],
    ];
    const { next, slow } = await endMeanwhile(deviceSecret, `${node}/commands?wait=0&max=0`, targets, () =>
      workspace.api.call('deleteAutomationNode', { params: { id: nodeId } }),
    );
    expect(next.status).toBe(401);
    expect(slow.map(({ code }) => code)).toEqual(targets.map(() => 'device_secret_invalid'));
  });
});

test('an ordinary request with a small body authenticates its caller once', async () => {
  const { key } = await workspace.createKey();
  const { tenantId } = workspace;
  const post = async (path: string, token: string, body: object) => {
    using query = vi.spyOn(Client.prototype, 'query');
    const response = await send(hub.url, 'POST', path, { headers: bearer(token), body });
    expect(response.status).toBe(200);
    return query.mock.calls
      .map(([sent]) => (sent as { name?: string }).name)
      .filter((name) => name === 'find_session' || name === 'find_tokens');
  };
  const run = `/v1/automations/workflows/${await workflow()}/run`;
  for (const [path, token, body] of [
    [run, key, { payload: {} }],
    [run, workspace.jwt, { payload: {} }],
    [`/tenants/${tenantId}/webhooks`, workspace.jwt, { url: 'https://a.example/', events: ['message.created'] }],
  ] as const)
    expect(await post(path, token, body)).toHaveLength(1);
});
