import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';

/** Waiting polls bypass the normal request handling. Their responses must be the same as those of other operations. */

let hub: TestHub;
let workspace: TestWorkspace;
let agent: Agent;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
  agent = new Agent({ connections: 64 });
});
afterAll(async () => {
  await agent.close();
  await hub[Symbol.asyncDispose]();
});

async function pair(of: TestWorkspace = workspace, at: TestHub = hub) {
  const { nodeId, pairingCode } = await of.api.call('createAutomationNode', { body: {} });
  const device = { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] };
  const { deviceSecret } = await at.client().call('claimAutomationNode', { body: { pairingCode, device } });
  return { nodeId, url: `${at.url}/v1/automations/nodes/${nodeId}/commands`, secret: deviceSecret };
}
type Device = Awaited<ReturnType<typeof pair>>;

const poll = async ({ url, secret }: Device, query: string, headers: Record<string, string> = {}) => {
  const answer = await request(`${url}?${query}`, {
    dispatcher: agent,
    headers: { authorization: `Bearer ${secret}`, ...headers },
  });
  return { status: answer.statusCode, headers: answer.headers, body: (await answer.body.json()) as object };
};
/** With a `Content-Length` header a poll uses the normal request handling. */
const normalHandling = { 'content-length': '0' };
const ping = (nodeId: string) =>
  workspace.api.call('runAutomationSkill', { params: { skillId: 'node.ping' }, body: { input: { nodeId } } });

const shown = ({ status, headers }: Awaited<ReturnType<typeof poll>>) => {
  const { date, 'x-request-id': id, 'content-length': length, ...rest } = headers;
  expect([date, id, length].every((value) => typeof value === 'string')).toBe(true);
  return { status, ...rest };
};

test('a response has the same headers whether its poll waited, did not wait, or used the normal request handling', async () => {
  const device = await pair();
  const direct = await poll(device, 'wait=0');
  expect(direct.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
  });
  const waited = await poll(device, 'wait=1');
  const waiting = poll(device, 'wait=25');
  await ping(device.nodeId);
  const woken = await waiting;
  expect(woken.body).toMatchObject({ commands: [{ type: 'node.ping' }] });
  const other = await poll(device, 'wait=0', normalHandling);
  for (const each of [waited, woken, other]) expect(shown(each)).toEqual(shown(direct));
  const named = await poll(device, 'wait=0', { 'x-request-id': 'own-id.1' });
  expect(named.headers['x-request-id']).toBe('own-id.1');
});

test.each([
  ['a wait that is too long', 'wait=31', {}, 400, 'validation_failed'],
  ['a repeated parameter', 'wait=1&wait=2', {}, 400, 'validation_failed'],
  ['an unknown command id', 'running=x', {}, 400, 'validation_failed'],
  ['a wrong secret', 'wait=1', { authorization: 'Bearer wrong' }, 401, 'device_secret_invalid'],
  ['no secret', 'wait=1', { authorization: '' }, 401, 'unauthenticated'],
])('%s gets the same error as in other operations', async (_what, query, headers, status, code) => {
  const device = await pair();
  const [first, known, other] = [
    await poll(device, query, headers),
    await poll(device, query, headers),
    await poll(device, query, { ...headers, ...normalHandling }),
  ];
  expect(first).toMatchObject({ status, body: { code, requestId: first.headers['x-request-id'] } });
  for (const each of [known, other]) expect(shown(each)).toEqual(shown(first));
});

test('an invalid node id gets the same error as in other operations', async () => {
  const device = { ...(await pair()), url: `${hub.url}/v1/automations/nodes/nobody/commands` };
  const [first, other] = [await poll(device, 'wait=1'), await poll(device, 'wait=1', normalHandling)];
  expect(first).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  expect(shown(other)).toEqual(shown(first));
});

describe('a waiting poll whose client disconnects', () => {
  const seen = async () => {
    const text = await (await fetch(`${hub.url}/metrics`)).text();
    const counts = text.matchAll(/request_seconds_count\{operation="pollAutomationNodeCommands"[^}]*\} (\d+)/g);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };

  test('ends, is counted in the metrics, and leaves later commands to the next poll', async () => {
    const device = await pair();
    await poll(device, 'wait=0');
    const before = await seen();
    const gone = new AbortController();
    const polls = Array.from({ length: 5 }, () =>
      request(`${device.url}?wait=25`, {
        dispatcher: agent,
        headers: { authorization: `Bearer ${device.secret}` },
        signal: gone.signal,
      }).catch(() => 'gone'),
    );
    await expect
      .poll(async () => {
        await new Promise((done) => setImmediate(done));
        return agent.stats[hub.url]?.running ?? 0;
      })
      .toBeGreaterThanOrEqual(5);
    gone.abort();
    expect(await Promise.all(polls)).toEqual(polls.map(() => 'gone'));
    await expect.poll(async () => (await seen()) - before).toBe(5);
    await ping(device.nodeId);
    expect((await poll(device, 'wait=25')).body).toMatchObject({ commands: [{ type: 'node.ping' }] });
  });
});

test('a HEAD poll leases no command, because its response has no body', async () => {
  const device = await pair();
  await ping(device.nodeId);
  const waitingCommands = async () =>
    (await workspace.api.call('listAutomationNodeCommands', { params: { id: device.nodeId } })).data.map(
      ({ status }) => status,
    );
  await expect.poll(waitingCommands).toEqual(['pending']);
  const head = await request(`${device.url}?wait=0`, {
    method: 'HEAD',
    dispatcher: agent,
    headers: { authorization: `Bearer ${device.secret}` },
  });
  await head.body.dump();
  expect([head.statusCode, await waitingCommands()]).toEqual([200, ['pending']]);
  const { body } = await poll(device, 'wait=0');
  expect(body).toMatchObject({ commands: [{ type: 'node.ping' }] });
});

test('a waiting poll fails when its node is revoked', async () => {
  const device = await pair();
  await poll(device, 'wait=0');
  const waiting = poll(device, 'wait=25');
  await workspace.api.call('deleteAutomationNode', { params: { id: device.nodeId } });
  expect(await waiting).toMatchObject({ status: 401, body: { code: 'device_secret_invalid' } });
});

test('a stopping hub ends all waiting polls with complete empty responses', async () => {
  const stopping = await startHub({ SHUTDOWN_SECONDS: '20' });
  const own = await stopping.workspace();
  const devices = await Promise.all(Array.from({ length: 10 }, () => pair(own, stopping)));
  for (const device of devices) await poll(device, 'wait=0');
  let received = 0;
  const onRequest = () => {
    received += 1;
  };
  subscribe('http.server.request.start', onRequest);
  onTestFinished(() => void unsubscribe('http.server.request.start', onRequest));
  const polls = devices.flatMap((device) => [poll(device, 'wait=25'), poll(device, 'wait=25')]);
  await expect.poll(() => received).toBeGreaterThanOrEqual(polls.length);
  // Simulates a busy machine, on which all timers are due at the same time.
  const busy = setInterval(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30), 1);
  try {
    await stopping[Symbol.asyncDispose]();
  } finally {
    clearInterval(busy);
  }
  for (const answer of await Promise.all(polls))
    expect(answer).toMatchObject({ status: 200, body: { commands: [], withdrawn: [] } });
});
