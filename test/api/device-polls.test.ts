import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Client, Fetch } from '../fixtures/contract-client.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startProxy } from '../fixtures/proxy.ts';
import type { ProxyFault } from '../fixtures/proxy.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { releaseCommand, setCommandTimeLeft } from '../fixtures/stage/nodes.ts';
import { until } from '../fixtures/until.ts';

/** Tests the delivery of commands to devices when connections break at each stage. */

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

let nodeId: string;
let deviceSecret: string;
let device: Client;
beforeEach(async () => {
  const created = await workspace.api.call('createAutomationNode', { body: { allowBrowser: true } });
  nodeId = created.nodeId;
  ({ deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: {
      pairingCode: created.pairingCode,
      device: { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] },
    },
  }));
  device = hub.client(deviceSecret);
});

async function begin(skillId: 'node.ping' | 'browser.click'): Promise<string> {
  const input = { nodeId, waitMs: 60_000, ...(skillId === 'browser.click' ? { target: { text: 'x' } } : {}) };
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'poll', stepsJson: [{ type: 'skill', skillId, input: input as never }] },
  });
  return startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } })).runId;
}

type Query = { wait?: number; max?: number; running?: string; runningIsComplete?: 'true' };
const poll = (query: Query = {}, client = device) =>
  client.call('pollAutomationNodeCommands', { params: { id: nodeId }, query: { max: 1, ...query } });
const hubClientAt = (url: string): Client =>
  createClient({ baseUrl: url, fetch: fetch as unknown as Fetch, token: deviceSecret });
const complete = (commandId: string) =>
  device.call('completeAutomationNodeCommand', {
    params: { id: nodeId, commandId },
    body: { status: 'succeeded', output: { pong: true, latencyMs: 0, appVersion: '1' } } as never,
  });
const commandOf = async (runId: string) =>
  (
    await hub.database.query<{ id: string; status: string; error: { code: string } | null }>(
      'select id, status, error from node_commands where run_id = $1',
      [runId],
    )
  )[0];
const statusOf = async (runId: string) => (await commandOf(runId))?.status;
const written = (runId: string) =>
  until(
    async () => (await statusOf(runId)) !== undefined,
    () => 'the command was not written',
  );

/** Sends a poll over a connection that the test controls. */
function rawPoll(query: string): { socket: Socket } {
  const { hostname, port } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  socket.resume();
  socket.on('error', () => undefined);
  socket.write(
    `GET /v1/automations/nodes/${nodeId}/commands?${query} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer ${deviceSecret}\r\n\r\n`,
  );
  return { socket };
}

// Node.js caches the remote port of a socket only if it is read while the connection is open.
const remember = (message: unknown) => void (message as { socket: Socket }).socket.remotePort;
beforeAll(() => subscribe('net.server.socket', remember));
afterAll(() => void unsubscribe('net.server.socket', remember));

/** Observes whether Node.js passed the complete response of a connection to the operating system. */
function watchResponse(socket: Socket): Disposable & { isSent: () => boolean } {
  let port: number | undefined;
  socket.once('connect', () => {
    port = socket.localPort;
  });
  let left = false;
  const finished = (message: unknown) => {
    left ||= port !== undefined && (message as { socket: Socket }).socket.remotePort === port;
  };
  subscribe('http.server.response.finish', finished);
  return { isSent: () => left, [Symbol.dispose]: () => void unsubscribe('http.server.response.finish', finished) };
}

test('a ping with a path is sent to the device without the path', async () => {
  const { runId } = await workspace.api.call('runAutomationSkill', {
    params: { skillId: 'node.ping' },
    body: { input: { nodeId, path: '/srv', waitMs: 60_000 } },
  });
  const [command] = (await poll({ wait: 20 })).commands;
  expect(command).toMatchObject({ type: 'node.ping', input: {} });
  await complete(command?.id as string);
  const run = await settledRun(workspace.api, runId);
  expect(run).toMatchObject({ status: 'succeeded' });
});

test('a poll leases at most `max` commands', async () => {
  const runIds = await Promise.all(Array.from({ length: 30 }, () => begin('node.ping')));
  for (const runId of runIds) await written(runId);
  expect((await poll({ max: 4, wait: 1 })).commands).toHaveLength(4);
  const [leased] = await hub.database.query<{ count: number }>(
    `select count(*)::int as count from node_commands where node_id = $1 and status = 'leased'`,
    [nodeId],
  );
  expect(leased?.count).toBe(4);
});

describe.each(['node.ping', 'browser.click'] as const)('a poll for %s whose connection breaks', (skillId) => {
  test('before the hub processes it leases no command', async () => {
    const dropped = rawPoll('wait=25&max=1');
    dropped.socket.destroy();
    const runId = await begin(skillId);
    await written(runId);
    const { commands } = await poll({ wait: 20 });
    expect(commands).toMatchObject([{ type: skillId }]);
  });

  test('while it waits leases no command or returns the lease', async () => {
    // The connection breaks at different times: before the command is written, while it is leased, while the response
    // is sent.
    const types: (string | undefined)[] = [];
    for (let turn = 0; turn < 10; turn += 1) {
      const dropped = rawPoll('wait=25&max=1');
      using answer = watchResponse(dropped.socket);
      const started = begin(skillId);
      await delay(4 + turn * 6);
      dropped.socket.destroy();
      const runId = await started;
      await written(runId);
      // A command whose response was not sent completely must be delivered now.
      if (!answer.isSent()) {
        const { commands } = await poll({ wait: 20 });
        if (!answer.isSent()) types.push(commands[0]?.type);
      }
      await workspace.api.call('cancelAutomationRun', { params: { id: runId } });
    }
    expect(new Set(types)).toEqual(new Set([skillId]));
  });

  test('before the request arrives leaves the command pending', async () => {
    await using proxy = await startProxy(hub.url);
    const faults: ProxyFault[] = ['lose request'];
    proxy.fault = () => faults.shift();
    const runId = await begin(skillId);
    await written(runId);
    const through = hubClientAt(proxy.url);
    await expect(poll({}, through)).rejects.toThrow();
    expect(await statusOf(runId)).toBe('pending');
    expect((await poll({}, through)).commands).toMatchObject([{ type: skillId }]);
  });

  test('after the response was written gets a read-only command again, but never an action', async () => {
    await using proxy = await startProxy(hub.url);
    const faults: ProxyFault[] = ['lose answer'];
    proxy.fault = () => faults.shift();
    const runId = await begin(skillId);
    await written(runId);
    const through = hubClientAt(proxy.url);
    await expect(poll({}, through)).rejects.toThrow();
    await until(
      async () => (await statusOf(runId)) === 'leased',
      () => 'the command was not leased',
    );
    // Only a device that names all its commands gets a command again, and only a read-only one.
    expect((await poll({})).commands).toEqual([]);
    const { commands } = await poll({ runningIsComplete: 'true' });
    expect(commands.map(({ type }) => type)).toEqual(skillId === 'node.ping' ? ['node.ping'] : []);
    expect(await statusOf(runId)).toBe('leased');
  });
});

describe('a command that a device runs', () => {
  test('is not leased again while polls name it, and each poll renews its lease', async () => {
    const runId = await begin('node.ping');
    await written(runId);
    const [command] = (await poll({ wait: 20 })).commands;
    const id = command?.id as string;
    await setCommandTimeLeft(hub.database, id, { seconds: 1 });
    expect(await poll({ running: id, runningIsComplete: 'true' })).toEqual({ commands: [], withdrawn: [] });
    const kept = await hub.database.query<{ lease: boolean; time: boolean }>(
      `select lease_expires_at > now() + interval '30 seconds' as lease, expires_at > now() + interval '30 seconds' as time from node_commands where id = $1`,
      [id],
    );
    expect(kept).toEqual([{ lease: true, time: true }]);
    expect(await complete(id)).toMatchObject({ status: 'succeeded', recorded: true });
  });

  test('is leased to the device again when it had become pending', async () => {
    const runId = await begin('node.ping');
    await written(runId);
    const id = (await poll({ wait: 20 })).commands[0]?.id as string;
    await releaseCommand(hub.database, id);
    expect(await poll({ running: id })).toEqual({ commands: [], withdrawn: [] });
    expect(await statusOf(runId)).toBe('leased');
    expect(await complete(id)).toMatchObject({ recorded: true });
  });

  test('is withdrawn when its run is cancelled', async () => {
    const runId = await begin('node.ping');
    await written(runId);
    const id = (await poll({ wait: 20 })).commands[0]?.id as string;
    const waiting = poll({ wait: 20, max: 0, running: id, runningIsComplete: 'true' });
    await workspace.api.call('cancelAutomationRun', { params: { id: runId } });
    expect((await waiting).withdrawn).toEqual([id]);
  });
});

describe('concurrent polls of one device', () => {
  test('receive each command once', async () => {
    const polls = Array.from({ length: 6 }, () => poll({ wait: 25, max: 1 }));
    const runIds = await Promise.all(Array.from({ length: 6 }, () => begin('node.ping')));
    const ids = (await Promise.all(polls)).flatMap(({ commands }) => commands.map(({ id }) => id));
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(await complete(id)).toMatchObject({ recorded: true });
    for (const id of runIds) expect((await settledRun(workspace.api, id)).status).toBe('succeeded');
  });

  test('with runningIsComplete end the older poll empty, and the newer one receives the next command', async () => {
    const older = poll({ wait: 25, runningIsComplete: 'true' });
    // The node becomes online when the older poll waits.
    await until(
      async () =>
        (await workspace.api.call('listAutomationNodes', {})).data.some(
          ({ id, status }) => id === nodeId && status === 'online',
        ),
      () => 'the poll did not arrive',
    );
    const newer = poll({ wait: 25, runningIsComplete: 'true' });
    const first = await Promise.race([older.then(() => 'older'), newer.then(() => 'newer')]);
    expect(['older', 'newer']).toContain(first);
    const runId = await begin('node.ping');
    const last = await (first === 'older' ? newer : older);
    expect(last.commands).toMatchObject([{ type: 'node.ping' }]);
    expect(await complete(last.commands[0]?.id as string)).toMatchObject({ recorded: true });
    expect((await settledRun(workspace.api, runId)).status).toBe('succeeded');
  });
});

test('a device with more than 8 waiting polls loses the oldest polls and no command', async () => {
  let ended = 0;
  const answers = Array.from({ length: 12 }, () =>
    poll({ wait: 25 }).then(
      ({ commands }) => {
        ended += 1;
        return commands;
      },
      () => [],
    ),
  );
  await expect.poll(() => ended).toBe(4);
  const runId = await begin('node.ping');
  await expect.poll(() => ended).toBe(5);
  await workspace.api.call('deleteAutomationNode', { params: { id: nodeId } });
  expect((await Promise.all(answers)).flat()).toMatchObject([{ type: 'node.ping' }]);
  expect((await commandOf(runId))?.error?.code).toBe('node_revoked');
});
