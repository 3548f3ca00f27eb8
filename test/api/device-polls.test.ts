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
import { releaseCommand, setCommandTimeLeft } from '../fixtures/stage/nodes.ts';
import { until } from '../fixtures/until.ts';

/** What may go wrong between a command and its device, stage by stage. */

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

/** A poll whose connection is the test's own. */
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

// Of a connection that is gone nobody can tell any more whose it was, unless it was asked while it was there.
const remember = (message: unknown) => void (message as { socket: Socket }).socket.remotePort;
beforeAll(() => subscribe('net.server.socket', remember));
afterAll(() => void unsubscribe('net.server.socket', remember));

/** Whether the hub handed the whole answer to a connection over to its system, as Node.js tells it. */
function watchAnswer(socket: Socket): Disposable & { leftWhole: () => boolean } {
  let port: number | undefined;
  socket.once('connect', () => {
    port = socket.localPort;
  });
  let left = false;
  const finished = (message: unknown) => {
    left ||= port !== undefined && (message as { socket: Socket }).socket.remotePort === port;
  };
  subscribe('http.server.response.finish', finished);
  return { leftWhole: () => left, [Symbol.dispose]: () => void unsubscribe('http.server.response.finish', finished) };
}

test('a ping with a path is sent to the device without the path', async () => {
  const { runId } = await workspace.api.call('runAutomationSkill', {
    params: { skillId: 'node.ping' },
    body: { input: { nodeId, path: '/srv', waitMs: 60_000 } },
  });
  const [command] = (await poll({ wait: 20 })).commands;
  expect(command).toMatchObject({ type: 'node.ping', input: {} });
  await complete(command?.id as string);
  const run = await workspace.api.call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 20 } });
  expect(run).toMatchObject({ status: 'succeeded' });
});

test('a poll is handed no more than it asked for', async () => {
  const runIds = await Promise.all(Array.from({ length: 30 }, () => begin('node.ping')));
  for (const runId of runIds) await written(runId);
  expect((await poll({ max: 4, wait: 1 })).commands).toHaveLength(4);
  const [leased] = await hub.database.query<{ count: number }>(
    `select count(*)::int as count from node_commands where node_id = $1 and status = 'leased'`,
    [nodeId],
  );
  expect(leased?.count).toBe(4);
});

describe.each(['node.ping', 'browser.click'] as const)('a poll for %s that is lost', (skillId) => {
  test('before the hub looks leases nothing', async () => {
    const dropped = rawPoll('wait=25&max=1');
    dropped.socket.destroy();
    const runId = await begin(skillId);
    await written(runId);
    const { commands } = await poll({ wait: 20 });
    expect(commands).toMatchObject([{ type: skillId }]);
  });

  test('while it waits leases nothing, or puts it back', async () => {
    // Dropped at every moment of a command's way: before it is written, while it is leased, while its answer is on the way out.
    const taken: (string | undefined)[] = [];
    for (let turn = 0; turn < 10; turn += 1) {
      const dropped = rawPoll('wait=25&max=1');
      using answer = watchAnswer(dropped.socket);
      const started = begin(skillId);
      await delay(4 + turn * 6);
      dropped.socket.destroy();
      const runId = await started;
      await written(runId);
      // What the hub did not send it must get now; a command whose answer left the hub whole is the other end's to report.
      if (!answer.leftWhole()) {
        const { commands } = await poll({ wait: 20 });
        if (!answer.leftWhole()) taken.push(commands[0]?.type);
      }
      await workspace.api.call('cancelAutomationRun', { params: { id: runId } });
    }
    expect(new Set(taken)).toEqual(new Set([skillId]));
  });

  test('before the request arrives costs nothing', async () => {
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

  test('after its answer was written is made good as far as that is safe', async () => {
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
    // A device that may hold more than it names gets nothing again; one that names all it holds gets what only reads.
    expect((await poll({})).commands).toEqual([]);
    const { commands } = await poll({ runningIsComplete: 'true' });
    expect(commands.map(({ type }) => type)).toEqual(skillId === 'node.ping' ? ['node.ping'] : []);
    expect(await statusOf(runId)).toBe('leased');
  });
});

describe('what a device holds', () => {
  test('is not handed out again while it names it, and its lease is kept beyond its own time', async () => {
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

  test('is its own again when it was about to be given away', async () => {
    const runId = await begin('node.ping');
    await written(runId);
    const id = (await poll({ wait: 20 })).commands[0]?.id as string;
    await releaseCommand(hub.database, id);
    expect(await poll({ running: id })).toEqual({ commands: [], withdrawn: [] });
    expect(await statusOf(runId)).toBe('leased');
    expect(await complete(id)).toMatchObject({ recorded: true });
  });

  test('is withdrawn once its run is cancelled', async () => {
    const runId = await begin('node.ping');
    await written(runId);
    const id = (await poll({ wait: 20 })).commands[0]?.id as string;
    const waiting = poll({ wait: 20, max: 0, running: id, runningIsComplete: 'true' });
    await workspace.api.call('cancelAutomationRun', { params: { id: runId } });
    expect((await waiting).withdrawn).toEqual([id]);
  });
});

describe('two polls of one device', () => {
  test('at once are handed each command once', async () => {
    const polls = Array.from({ length: 6 }, () => poll({ wait: 10, max: 1 }));
    const runIds = await Promise.all(Array.from({ length: 6 }, () => begin('node.ping')));
    const ids = (await Promise.all(polls)).flatMap(({ commands }) => commands.map(({ id }) => id));
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(await complete(id)).toMatchObject({ recorded: true });
    for (const id of runIds)
      expect(
        (await workspace.api.call('getAutomationRun', { params: { id }, query: { waitSeconds: 20 } })).status,
      ).toBe('succeeded');
  });

  test('where it waits in one at a time leave the older one empty, and the next command to the newer', async () => {
    const older = poll({ wait: 25, runningIsComplete: 'true' });
    // The older one is parked once the hub has seen the device.
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
    expect(
      (await workspace.api.call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 20 } })).status,
    ).toBe('succeeded');
  });
});

test('a device that waits in more polls than it needs loses the oldest, and no command', async () => {
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
