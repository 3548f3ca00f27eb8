import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reasonPhrase } from '../../shared/errors.ts';
import { backoffMs } from './backoff.ts';
import { HubClient } from './hub-client.ts';
import { HubError } from './hub-error.ts';

const nodeId = '01890000-0000-7000-8000-000000000000';
const commandId = '01890000-0000-7000-8000-000000000001';
let reply: { status: number; headers?: Record<string, string>; body: string };
const server = createServer((_request, response) => response.writeHead(reply.status, reply.headers).end(reply.body));
beforeAll(() => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)));
afterAll(() => server.close());

const own = (status: number, code: string, message: string, more: object = {}) => ({
  status,
  body: JSON.stringify({ statusCode: status, error: reasonPhrase(status), message, requestId: 'r', code, ...more }),
});
const call = () =>
  new HubClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'secret').call(
    'pollAutomationNodeCommands',
    { params: { id: nodeId }, query: {} },
    { signal: AbortSignal.timeout(60_000), timeoutMs: 60_000 },
  );

async function errorOf(answer: typeof reply): Promise<HubError> {
  reply = answer;
  const error: unknown = await call().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(HubError);
  return error as HubError;
}

describe('a revocation or refusal', () => {
  test.each([
    ['text', { status: 401, body: 'Unauthorized' }],
    ['a page', { status: 404, body: '<h1>404</h1>' }],
    ['JSON of another shape', { status: 401, body: '{"code":"device_secret_invalid"}' }],
    ['a body that names another status', { ...own(401, 'device_secret_invalid', 'x'), status: 404 }],
    ['another code of a hub', own(401, 'unauthenticated', 'Send the device secret.')],
    [
      'a path that does not exist',
      own(
        404,
        'not_found',
        `There is nothing at /v1/automations/nodes/${nodeId}/commands/${commandId}/result; /docs lists every operation.`,
      ),
    ],
  ])('is not accepted from an answer with %s', async (_name, answer) => {
    const error = await errorOf(answer);
    expect([error.isRevocation, error.isRefusal, error.isUnknownCommand(commandId)]).toEqual([false, false, false]);
  });

  test('is accepted when the hub itself sends it', async () => {
    expect((await errorOf(own(401, 'device_secret_invalid', 'x'))).isRevocation).toBe(true);
    expect((await errorOf(own(400, 'validation_failed', 'x'))).isRefusal).toBe(true);
    const unknown = await errorOf(own(404, 'not_found', `There is no command ${commandId} for this node.`));
    expect([unknown.isUnknownCommand(commandId), unknown.isUnknownCommand(nodeId)]).toEqual([true, false]);
    expect(
      (
        await errorOf(
          own(404, 'not_found', 'in other words', { details: [{ path: 'params.commandId', message: 'x' }] }),
        )
      ).isUnknownCommand(commandId),
    ).toBe(true);
  });
});

describe('a poll answer of a hub of another version', () => {
  test('may have unknown fields, and a command that cannot be read is reported without losing the others', async () => {
    const command = {
      id: commandId,
      type: 'node.levitate',
      input: { height: 1 },
      expiresAt: 'in a form of its own',
      leaseSeconds: 45.5,
      priority: 'high',
    };
    reply = {
      status: 200,
      body: JSON.stringify({
        commands: [{ ...command, id: nodeId, input: 'not an object' }, command, { id: 7 }],
        withdrawn: [],
        mood: 'good',
      }),
    };
    const { body } = await call();
    expect(body.commands).toEqual([{ id: commandId, type: 'node.levitate', input: { height: 1 } }]);
    expect(body.unreadable).toEqual([{ id: nodeId, problem: expect.stringContaining('input') as string }]);
  });
});

describe('the pause before the next attempt', () => {
  test('has full jitter over a growing bound', () => {
    const bounds = Array.from({ length: 20 }, (_value, failures) => backoffMs(new Error('x'), failures, () => 1));
    expect(bounds[0]).toBe(250);
    expect(bounds).toEqual(bounds.toSorted((left, right) => left - right));
    expect(bounds.at(-1)).toBe(30_000);
    expect(backoffMs(new Error('x'), 20, () => 0)).toBe(0);
  });

  test('respects both forms of Retry-After, and adds jitter', async () => {
    const asked = await errorOf({ status: 503, headers: { 'retry-after': '1' }, body: '' });
    expect([backoffMs(asked, 0, () => 0), backoffMs(asked, 0, () => 1), backoffMs(asked, 20, () => 1)]).toEqual([
      1_000, 2_000, 31_000,
    ]);
    const dated = await errorOf({
      status: 503,
      headers: { 'retry-after': new Date(Date.now() + 60_000).toUTCString() },
      body: '',
    });
    expect(dated.retryAfterSeconds).toBeGreaterThan(30);
    expect(
      (await errorOf({ status: 503, headers: { 'retry-after': 'soon' }, body: '' })).retryAfterSeconds,
    ).toBeUndefined();
  });
});

test('an answer before the end of the request body is returned immediately, and does not delay the next call', async () => {
  const refused = own(409, 'storage_full', 'The artifacts of this workspace take all its room.');
  const early = createServer((request, response) => {
    // A hub refuses a piece in this way, without reading it.
    if (request.method === 'PUT') response.writeHead(refused.status).end(refused.body);
    else response.writeHead(200).end(JSON.stringify({ commands: [], withdrawn: [] }));
  });
  await new Promise<void>((done) => early.listen(0, '127.0.0.1', done));
  const client = new HubClient(`http://127.0.0.1:${(early.address() as AddressInfo).port}`, 'secret');
  const signal = AbortSignal.timeout(100_000);
  const stuck = new AbortController();
  async function* endless(chunks: number) {
    for (let sent = 0; sent < chunks; sent += 1) yield Buffer.alloc(64 * 1024);
    await once(stuck.signal, 'abort');
  }
  try {
    for (const chunks of [1, 4, 100]) {
      const put = client.call(
        'uploadAutomationNodeArtifact',
        {
          params: { id: nodeId, commandId, name: 'a' },
          query: { offset: 0, bytes: 1_000_000, sha256: 'a'.repeat(64), contentType: 'image/png' },
        },
        { signal, timeoutMs: 120_000, content: endless(chunks) },
      );
      await expect(put).rejects.toMatchObject({ code: 'storage_full', isRefusal: true });
      expect(
        (
          await client.call(
            'pollAutomationNodeCommands',
            { params: { id: nodeId }, query: {} },
            { signal, timeoutMs: 120_000 },
          )
        ).body.commands,
      ).toEqual([]);
    }
  } finally {
    stuck.abort();
    early.closeAllConnections();
    early.close();
  }
});

test('an answer over the size limit is aborted, and its connection is closed', async () => {
  let hasClosed = false;
  const endless = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const chunk = Buffer.alloc(1024 * 1024, ' ');
    const write = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', write).on('close', () => (hasClosed = true));
    write();
  });
  await new Promise<void>((done) => endless.listen(0, '127.0.0.1', done));
  try {
    const client = new HubClient(`http://127.0.0.1:${(endless.address() as AddressInfo).port}`, 'secret');
    const answer = client.call(
      'pollAutomationNodeCommands',
      { params: { id: nodeId }, query: {} },
      { signal: AbortSignal.timeout(60_000), timeoutMs: 60_000 },
    );
    await expect(answer).rejects.toMatchObject({
      code: 'answer_too_large',
      isRefusal: false,
      isRevocation: false,
      message: expect.stringContaining('more than 16777216 bytes') as string,
    });
    await expect.poll(() => hasClosed).toBe(true);
  } finally {
    endless.closeAllConnections();
    endless.close();
  }
});
