import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encode } from 'fast-png';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFileBlobs } from '../../hub/platform/blobs/blobs.ts';
import { Database } from '../../hub/platform/db/database.ts';
import { ArtifactQuota, ArtifactUploads } from '../../hub/products/nodes/index.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { ageArtifactUpload, setCommandLease, withdrawCommand } from '../fixtures/stage/nodes.ts';

/** The limits of one process. A busy machine must not reach them before an upload is authenticated. */
const bodyLimits = { totalMs: 2_000, idleMs: 60_000 };
const quotaMib = 8;
let folder: string;
let database: TestDatabase;
let hub: TestHub;
/** Another process, with low time limits of bodies. */
let impatient: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outrigger-artifacts-'));
  database = await acquireDatabase();
  hub = await startHub(
    { RATE_LIMIT_PER_MINUTE: '100000', ARTIFACTS_FOLDER: folder, ARTIFACTS_PER_WORKSPACE_MIB: String(quotaMib) },
    database,
  );
  impatient = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', ARTIFACTS_FOLDER: folder }, database, { bodyLimits });
  workspace = await hub.workspace();
});
afterAll(async () => {
  await impatient[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

interface Device {
  nodeId: string;
  headers: { authorization: string };
  /** Starts a run whose command waits for its result. */
  take(): Promise<{ runId: string; commandId: string }>;
}

async function pair(owner: TestWorkspace = workspace): Promise<Device> {
  const { nodeId, pairingCode } = await owner.api.call('createAutomationNode', { body: {} });
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: {
      pairingCode,
      device: { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] },
    },
  });
  return {
    nodeId,
    headers: { authorization: `Bearer ${deviceSecret}` },
    async take() {
      const { id } = await owner.api.call('createAutomationWorkflow', {
        body: {
          name: 'x',
          stepsJson: [{ type: 'skill', skillId: 'node.files_read', input: { nodeId, path: 'shared/big' } }],
        },
      });
      const { runId } = startedRun(await owner.api.call('runAutomationWorkflow', { params: { id } }));
      const { commands } = await hub
        .client(deviceSecret)
        .call('pollAutomationNodeCommands', { params: { id: nodeId }, query: { wait: 30, max: 1 } });
      return { runId, commandId: commands[0]?.id as string };
    },
  };
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const pathOf = (device: Device, commandId: string, name = 'file.bin') =>
  `/v1/automations/nodes/${device.nodeId}/commands/${commandId}/artifacts/${name}`;
const factsOf = (whole: Buffer, contentType = 'application/octet-stream') => ({
  bytes: String(whole.length),
  sha256: sha256(whole),
  contentType,
});

/** Sends the bytes from `offset` on, up to `end`, as a piece of `whole`. */
function put(
  device: Device,
  commandId: string,
  whole: Buffer,
  offset = 0,
  end = whole.length,
  {
    name = 'file.bin',
    facts = factsOf(whole),
    url = hub.url,
  }: { name?: string; facts?: Record<string, string>; url?: string } = {},
) {
  return send(
    url,
    'PUT',
    `${pathOf(device, commandId, name)}?${new URLSearchParams({ ...facts, offset: String(offset) }).toString()}`,
    { headers: device.headers, raw: whole.subarray(offset, end) },
  );
}
const ask = (device: Device, commandId: string, name = 'file.bin') =>
  send(hub.url, 'GET', pathOf(device, commandId, name), { headers: device.headers });
const complete = (device: Device, commandId: string, body: unknown) =>
  send(hub.url, 'POST', `/v1/automations/nodes/${device.nodeId}/commands/${commandId}/result`, {
    headers: device.headers,
    body,
  });
const readReply = (whole: Buffer) => ({
  encoding: 'artifact',
  artifact: 'file.bin',
  bytes: whole.length,
  sha256: sha256(whole),
  eof: true,
});
const settled = (runId: string) => settledRun(workspace.api, runId);
/** Files of incomplete uploads that this process has open. Empty where the system does not show them. */
const openUploads = () =>
  existsSync('/proc/self/fd')
    ? readdirSync('/proc/self/fd').flatMap((name) => {
        try {
          const path = readlinkSync(`/proc/self/fd/${name}`);
          return path.startsWith(join(folder, '.uploads')) ? [path] : [];
        } catch {
          return [];
        }
      })
    : [];
const partials = () => readdir(join(folder, '.uploads'));

async function multipart(
  device: Device,
  commandId: string,
  result: unknown,
  files: { name: string; type: string; content: string }[],
  resultFirst = true,
) {
  const boundary = 'outrigger-test';
  const field = `--${boundary}\r\nContent-Disposition: form-data; name="result"\r\n\r\n${JSON.stringify(result)}\r\n`;
  const parts = files
    .map(
      ({ name, type, content }) =>
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${name}"\r\nContent-Type: ${type}\r\n\r\n${content}\r\n`,
    )
    .join('');
  return send(hub.url, 'POST', `/v1/automations/nodes/${device.nodeId}/commands/${commandId}/result`, {
    headers: { ...device.headers, 'content-type': `multipart/form-data; boundary=${boundary}` },
    raw: Buffer.from(`${resultFirst ? field + parts : parts + field}--${boundary}--\r\n`, 'latin1'),
  });
}

describe('an upload in pieces', () => {
  test('resumes where it stopped, at any process of the hub, and becomes an artifact with the result that names it', async () => {
    const device = await pair();
    const { runId, commandId } = await device.take();
    const whole = randomBytes(300_000);
    expect((await ask(device, commandId)).body).toMatchObject({ received: 0, bytes: null, complete: false });
    expect((await put(device, commandId, whole, 0, 0)).body).toMatchObject({
      received: 0,
      bytes: 300_000,
      complete: false,
    });
    expect((await put(device, commandId, whole, 0, 100_000)).body).toMatchObject({
      received: 100_000,
      complete: false,
    });
    // Bytes that are sent twice are stored once.
    expect((await put(device, commandId, whole, 50_000, 120_000)).body).toMatchObject({ received: 120_000 });
    await using second = await startHub({ ARTIFACTS_FOLDER: folder }, database);
    expect((await put(device, commandId, whole, 120_000, 200_000, { url: second.url })).body).toMatchObject({
      received: 200_000,
    });
    expect((await ask(device, commandId)).body).toMatchObject({ received: 200_000, bytes: 300_000, complete: false });
    expect((await put(device, commandId, whole, 200_000)).body).toMatchObject({ received: 300_000, complete: true });
    expect((await put(device, commandId, whole)).body).toMatchObject({ received: 300_000, complete: true });
    expect(
      (await complete(device, commandId, { status: 'succeeded', output: readReply(whole), uploads: ['file.bin'] }))
        .body,
    ).toMatchObject({ status: 'succeeded', recorded: true });
    const output = (await settled(runId)).stepsResultJson[0]?.output as Record<string, string>;
    const response = await fetch(`${hub.url}/v1/automations/artifacts/${output['artifactId']}`, {
      headers: { 'x-api-key': workspace.key },
    });
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(sha256(Buffer.from(await response.arrayBuffer()))).toBe(sha256(whole));
    // A browser asks before it shows the artifact again, and needs a valid credential for the answer.
    expect(response.headers.get('cache-control')).toBe('private, no-cache');
    const again = (headers: Record<string, string>) =>
      fetch(response.url, {
        // Without `cache-control`, `fetch` of Node adds `no-cache`, which browsers do not send.
        headers: { 'if-none-match': response.headers.get('etag') as string, 'cache-control': 'max-age=0', ...headers },
      });
    const unchanged = await again({ 'x-api-key': workspace.key });
    expect([unchanged.status, await unchanged.text()]).toEqual([304, '']);
    expect((await again({})).status).toBe(401);
    expect(await database.query('select 1 from artifact_uploads where command_id = $1', [commandId])).toEqual([]);
  });

  test('is returned as a small copy where it is a picture and a width is given', async () => {
    const device = await pair();
    const { runId, commandId } = await device.take();
    const whole = Buffer.from(encode({ width: 1_280, height: 800, channels: 3, data: randomBytes(1_280 * 800 * 3) }));
    const facts = factsOf(whole, 'image/png');
    expect((await put(device, commandId, whole, 0, whole.length, { facts })).body).toMatchObject({ complete: true });
    await complete(device, commandId, { status: 'succeeded', output: readReply(whole), uploads: ['file.bin'] });
    const output = (await settled(runId)).stepsResultJson[0]?.output as Record<string, string>;
    const read = async (query: string, headers: Record<string, string> = { 'x-api-key': workspace.key }) => {
      const response = await fetch(`${hub.url}/v1/automations/artifacts/${output['artifactId']}${query}`, { headers });
      return { response, bytes: Buffer.from(await response.arrayBuffer()) };
    };
    const { response, bytes } = await read('?w=320');
    expect(response.headers.get('content-type')).toBe('image/webp');
    expect(bytes.subarray(8, 12).toString()).toBe('WEBP');
    expect(bytes.length).toBeLessThan(whole.length / 10);
    const etag = response.headers.get('etag') as string;
    const again = { 'if-none-match': etag, 'cache-control': 'max-age=0', 'x-api-key': workspace.key };
    expect((await read('?w=320', again)).response.status).toBe(304);
    for (const other of ['', '?w=640']) {
      const { response: changed } = await read(other, again);
      expect(changed.status).toBe(200);
      expect(changed.headers.get('etag')).not.toBe(etag);
    }
    const part = await read('?w=320', { range: 'bytes=8-11', 'x-api-key': workspace.key });
    expect([part.response.status, part.bytes.toString()]).toEqual([206, 'WEBP']);
    expect((await read('?w=99999')).response.status).toBe(400);
    const elsewhere = await hub.workspace();
    expect((await read('?w=320', { 'x-api-key': elsewhere.key })).response.status).toBe(404);
  });

  test('keeps the bytes that arrived before its connection was interrupted', async () => {
    const device = await pair();
    const { commandId } = await device.take();
    const whole = randomBytes(400_000);
    const url = new URL(
      `${hub.url}${pathOf(device, commandId)}?${new URLSearchParams({ ...factsOf(whole), offset: '0' }).toString()}`,
    );
    const cut = httpRequest(url, { method: 'PUT', headers: { ...device.headers, 'content-length': whole.length } });
    cut.on('error', () => undefined);
    cut.write(whole.subarray(0, 250_000));
    const received = async () => (await ask(device, commandId)).body['received'];
    await expect.poll(received).toBe(250_000);
    cut.destroy();
    expect((await put(device, commandId, whole, 250_000)).body).toMatchObject({ received: 400_000, complete: true });
  });

  test('rejects an invalid piece with the problem, and restarts for other bytes', async () => {
    const device = await pair();
    const { commandId } = await device.take();
    const whole = randomBytes(1000);
    expect(await put(device, commandId, whole, 10)).toMatchObject({
      status: 409,
      body: { code: 'upload_offset_invalid', message: expect.stringContaining('has 0 bytes') as string },
    });
    expect(await put(device, commandId, whole, 0, 1000, { facts: { ...factsOf(whole), bytes: '999' } })).toMatchObject({
      status: 413,
      body: { code: 'payload_too_large' },
    });
    const wrong = { ...factsOf(whole), sha256: 'f'.repeat(64) };
    expect(await put(device, commandId, whole, 0, 1000, { facts: wrong })).toMatchObject({
      status: 422,
      body: { code: 'checksum_mismatch' },
    });
    expect((await ask(device, commandId)).body).toMatchObject({ received: 0 });
    expect((await put(device, commandId, whole, 0, 600)).body).toMatchObject({ received: 600 });
    expect(
      await complete(device, commandId, { status: 'succeeded', output: readReply(whole), uploads: ['file.bin'] }),
    ).toMatchObject({ status: 400, body: { message: expect.stringContaining('body.uploads[0]') as string } });
    const other = randomBytes(700);
    expect((await put(device, commandId, other, 0, 100)).body).toMatchObject({ received: 100, bytes: 700 });
    for (const [query, path] of [
      ['offset=-1', 'query.offset'],
      ['bytes=0', 'query.bytes'],
      ['bytes=268435457', 'query.bytes'],
      ['sha256=x', 'query.sha256'],
      ['contentType=x', 'query.contentType'],
    ] as const) {
      const [name = '', value = ''] = query.split('=');
      const answer = await send(
        hub.url,
        'PUT',
        `${pathOf(device, commandId)}?${new URLSearchParams({ ...factsOf(whole), offset: '0', [name]: value }).toString()}`,
        { headers: device.headers, raw: whole },
      );
      expect(answer, query).toMatchObject({ status: 400, body: { code: 'validation_failed', details: [{ path }] } });
    }
  });

  test('has a limit per command', async () => {
    const device = await pair();
    const { commandId } = await device.take();
    const whole = randomBytes(10);
    for (let index = 0; index < 16; index += 1)
      expect((await put(device, commandId, whole, 0, 0, { name: `file-${index}` })).status).toBe(200);
    expect(await put(device, commandId, whole, 0, 0, { name: 'file-16' })).toMatchObject({
      status: 400,
      body: { details: [{ path: 'params.name' }] },
    });
    expect((await put(device, commandId, whole, 0, 10, { name: 'file-15' })).body).toMatchObject({ complete: true });
  });
});

describe('no byte is written', () => {
  test('for a command that is unknown, of another device, or ended', async () => {
    const device = await pair();
    const { commandId } = await device.take();
    const otherDevice = await pair(await hub.workspace());
    const whole = randomBytes(1000);
    const before = await partials();
    const form = (who: Device, id: string) =>
      multipart(who, id, { status: 'succeeded', output: {} }, [
        { name: 'a.bin', type: 'application/octet-stream', content: 'x'.repeat(1000) },
      ]);
    for (const [who, id] of [
      [device, missingId],
      [otherDevice, commandId],
    ] as const) {
      expect(await put(who, id, whole)).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect(await ask(who, id)).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect(await form(who, id)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    }
    expect(await put({ ...otherDevice, nodeId: device.nodeId }, commandId, whole)).toMatchObject({ status: 401 });
    await complete(device, commandId, { status: 'failed', error: { code: 'failed', message: 'x' } });
    expect(await put(device, commandId, whole)).toMatchObject({ status: 409, body: { code: 'command_ended' } });
    expect((await form(device, commandId)).body).toMatchObject({ status: 'failed', recorded: false });
    expect(await partials()).toEqual(before);
  });

  test('beyond the quota of the workspace, for every way of upload', async () => {
    const owner = await hub.workspace();
    const device = await pair(owner);
    const { commandId } = await device.take();
    const announced = (mib: number) => ({
      bytes: String(mib * 1024 * 1024),
      sha256: 'a'.repeat(64),
      contentType: 'image/png',
    });
    const none = Buffer.alloc(0);
    const before = await partials();
    expect(await put(device, commandId, none, 0, 0, { facts: announced(quotaMib + 1) })).toMatchObject({
      status: 409,
      body: { code: 'storage_full' },
    });
    // The announced size is reserved before any byte arrives.
    expect((await put(device, commandId, none, 0, 0, { facts: announced(quotaMib - 1) })).status).toBe(200);
    expect(await put(device, commandId, none, 0, 0, { name: 'second', facts: announced(2) })).toMatchObject({
      status: 409,
      body: { code: 'storage_full' },
    });
    const content = 'x'.repeat(1.5 * 1024 * 1024);
    const result = {
      status: 'succeeded',
      output: { encoding: 'artifact', artifact: 'a.bin', bytes: content.length, sha256: 'a'.repeat(64), eof: true },
    };
    expect(await multipart(device, commandId, result, [{ name: 'a.bin', type: 'text/plain', content }])).toMatchObject({
      status: 409,
      body: { code: 'storage_full' },
    });
    expect(
      await complete(device, commandId, {
        ...result,
        artifacts: [{ name: 'a.bin', contentType: 'text/plain', base64: Buffer.from(content).toString('base64') }],
      }),
    ).toMatchObject({ status: 409, body: { code: 'storage_full' } });
    expect(await partials()).toEqual(before);
    expect(await readdir(folder)).not.toContain(owner.tenantId);
  });
});

test('artifacts of a failed result are deleted, for every way of upload', async () => {
  const device = await pair();
  const failed = { status: 'failed', error: { code: 'failed', message: 'x' } };
  const before = await partials();
  for (const resultFirst of [true, false]) {
    const { commandId } = await device.take();
    expect(
      (
        await multipart(
          device,
          commandId,
          failed,
          [{ name: 'a.bin', type: 'image/png', content: 'x'.repeat(100_000) }],
          resultFirst,
        )
      ).body,
    ).toMatchObject({ recorded: true });
    expect(await database.query('select 1 from artifacts where command_id = $1', [commandId])).toEqual([]);
  }
  const { commandId } = await device.take();
  const whole = randomBytes(1000);
  expect((await put(device, commandId, whole)).body).toMatchObject({ complete: true });
  expect(
    (
      await complete(device, commandId, {
        ...failed,
        uploads: ['file.bin'],
        artifacts: [{ name: 'b.bin', contentType: 'image/png', base64: 'AAAA' }],
      })
    ).body,
  ).toMatchObject({ recorded: true });
  expect(await database.query('select 1 from artifacts where command_id = $1', [commandId])).toEqual([]);
  expect(await partials()).toEqual(before);
});

test('the upload of a piece keeps its command alive, and ends with it', async () => {
  const device = await pair();
  const { commandId } = await device.take();
  const whole = randomBytes(300_000);
  await using db = new Database({
    url: database.url,
    maxConnections: 3,
    applicationName: 'test',
    onError: () => undefined,
  });
  const uploads = new ArtifactUploads({
    db,
    blobs: await createFileBlobs(folder),
    quota: new ArtifactQuota(quotaMib * 1024 * 1024),
    checkIntervalMs: 0,
  });
  const left = async () =>
    (
      await database.query<{ left: number }>(
        'select extract(epoch from lease_expires_at - now())::float8 as left from node_commands where id = $1',
        [commandId],
      )
    )[0]?.left;
  let passed = 0;
  const body = async function* body() {
    for (let at = 0; at < whole.length; at += 100_000) {
      if (at === 100_000) await setCommandLease(database, commandId, { seconds: 10 });
      if (at === 200_000) {
        expect(await left()).toBeGreaterThan(60);
        await workspace.api.call('deleteAutomationNode', { params: { id: device.nodeId } });
      }
      passed += 1;
      yield whole.subarray(at, at + 100_000);
    }
    throw new Error('more bytes were accepted');
  };
  const facts = { bytes: whole.length + 1, sha256: sha256(whole), contentType: 'application/octet-stream', offset: 0 };
  await expect(
    uploads.receive(
      { tenantId: workspace.tenantId, nodeId: device.nodeId },
      commandId,
      'file.bin',
      facts,
      body(),
      async () => undefined,
    ),
  ).rejects.toMatchObject({ code: 'command_ended' });
  expect(passed).toBe(3);
});

test('the upload of a whole result keeps its command alive, and ends with it', async () => {
  const device = await pair();
  const { runId, commandId } = await device.take();
  const uploads = new ArtifactUploads({
    db: hub.app.db,
    blobs: await createFileBlobs(folder),
    quota: new ArtifactQuota(quotaMib * 1024 * 1024),
    checkIntervalMs: 0,
  });
  await setCommandLease(database, commandId, { seconds: 10 });
  const passed: number[] = [];
  const body = async function* body() {
    for (let piece = 0; piece < 5; piece += 1) {
      if (piece === 2) {
        expect(
          await database.query(
            `select 1 from node_commands where id = $1 and lease_expires_at > now() + interval '60 seconds'`,
            [commandId],
          ),
        ).toHaveLength(1);
        await workspace.api.call('cancelAutomationRun', { params: { id: runId } });
      }
      passed.push(piece);
      yield Buffer.alloc(1);
    }
  };
  const read = async () => {
    for await (const _piece of uploads.passMultipart(
      { tenantId: workspace.tenantId, nodeId: device.nodeId },
      commandId,
      body(),
    ));
  };
  await expect(read()).rejects.toMatchObject({ code: 'command_ended' });
  expect(passed).toEqual([0, 1, 2]);
});

test('an invalid content type gets 400, for every way of upload', async () => {
  const device = await pair();
  const { commandId } = await device.take();
  const result = { status: 'succeeded', output: {} };
  for (const type of ['x', 'image/png\u0001', 'image/p\u0000ng', 'image/png/x', 'text', '<b>/x']) {
    const answers = [
      await multipart(device, commandId, result, [{ name: 'a.bin', type, content: 'x' }]),
      await complete(device, commandId, {
        ...result,
        artifacts: [{ name: 'a.bin', contentType: type, base64: 'AAAA' }],
      }),
      await put(device, commandId, randomBytes(10), 0, 10, {
        facts: { ...factsOf(randomBytes(10)), contentType: type },
      }),
    ];
    for (const answer of answers)
      expect(answer, JSON.stringify(type)).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', message: expect.stringMatching(/content ?type|must be/i) as string },
      });
  }
});

test('the sweep deletes abandoned uploads and the bytes that a killed process left', async () => {
  const device = await pair();
  const [first, second] = [await device.take(), await device.take()];
  const whole = randomBytes(1000);
  for (const { commandId } of [first, second]) await put(device, commandId, whole, 0, 500);
  const idOf = async (commandId: string) =>
    (await database.query<{ id: string }>('select id from artifact_uploads where command_id = $1', [commandId]))[0]
      ?.id as string;
  const [old, alive] = [await idOf(first.commandId), await idOf(second.commandId)];
  await ageArtifactUpload(database, old, { hours: 25 });
  const orphan = missingId.replace('0189', '0199');
  await writeFile(join(folder, '.uploads', orphan), 'left behind');
  const longAgo = new Date(Date.now() - 26 * 3_600_000);
  await utimes(join(folder, '.uploads', orphan), longAgo, longAgo);
  const uploads = new ArtifactUploads({
    db: hub.app.db,
    blobs: await createFileBlobs(folder),
    quota: new ArtifactQuota(1),
  });
  await uploads.sweep();
  expect(await partials()).not.toContain(orphan);
  expect(await partials()).not.toContain(old);
  expect(await partials()).toContain(alive);
  await ageArtifactUpload(database, alive, { hours: 2 });
  await withdrawCommand(database, second.commandId, { hours: 2 });
  await uploads.sweep();
  expect(await partials()).not.toContain(alive);
});

test('partial bytes are limited to the declared size, and an interrupted upload keeps its bytes', async () => {
  const home = await mkdtemp(join(tmpdir(), 'outrigger-blobs-'));
  const { partials: blobs } = await createFileBlobs(home);
  const id = missingId;
  async function* broken() {
    yield Buffer.from('abc');
    throw new Error('cut');
  }
  await expect(blobs.write(id, 0, broken(), { maxBytes: 10 })).rejects.toThrow('cut');
  expect(await blobs.size(id)).toBe(3);
  await expect(blobs.write(id, 4, broken(), { maxBytes: 10 })).rejects.toThrow(RangeError);
  await expect(blobs.size('../x')).rejects.toThrow('UUID');
  await rm(home, { recursive: true });
});

describe('a slow body', () => {
  /** Sends the request headers and then its body in pieces, until a response or the end of the connection. */
  function drip(
    head: string,
    pieces: Buffer[],
    everyMs: number,
    { url } = impatient,
  ): Promise<{ answer: string; sent: number }> {
    const { hostname, port } = new URL(url);
    return new Promise((done) => {
      const socket = connect(Number(port), hostname);
      let answer = '';
      let sent = 0;
      socket.write(head);
      const timer = setInterval(() => {
        const piece = pieces[sent];
        if (piece === undefined) return;
        socket.write(piece);
        sent += 1;
      }, everyMs);
      const finish = () => {
        clearInterval(timer);
        socket.destroy();
        done({ answer, sent });
      };
      socket.on('data', (chunk) => {
        answer += chunk.toString();
        if (sent === pieces.length) finish();
      });
      socket.on('error', () => undefined);
      socket.on('close', finish);
    });
  }
  const headOf = (method: string, path: string, headers: Record<string, string | number>) =>
    `${method} ${path} HTTP/1.1\r\nHost: x\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`;

  test('of an upload may take many times longer than other bodies, while bytes arrive', async () => {
    const device = await pair();
    const { commandId } = await device.take();
    const whole = randomBytes(2_000);
    const pieces = Array.from({ length: 20 }, (_value, index) => whole.subarray(index * 100, (index + 1) * 100));
    const path = `${pathOf(device, commandId)}?${new URLSearchParams({ ...factsOf(whole), offset: '0' }).toString()}`;
    const { answer, sent } = await drip(
      headOf('PUT', path, { ...device.headers, 'Content-Length': 2_000 }),
      pieces,
      bodyLimits.totalMs / 5,
    );
    expect(sent).toBe(20);
    expect(answer).toContain('"complete":true');
  });

  test('of an upload without progress is ended, and the received bytes are kept', async () => {
    await using idle = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', ARTIFACTS_FOLDER: folder }, database, {
      bodyLimits: { totalMs: 60_000, idleMs: 3_000 },
    });
    const device = await pair();
    const { commandId } = await device.take();
    const whole = randomBytes(2_000);
    const path = `${pathOf(device, commandId)}?${new URLSearchParams({ ...factsOf(whole), offset: '0' }).toString()}`;
    const { answer } = await drip(
      headOf('PUT', path, { ...device.headers, 'Content-Length': 2_000 }),
      [whole.subarray(0, 300)],
      10,
      idle,
    );
    expect(answer).toContain('"code":"request_timeout"');
    expect((await ask(device, commandId)).body).toMatchObject({ received: 300 });
    await expect.poll(openUploads).toEqual([]);
  });

  test.each([
    [
      'of anybody else',
      '/v1/automations/workflows',
      () => ({ 'X-API-Key': workspace.key, 'Content-Type': 'application/json' }),
    ],
    [
      'of a stranger at an upload',
      `/v1/automations/nodes/${missingId}/commands/${missingId}/result`,
      () => ({ 'Content-Type': 'multipart/form-data; boundary=x' }),
    ],
    ['at no address at all', '/nothing/here', () => ({})],
  ] as const)('%s is ended with its connection, even if bytes arrive', async (_name, path, headers) => {
    const pieces = Array.from({ length: 1_000 }, () => Buffer.from(' '));
    const { answer, sent } = await drip(headOf('POST', path, { ...headers(), 'Content-Length': 5_000 }), pieces, 20);
    expect(answer).toMatch(/^HTTP\/1\.1 (408|401|404) /);
    expect(sent).toBeLessThan(1_000);
  });
});
