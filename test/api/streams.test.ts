import { once } from 'node:events';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { idBefore, newId } from '../../hub/platform/ids.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { addArtifact, addLogLines } from '../fixtures/stage/automations.ts';
import { expireToken, setTokenAddresses } from '../fixtures/stage/core.ts';
import { unawaited } from '../fixtures/unawaited.ts';

let hub: TestHub;
let second: TestHub;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outrigger-streams-'));
  hub = await startHub({ STREAMS_PER_WORKSPACE: '4', STREAMS_PER_KEY: '3', ARTIFACTS_FOLDER: folder });
  second = await startHub({}, hub.database);
});
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const live = '/v1/automations/logs/live';

/** An open stream with the text received so far and its end. */
async function open(key: string, headers: Record<string, string> = {}) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const response = await fetch(`${hub.url}${live}`, { headers: { 'x-api-key': key, ...headers }, signal: stop.signal });
  expect(response.status).toBe(200);
  const stream = { text: '', ended: false, stop: () => stop.abort() };
  unawaited(
    (async () => {
      try {
        for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
          stream.text += Buffer.from(chunk).toString();
      } catch {
        // The test ended the stream.
      }
      stream.ended = true;
    })(),
  );
  return stream;
}

describe('a live stream', () => {
  let workspace: TestWorkspace;
  beforeAll(async () => {
    workspace = await hub.workspace();
  });

  async function expectEnd(stream: { text: string; ended: boolean }, code: string): Promise<void> {
    await expect.poll(() => stream.ended).toBe(true);
    expect(stream.text).toMatch(new RegExp(`event: end\\ndata: \\{"type":"end","code":"${code}"`));
  }

  test('ends when its key is revoked, on any process, and other streams continue', async () => {
    const { id, key } = await workspace.createKey();
    const [stream, other] = [await open(key), await open(workspace.key)];
    await second.client(workspace.jwt).call('deleteApiToken', { params: { tenantId: workspace.tenantId, id } });
    await expectEnd(stream, 'token_revoked');
    expect(other.ended).toBe(false);
  });

  test('ends when its key expires', async () => {
    const { id, key } = await workspace.createKey({ expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
    const stream = await open(key);
    await expireToken(hub.database, id);
    await expectEnd(stream, 'token_expired');
  });

  test('ends when its workspace loses the entitlement', async () => {
    const own = await hub.workspace();
    const stream = await open(own.key);
    await second
      .client(adminKey)
      .call('putEntitlements', { params: { tenantId: own.tenantId }, body: { automations: false } });
    await expectEnd(stream, 'product_not_entitled');
  });

  test('ends when its key is no longer allowed from its address', async () => {
    const { id, key } = await workspace.createKey();
    const stream = await open(key);
    await setTokenAddresses(hub.database, id, ['203.0.113.0/24']);
    await expectEnd(stream, 'ip_not_allowed');
  });

  test('counts towards a limit of its key and of its workspace, separate from others', async () => {
    const own = await hub.workspace();
    const { key } = await own.createKey();
    const streams = [await open(own.key), await open(own.key), await open(own.key)];
    const overKey = await send(hub.url, 'GET', live, { headers: { 'x-api-key': own.key } });
    expect(overKey).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    expect(overKey.body.message).toContain('This key has reached its limit of 3');
    await open(key);
    const overWorkspace = await send(hub.url, 'GET', live, { headers: { 'x-api-key': key } });
    expect(overWorkspace.body.message).toContain('This workspace has reached its limit of 4');
    const other = await hub.workspace();
    await open(other.key);
    streams[0]?.stop();
    await expect
      .poll(async () => (await send(hub.url, 'GET', live, { headers: { 'x-api-key': key } })).status)
      .toBe(200);
  });

  test('does not count when its client disconnects before it begins', async () => {
    const { key } = await workspace.createKey();
    const { hostname, port } = new URL(hub.url);
    for (let milliseconds = 0; milliseconds < 12; milliseconds += 0.25) {
      const socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      socket.write(`GET ${live} HTTP/1.1\r\nHost: hub\r\nX-API-Key: ${key}\r\n\r\n`);
      await delay(milliseconds);
      socket.destroy();
    }
    // The three streams of this key are free again when the hub notices the closed connections.
    for (let count = 0; count < 3; count += 1) {
      await expect
        .poll(() =>
          open(key).then(
            () => 'open',
            () => 'refused',
          ),
        )
        .toBe('open');
    }
  });

  test('replays a limited part to a reconnecting client, and reports the position where it stopped', async () => {
    const own = await hub.workspace();
    const { id } = await own.api.call('createAutomationWorkflow', {
      body: { name: 'w', stepsJson: [{ type: 'log', message: 'new line' }] } as never,
    });
    const { runId } = (await own.api.call('runAutomationWorkflow', { params: { id } })) as { runId: string };
    await settledRun(own.api, runId);
    const anHourAgo = new Date(Date.now() - 3_600_000);
    await addLogLines(
      hub.database,
      { tenantId: own.tenantId, workflowId: id, runId },
      { count: 10_500, firstId: idBefore(anHourAgo) },
    );
    const stream = await open(own.key, { 'last-event-id': idBefore(anHourAgo) });
    await expect.poll(() => stream.text.includes('event: reset')).toBe(true);
    expect(stream.text.split('"message":"old"').length - 1).toBe(10_000);
    expect(stream.text).toContain(
      `"after":"${idBefore(anHourAgo).slice(0, 23)}-${(10_000).toString(16).padStart(12, '0')}"`,
    );
    await own.api.call('runAutomationWorkflow', { params: { id } });
    await expect.poll(() => stream.text.slice(stream.text.indexOf('event: reset')).includes('new line')).toBe(true);
  });
});

describe('a download', () => {
  const bytes = 256 * 1024 * 1024;

  /** An artifact that is larger than the buffers of both ends of a connection. */
  async function artifactOf({ tenantId }: TestWorkspace): Promise<string> {
    const id = newId();
    await mkdir(join(folder, tenantId), { recursive: true });
    await writeFile(join(folder, tenantId, id), '');
    await truncate(join(folder, tenantId, id), bytes);
    await addArtifact(hub.database, { id, tenantId, bytes });
    return id;
  }

  test('waits for its client, counts as a stream of its key, and ends when the key is revoked', async () => {
    const workspace = await hub.workspace();
    const path = `/v1/automations/artifacts/${await artifactOf(workspace)}`;
    const { id, key } = await workspace.createKey();
    const { port } = new URL(hub.url);
    const stream = await open(key);
    const readers = Array.from({ length: 2 }, () => {
      const reader = { socket: connect(Number(port), '127.0.0.1'), received: 0, closed: false };
      onTestFinished(() => {
        reader.socket.destroy();
      });
      reader.socket
        .on('error', () => undefined)
        .on('close', () => {
          reader.closed = true;
        });
      reader.socket.on('data', (chunk: Buffer) => {
        reader.received += chunk.length;
      });
      // Reads the response headers, and nothing more.
      reader.socket.once('data', () => reader.socket.pause());
      reader.socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`);
      return reader;
    });
    await expect.poll(() => readers.every(({ received }) => received > 0)).toBe(true);
    expect(await send(hub.url, 'GET', path, { headers: { 'x-api-key': key } })).toMatchObject({
      status: 429,
      body: { code: 'rate_limited' },
    });
    await second.client(workspace.jwt).call('deleteApiToken', { params: { tenantId: workspace.tenantId, id } });
    await expect.poll(() => stream.ended).toBe(true);
    await expect
      .poll(() => {
        readers.forEach(({ socket }) => socket.resume());
        return readers.every(({ closed }) => closed);
      })
      .toBe(true);
    expect(Math.max(...readers.map(({ received }) => received))).toBeLessThan(bytes / 2);
  });
});
