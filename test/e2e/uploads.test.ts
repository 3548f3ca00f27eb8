import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HubClient } from '../../node-agent/runtime/hub-client.ts';
import { newDelivery, ResultSender } from '../../node-agent/runtime/result-sender.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { reasonPhrase } from '../../shared/errors.ts';
import { startCompanion } from '../fixtures/companion.ts';
import type { TestCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { startSlowConnection } from '../fixtures/slow-connection.ts';
import type { SlowConnection } from '../fixtures/slow-connection.ts';
import { until } from '../fixtures/until.ts';

// 100 MB at 2 Mbit/s take 400 s, 3.3 times the time limit of other request bodies. The test uses the same ratio. On a
// busy machine, a small body can take seconds.
const bodyLimits = { totalMs: 6_000, idleMs: 20_000 };
const fileBytes = 2_000_000;
const lineBytesPerSecond = 100_000;

/** A proxy in front of the hub. It sends the response of `answer`, or forwards the request if `answer` returns null. */
type Answer = (method: string, path: string) => { status: number; body: string } | null;
let answer: Answer = () => null;
let puts = 0;
const front = createServer((request, response) => {
  const { method = '', url = '' } = request;
  if (method === 'PUT') puts += 1;
  const given = answer(method, url);
  if (given !== null) {
    request.resume();
    response.writeHead(given.status, { 'content-type': 'application/json' }).end(given.body);
    return;
  }
  const upstream = httpRequest(`${hub.url}${url}`, { method, headers: request.headers }, (real) => {
    response.writeHead(real.statusCode ?? 502, real.headers);
    real.pipe(response);
    real.on('error', () => response.destroy());
  });
  upstream.on('error', () => response.destroy());
  request.on('close', () => request.complete || upstream.destroy());
  request.pipe(upstream);
});
// The proxy refuses the channel, so that polls and uploads share the connection.
front.on('upgrade', (_request, socket) =>
  socket.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'),
);

let folder: string;
let database: TestDatabase;
let hub: TestHub;
let workspace: TestWorkspace;
let line: SlowConnection;
let companion: TestCompanion;
const start = () =>
  startHub({ RATE_LIMIT_PER_MINUTE: '100000', ARTIFACTS_FOLDER: folder, NODE_POLL_SECONDS: '1' }, database, {
    bodyLimits,
  });
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outrigger-artifacts-'));
  database = await acquireDatabase();
  hub = await start();
  workspace = await hub.workspace();
  await new Promise<void>((done) => front.listen(0, '127.0.0.1', done));
  line = await startSlowConnection(`http://127.0.0.1:${(front.address() as AddressInfo).port}`);
  companion = await startCompanion(hub, workspace, { hubUrl: line.url, allow: [] });
});
beforeEach(() => {
  answer = () => null;
  puts = 0;
  line.setSpeed(Infinity);
});
afterAll(async () => {
  await companion[Symbol.asyncDispose]();
  await line[Symbol.asyncDispose]();
  front.closeAllConnections();
  front.close();
  await hub[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Starts a run that reads a large file of a companion. */
async function readBig(): Promise<{ runId: string; content: Buffer }> {
  const content = randomBytes(fileBytes);
  writeFileSync(join(companion.shared, 'big.bin'), content);
  const { id } = await hub.client(workspace.key).call('createAutomationWorkflow', {
    body: {
      name: 'x',
      stepsJson: [
        { type: 'skill', skillId: 'node.files_read', input: { nodeId: companion.nodeId, path: 'shared/big.bin' } },
      ],
    },
  });
  return {
    runId: startedRun(await hub.client(workspace.key).call('runAutomationWorkflow', { params: { id } })).runId,
    content,
  };
}

async function expectArrived(runId: string, content: Buffer): Promise<void> {
  const run = await settledRun(hub.client(workspace.key), runId);
  expect(run, JSON.stringify(run.error)).toMatchObject({ status: 'succeeded' });
  const output = run.stepsResultJson[0]?.output as Record<string, string>;
  const response = await fetch(`${hub.url}/v1/automations/artifacts/${output['artifactId']}`, {
    headers: { 'x-api-key': workspace.key },
  });
  expect(sha256(Buffer.from(await response.arrayBuffer()))).toBe(sha256(content));
}

/** Bytes that the hub has stored of unfinished uploads. */
const received = async () => {
  const rows = await database.query<{ id: string }>('select id from artifact_uploads', []);
  return rows.reduce(
    (sum, { id }) =>
      sum + (existsSync(join(folder, '.uploads', id)) ? readFileSync(join(folder, '.uploads', id)).length : 0),
    0,
  );
};

describe('a large artifact on a slow connection', () => {
  test('is uploaded although it takes longer than the time limit of a request body', async () => {
    line.setSpeed(lineBytesPerSecond);
    const before = line.sent;
    const { runId, content } = await readBig();
    await expectArrived(runId, content);
    expect(line.sent - before).toBeLessThan(fileBytes * 1.2);
  });

  test('resumes after a lost connection, a kill of the companion and a restart of the hub', async () => {
    line.setSpeed(lineBytesPerSecond);
    const before = line.sent;
    const { runId, content } = await readBig();
    const passed = (share: number) =>
      until(
        async () => (await received()) > fileBytes * share,
        () => 'nothing arrives',
      );
    await passed(0.15);
    line.cut();
    await passed(0.35);
    await companion.stop('SIGKILL');
    const kept = await received();
    await companion.start();
    await passed(0.6);
    // Otherwise a busy machine could finish the upload before the hub stops.
    line.setSpeed(lineBytesPerSecond / 20);
    await hub[Symbol.asyncDispose]();
    hub = await start();
    expect(await received()).toBeGreaterThanOrEqual(kept);
    line.setSpeed(lineBytesPerSecond);
    await expectArrived(runId, content);
    // Three interruptions repeat only the bytes in transit, not the whole file.
    expect(line.sent - before).toBeLessThan(fileBytes * 2);
    await expect.poll(() => readdirSync(companion.home + '/journal').filter((name) => name !== 'seen.log')).toEqual([]);
    await expect.poll(() => readdirSync(join(folder, '.uploads'))).toEqual([]);
  });
});

const own = (status: number, code: string, message: string) => ({
  status,
  body: JSON.stringify({ statusCode: status, error: reasonPhrase(status), message, requestId: 'r', code }),
});

test('the companion uploads a form to a hub that does not support chunks', async () => {
  answer = (method, path) =>
    method === 'PUT' ? own(404, 'not_found', `There is nothing at ${path}; /docs lists every operation.`) : null;
  for (let round = 0; round < 2; round += 1) {
    const { runId, content } = await readBig();
    await expectArrived(runId, content);
  }
  // The companion tries a chunk once per connection. After a reconnect, the hub may be another one.
  expect(puts).toBe(1);
  const losses = () => companion.log().split('"disconnected"').length;
  const before = losses();
  line.cut();
  await expect.poll(losses).toBeGreaterThan(before);
});

test('an upload is retried after an error response of a proxy', async () => {
  const answers = [403, 404, 413, 502];
  answer = (method) => {
    const status = method === 'PUT' ? answers.shift() : undefined;
    return status === undefined ? null : { status, body: '<h1>proxy</h1>' };
  };
  const { runId, content } = await readBig();
  await expectArrived(runId, content);
  expect(answers).toEqual([]);
});

test('an error of the hub fails the command without a retry and with the reason', async () => {
  answer = (method) =>
    method === 'PUT' ? own(409, 'storage_full', 'The artifacts of this workspace take all its room.') : null;
  const { runId } = await readBig();
  const run = await settledRun(hub.client(workspace.key), runId);
  expect(run, JSON.stringify({ puts, log: companion.log() })).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('take all its room') as string },
  });
  expect(puts).toBe(1);
});

test('an upload keeps only chunks of the file in memory', async () => {
  const path = join(folder, 'large.bin');
  const bytes = 96 * 1024 * 1024;
  writeFileSync(path, Buffer.alloc(bytes, 7));
  let arrived = 0;
  let most = 0;
  const server = createServer((request, response) => {
    const offset = Number(new URL(request.url ?? '', 'http://x').searchParams.get('offset') ?? 0);
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
    });
    request.on('end', () => {
      arrived = Math.max(arrived, offset + size);
      const { arrayBuffers, external } = process.memoryUsage();
      most = Math.max(most, arrayBuffers, external);
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          id: '01890000-0000-7000-8000-000000000000',
          received: arrived,
          complete: arrived === bytes,
        }),
      );
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const client = new HubClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'secret');
  const before = process.memoryUsage().external;
  const finished = {
    commandId: '01890000-0000-7000-8000-000000000000',
    result: { status: 'succeeded' as const },
    artifacts: [{ name: 'large.bin', contentType: 'application/octet-stream', filePath: path }],
  };
  await new ResultSender(client, '01890000-0000-7000-8000-000000000001').send(
    finished,
    newDelivery(false),
    { signal: AbortSignal.timeout(50_000), withheld: new AbortController().signal },
    () => undefined,
  );
  server.close();
  server.closeAllConnections();
  expect(arrived).toBe(bytes);
  expect(most - before).toBeLessThan(bytes / 3);
});
