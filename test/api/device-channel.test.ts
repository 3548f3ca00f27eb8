import { once } from 'node:events';
import { request } from 'node:http';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { channelProtocol, hubAnswer, maxChannelFrameBytes } from '../../shared/contract/nodes/channel.ts';
import type { HubAnswerFrame } from '../../shared/contract/nodes/channel.ts';
import { patientDatabase, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const device = { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '0', capabilities: [] };

interface Device {
  nodeId: string;
  secret: string;
  path: string;
}

async function pair(at: TestHub = hub, of: TestWorkspace = workspace): Promise<Device> {
  const { pairingCode } = await of.api.call('createAutomationNode', { body: { allowSystem: true } });
  const { nodeId, deviceSecret } = await at.client().call('claimAutomationNode', { body: { pairingCode, device } });
  return { nodeId, secret: deviceSecret, path: `/v1/automations/nodes/${nodeId}/channel` };
}

/** A device channel without the client of the companion. */
class Channel {
  readonly socket: WebSocket;
  readonly answers: HubAnswerFrame[] = [];
  closed: { code: number; reason: string } | undefined;
  #id = 0;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => this.answers.push(hubAnswer.parse(JSON.parse(data.toString()))));
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
    });
  }

  ask(type: string, body: unknown, commandId?: string): number {
    this.#id += 1;
    this.socket.send(JSON.stringify({ id: this.#id, type, body, commandId, later: 'versions say more' }));
    return this.#id;
  }

  ended(): Promise<void> {
    return until(
      () => this.closed !== undefined,
      () => `the channel is still open; answers: ${JSON.stringify(this.answers)}`,
    );
  }

  answerTo(id: number): HubAnswerFrame | undefined {
    return this.answers.find((answer) => answer.id === id);
  }

  async answer(id: number): Promise<{ status: number; body: Record<string, unknown> }> {
    await until(
      () => this.answerTo(id) !== undefined,
      () => `no answer to ${id}; closed: ${JSON.stringify(this.closed)}`,
    );
    return this.answerTo(id) as { status: number; body: Record<string, unknown> };
  }
}

async function open({ path, secret }: Device, at: TestHub = hub): Promise<Channel> {
  const socket = new WebSocket(`${at.url.replace('http', 'ws')}${path}`, channelProtocol, {
    headers: { authorization: `Bearer ${secret}` },
  });
  const channel = new Channel(socket);
  await once(socket, 'open');
  return channel;
}

/** Sends an upgrade request. Returns the HTTP response, or status 101 when the upgrade succeeds. */
function requestUpgrade(path: string, headers: Record<string, string>): Promise<{ status: number; body: string }> {
  return new Promise((done, fail) => {
    const sent = request(`${hub.url}${path}`, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': Buffer.alloc(16).toString('base64'),
        ...headers,
      },
    });
    sent.on('response', (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      response.on('end', () => done({ status: response.statusCode ?? 0, body }));
    });
    sent.on('upgrade', (_response, socket) => {
      socket.destroy();
      done({ status: 101, body: '' });
    });
    sent.on('error', fail);
    sent.end();
  });
}

const runPing = async (nodeId: string): Promise<string> =>
  (await workspace.api.call('runAutomationSkill', { params: { skillId: 'node.ping' }, body: { input: { nodeId } } }))
    .runId;

const pong = { status: 'succeeded', output: { pong: true, latencyMs: 0, appVersion: '0' } };
const longPoll = { wait: 60, max: 4, running: [], runningIsComplete: true };

describe('a channel', () => {
  test('is opened only by its device with the channel protocol, and never by a web page', async () => {
    const own = await pair();
    const other = await pair();
    const authorization = `Bearer ${own.secret}`;
    const asked = { 'sec-websocket-protocol': `other, ${channelProtocol}` };
    expect(await requestUpgrade(own.path, { ...asked, authorization })).toMatchObject({ status: 101 });
    for (const [headers, path, status, code] of [
      [asked, own.path, 401, 'unauthenticated'],
      [{ ...asked, authorization }, other.path, 401, 'device_secret_invalid'],
      [{ ...asked, authorization: `Bearer ${workspace.key}` }, own.path, 401, 'device_secret_invalid'],
      [{ ...asked, authorization, origin: hub.url }, own.path, 403, 'origin_not_allowed'],
      [{ authorization }, own.path, 426, 'upgrade_required'],
      [{ ...asked, authorization }, '/v1/automations/nodes/nobody/channel', 400, 'validation_failed'],
    ] as const) {
      const answer = await requestUpgrade(path, headers);
      expect(JSON.parse(answer.body)).toMatchObject({ statusCode: status, code });
      expect(answer.status).toBe(status);
    }
    const plain = await send(hub.url, 'GET', own.path, { headers: { authorization } });
    expect(plain).toMatchObject({ status: 426, body: { code: 'upgrade_required' } });
    expect(plain.headers.get('upgrade')).toBe('websocket');
    expect(await send(hub.url, 'GET', own.path)).toMatchObject({ status: 401 });
  });

  test('is the only upgrade: upgrade requests to other paths get a normal response', async () => {
    expect(await requestUpgrade('/healthz', {})).toMatchObject({ status: 200 });
    expect(await requestUpgrade('/healthz', { upgrade: 'h2c' })).toMatchObject({ status: 200 });
    expect(await requestUpgrade('/v1/automations/nodes', {})).toMatchObject({ status: 401 });
  });

  test('delivers commands immediately, and accepts results and heartbeats', async () => {
    const paired = await pair();
    const channel = await open(paired);
    const poll = channel.ask('poll', longPoll);
    const runId = await runPing(paired.nodeId);
    const { status, body } = await channel.answer(poll);
    expect(status).toBe(200);
    const [command] = body['commands'] as { id: string; type: string }[];
    expect(command?.type).toBe('node.ping');
    const beat = channel.ask('heartbeat', { paused: false, running: [command?.id] });
    expect(await channel.answer(beat)).toMatchObject({
      status: 200,
      body: { ok: true, withdrawn: [], allowSystem: true },
    });
    const result = await channel.answer(channel.ask('result', pong, command?.id));
    expect(result).toMatchObject({ status: 200, body: { id: command?.id, status: 'succeeded', recorded: true } });
    const again = await channel.answer(channel.ask('result', pong, command?.id));
    expect(again).toMatchObject({ status: 200, body: { recorded: false } });
    const run = await settledRun(workspace.api, runId);
    expect(run.status).toBe('succeeded');
    channel.socket.close();
  });

  test('refuses invalid requests with the wrong field, and ignores unknown request types', async () => {
    const channel = await open(await pair());
    channel.socket.send(Buffer.from([1, 2, 3]), { binary: true });
    channel.ask('dance', { wildly: true });
    channel.socket.send('{"type":"note"}');
    for (const [type, body, path] of [
      ['poll', { max: 17 }, 'body.max'],
      ['poll', { running: ['x'] }, 'body.running[0]'],
      ['heartbeat', { paused: 'no' }, 'body.paused'],
      ['result', pong, 'params.commandId'],
      ['heartbeat', undefined, 'body'],
    ] as const) {
      const answer = await channel.answer(channel.ask(type, body));
      expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed', details: [{ path }] } });
    }
    const unknown = channel.ask('result', pong, crypto.randomUUID());
    expect(await channel.answer(unknown)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(channel.answers).toHaveLength(6);
    const named = { status: 'failed', error: { code: 'not_found', message: '"__proto__" is not here' } };
    expect((await channel.answer(channel.ask('result', named, crypto.randomUUID()))).status).toBe(404);
    channel.socket.send('{"id":901,"type":"poll","body":{"__proto__":{}}}');
    expect(await channel.answer(901)).toMatchObject({ status: 400, body: { code: 'invalid_json' } });
    channel.socket.send('{"type":"poll",');
    await channel.ended();
    expect(channel.closed?.code).toBe(4400);
  });

  test.each([
    ['a frame that is not a request', '[]', 4400],
    [
      'a frame that is too large',
      JSON.stringify({ id: 1, type: 'poll', body: 'x'.repeat(maxChannelFrameBytes) }),
      1009,
    ],
  ])('closes after %s', async (_what, text, code) => {
    const channel = await open(await pair());
    channel.socket.send(text);
    await channel.ended();
    expect(channel.closed?.code).toBe(code);
  });

  test('closes when a device has too many concurrent requests', async () => {
    const channel = await open(await pair());
    for (let index = 0; index < 2_000; index += 1) channel.ask('heartbeat', {});
    await channel.ended();
    expect(channel.closed?.code).toBe(4429);
  });

  test('fails its poll and closes when its node is revoked', async () => {
    const paired = await pair();
    const channel = await open(paired);
    const poll = channel.ask('poll', longPoll);
    await workspace.api.call('deleteAutomationNode', { params: { id: paired.nodeId } });
    expect(await channel.answer(poll)).toMatchObject({ status: 401, body: { code: 'device_secret_invalid' } });
    await channel.ended();
    expect(channel.closed?.code).toBe(4401);
  });

  test('closes when its node is revoked, also without a request in progress', async () => {
    const paired = await pair();
    const channel = await open(paired);
    await channel.answer(channel.ask('heartbeat', {}));
    await workspace.api.call('deleteAutomationNode', { params: { id: paired.nodeId } });
    await channel.ended();
    expect(channel.closed?.code).toBe(4401);
  });

  test('counts frames of unknown types towards the rate limit and closes when it is exceeded', async () => {
    await using tight = await startHub({ NODE_RATE_LIMIT_PER_MINUTE: '20' });
    const channel = await open(await pair(tight, await tight.workspace()), tight);
    for (let index = 0; index < 60; index += 1) channel.socket.send('{"type":"hello"}');
    await channel.ended();
    expect(channel.closed?.code).toBe(4429);
    expect(channel.answers).toEqual([]);
  });

  test('closes when the same device opens a newer channel, which receives the next command', async () => {
    const paired = await pair();
    const older = await open(paired);
    older.ask('poll', longPoll);
    const newer = await open(paired);
    await older.ended();
    expect(older.closed?.code).toBe(4409);
    const poll = newer.ask('poll', longPoll);
    await runPing(paired.nodeId);
    expect((await newer.answer(poll)).body['commands']).toHaveLength(1);
    newer.socket.close();
  });

  test('loses no command when its connection breaks: the next channel receives the command', async () => {
    const paired = await pair();
    const broken = await open(paired);
    broken.ask('poll', longPoll);
    await until(
      async () => {
        const [row] = await hub.database.query<{ online: boolean }>('SELECT online FROM nodes WHERE id = $1', [
          paired.nodeId,
        ]);
        return row?.online === true;
      },
      () => 'the hub did not process the poll',
    );
    broken.socket.terminate();
    await runPing(paired.nodeId);
    const next = await open(paired);
    expect((await next.answer(next.ask('poll', longPoll))).body['commands']).toHaveLength(1);
    next.socket.close();
  });

  test('counts its requests towards the rate limit of its device', async () => {
    await using tight = await startHub({ NODE_RATE_LIMIT_PER_MINUTE: '20' });
    const channel = await open(await pair(tight, await tight.workspace()), tight);
    for (let index = 0; index < 15; index += 1) await channel.answer(channel.ask('heartbeat', {}));
    let answer = await channel.answer(channel.ask('heartbeat', {}));
    // More than two limits, because a new minute may start in between.
    for (let index = 0; index < 50 && answer.status === 200; index += 1)
      answer = await channel.answer(channel.ask('heartbeat', {}));
    expect(answer).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    expect((answer as HubAnswerFrame).retryAfterSeconds).toBeGreaterThan(0);
    channel.socket.terminate();
  });
});

test('a stopping hub ends polls with empty responses, answers pending requests and then closes its channels', async () => {
  const database = await acquireDatabase();
  const stopping = await startHub({}, database, patientDatabase);
  const paired = await pair(stopping, await stopping.workspace());
  const channel = await open(paired, stopping);
  const poll = channel.ask('poll', longPoll);
  await channel.answer(channel.ask('heartbeat', {}));
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT 1 FROM nodes WHERE id = $1 FOR UPDATE', [paired.nodeId]);
  const beat = channel.ask('heartbeat', {});
  await until(
    async () =>
      (
        await database.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'transactionid'`,
        )
      ).length > 0,
    () => 'the heartbeat does not wait for the lock',
  );
  const ended = stopping[Symbol.asyncDispose]();
  expect(await channel.answer(poll)).toMatchObject({ status: 200, body: { commands: [], withdrawn: [] } });
  expect(channel.answerTo(beat)).toBeUndefined();
  await client.query('COMMIT');
  expect(await channel.answer(beat)).toMatchObject({ status: 200 });
  await channel.ended();
  expect(channel.closed?.code).toBe(1001);
  await ended;
  await client.end();
  await database[Symbol.asyncDispose]();
});
