import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decode as decodePng } from 'fast-png';
import jpeg from 'jpeg-js';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Blobs } from '../../hub/platform/blobs/blobs.ts';
import { Database } from '../../hub/platform/db/database.ts';
import { newId } from '../../hub/platform/ids.ts';
import { FileBlobs } from '../../hub/products/chat/files/file-blobs.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import {
  colourProfile,
  fragmentedGif,
  fragmentedJpeg,
  fragmentedMp4,
  fragmentedPng,
  fragmentedWebp,
  cutJpeg,
  cutPng,
  cutWebp,
  overlappingProfile,
  plainGif,
  plainJpeg,
  plainPng,
  plainWebp,
  profiledPng,
  secretText,
  trailingCode,
  gifWithMetadata,
  jpegWithMetadata,
  pngWithMetadata,
  webpWithMetadata,
} from '../fixtures/pictures.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { missingId, send } from '../fixtures/requests.ts';
import {
  addFiles,
  addUnusedBlobs,
  ageFiles,
  makeUnusedBlobsDue,
  removeConversation,
  removeFileRow,
  removeUsedFileBytesAsHub,
  removeVisitor,
  setUsedFileBytes,
  stopSweepingBlobsEarly,
  sweepBlobsEarly,
} from '../fixtures/stage/chat.ts';
import { removeWorkspace } from '../fixtures/stage/core.ts';
import { chatScene, sendFile } from '../fixtures/visitor.ts';
import type { ChatScene, TestVisitor } from '../fixtures/visitor.ts';

let hub: TestHub;
let scene: ChatScene;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outrigger-files-'));
  hub = await startHub({
    RATE_LIMIT_PER_MINUTE: '1000000',
    SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000',
    ARTIFACTS_FOLDER: folder,
  });
  scene = await chatScene(hub);
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const upload = (visitor: TestVisitor, raw: Buffer, name?: string) => sendFile(hub, visitor.token, raw, name);

async function download(path: string, token: string) {
  const response = await fetch(`${hub.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** Uploads a file and reads the stored bytes. */
async function roundTrip(raw: Buffer, name?: string) {
  const visitor = await scene.visitor();
  const sent = await upload(visitor, raw, name);
  expect(sent.body).toMatchObject({ id: expect.any(String) as string });
  const read = await download(`/widget/v1/files/${sent.body['id'] as string}`, visitor.token);
  expect(read.bytes).toHaveLength(sent.body['bytes'] as number);
  return { sent: sent.body, read };
}

const pdf = Buffer.from('%PDF-1.7\n1 0 obj <<>> endobj\ntrailer <<>>\n%%EOF\n');
const wav = Buffer.concat([Buffer.from('RIFF'), Buffer.from([36, 0, 0, 0]), Buffer.from('WAVEfmt '), Buffer.alloc(28)]);

describe('a file', () => {
  test.each([
    ['a PNG', plainPng(), 'image/png', 'inline'],
    ['a JPEG', plainJpeg(), 'image/jpeg', 'inline'],
    ['a GIF', plainGif(), 'image/gif', 'inline'],
    ['a WebP', plainWebp(), 'image/webp', 'inline'],
    ['a PDF', pdf, 'application/pdf', 'attachment'],
    ['a text', Buffer.from('Grüße\r\n\t日本語'), 'text/plain', 'attachment'],
    [
      'an MP3',
      Buffer.concat([Buffer.from('ID3\u0004\0\0\0\0\0\0', 'latin1'), Buffer.alloc(64)]),
      'audio/mpeg',
      'inline',
    ],
    ['an Ogg', Buffer.concat([Buffer.from('OggS\0', 'latin1'), Buffer.alloc(64)]), 'audio/ogg', 'inline'],
    ['a WAV', wav, 'audio/wav', 'inline'],
    [
      'an M4A',
      Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypM4A '), Buffer.alloc(16)]),
      'audio/mp4',
      'inline',
    ],
    [
      'a WebM',
      Buffer.concat([
        Buffer.from('1a45dfa3', 'hex'),
        Buffer.from('B\x82\x84webm'),
        Buffer.from('A_OPUS'),
        Buffer.alloc(9),
      ]),
      'audio/webm',
      'inline',
    ],
  ])(
    'that is %s is recognised by its content regardless of its name, and served so that no browser executes it',
    async (_name, raw, contentType, disposition) => {
      const { sent, read } = await roundTrip(raw, 'thing.exe');
      expect(sent).toMatchObject({ contentType });
      expect(sent['name']).toMatch(/^thing\.exe\.\w+$/);
      expect(read.status).toBe(200);
      expect(read.headers.get('content-type')?.split(';')[0]).toBe(contentType);
      expect(read.headers.get('content-disposition')).toMatch(new RegExp(`^${disposition}; filename=`));
      expect(Object.fromEntries(read.headers)).toMatchObject({
        'x-content-type-options': 'nosniff',
        'content-security-policy': "sandbox; default-src 'none'",
        'cache-control': 'private, no-store',
      });
    },
  );

  test.each([
    ['<!doctype html><script>alert(1)</script>', 'photo.png', 'photo.png.txt'],
    ['<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', 'drawing.svg', 'drawing.svg.txt'],
    ['@echo off', 'setup.bat', 'setup.bat.txt'],
  ])(
    '%s with the name %s is stored as text with the name %s, and no browser shows it as a page',
    async (content, name, kept) => {
      const { sent, read } = await roundTrip(Buffer.from(content), name);
      expect(sent).toMatchObject({ contentType: 'text/plain', name: kept });
      expect(read.headers.get('content-type')).toBe('text/plain; charset=utf-8');
      expect(read.headers.get('content-disposition')).toMatch(/^attachment;/);
    },
  );

  test.each([
    ['../../etc/passwd', 'passwd.txt'],
    ['C:\\temp\\notes.md', 'notes.md'],
    ['a\u202Efdp.txt', 'afdp.txt'],
    ['a\u061Cfdp\u{E0074}\u{E0078}\u{E007F}\u{180E}.txt', 'afdp.txt'],
    ['...', 'file.txt'],
    ['"; filename=x.html', '; filename=x.html.txt'],
    [`${'n'.repeat(199)}.`, `${'n'.repeat(196)}.txt`],
  ])('with the name %j is stored as %s', async (given, kept) => {
    expect((await roundTrip(Buffer.from('text'), given)).sent['name']).toBe(kept);
  });

  test('with a name beyond ASCII is offered with this name', async () => {
    const { read } = await roundTrip(Buffer.from('text'), 'Grüße 日本.txt');
    expect(read.headers.get('content-disposition')).toContain(
      "filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%E6%97%A5%E6%9C%AC.txt",
    );
  });
});

describe('an uploaded picture keeps only its visible content:', () => {
  test('JPEG', async () => {
    const { read } = await roundTrip(jpegWithMetadata());
    expect(read.bytes.toString('latin1')).not.toContain(secretText);
    expect(read.bytes.toString('latin1')).not.toContain(trailingCode);
    // The orientation and the colours of the picture are kept.
    expect(read.bytes.includes(Buffer.from('011200030000000100060000', 'hex'))).toBe(true);
    expect(read.bytes.includes(colourProfile().subarray(-14))).toBe(true);
    expect(Buffer.from(jpeg.decode(read.bytes).data).equals(Buffer.from(jpeg.decode(plainJpeg()).data))).toBe(true);
  });

  test('PNG', async () => {
    const { read } = await roundTrip(pngWithMetadata());
    expect(read.bytes.toString('latin1')).not.toContain(secretText);
    expect(read.bytes.toString('latin1')).not.toContain(trailingCode);
    expect(read.bytes.includes(Buffer.from('011200030000000100060000', 'hex'))).toBe(true);
    expect(decodePng(read.bytes).data).toEqual(decodePng(plainPng()).data);
  });

  test('GIF', async () => {
    const { read } = await roundTrip(gifWithMetadata());
    expect(read.bytes.equals(plainGif())).toBe(true);
  });

  test('WebP', async () => {
    const { read } = await roundTrip(webpWithMetadata());
    expect(read.bytes.toString('latin1')).not.toContain(secretText);
    expect(read.bytes.toString('latin1')).not.toContain(trailingCode);
    expect(read.bytes.includes(plainWebp().subarray(12))).toBe(true);
    const parts = /^RIFF....WEBPVP8X.*?(ICCP).*?(VP8L).*?(EXIF)/s.exec(read.bytes.toString('latin1'));
    expect(parts?.slice(1)).toEqual(['ICCP', 'VP8L', 'EXIF']);
    for (const left of ['XMP ', 'ZZZZ', 'ANIM']) expect(read.bytes.includes(left)).toBe(false);
    // The flags declare a colour profile and EXIF, and no XMP.
    expect(read.bytes[20]).toBe(0x28);
    expect(read.bytes.readUInt32LE(4)).toBe(read.bytes.length - 8);
  });
});

describe('an upload is rejected', () => {
  const zip = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), Buffer.alloc(100)]);
  test.each([
    ['a program', Buffer.concat([Buffer.from('MZ'), Buffer.alloc(100)])],
    ['an archive', zip],
    ['a text with a NUL', Buffer.from('text\0')],
    ['a text in another coding', Buffer.from([0xe4, 0xf6, 0xfc])],
    ['a PNG that is cut off', plainPng().subarray(0, -4)],
    ['a PNG that was changed', Buffer.concat([plainPng().subarray(0, 45), Buffer.from([1]), plainPng().subarray(46)])],
    ['the signature of a PNG before an archive', Buffer.concat([plainPng().subarray(0, 8), zip])],
    ['a JPEG that is cut off', plainJpeg().subarray(0, -40)],
    ['the beginning of a JPEG before an archive', Buffer.concat([plainJpeg().subarray(0, 4), zip])],
    ['a PNG with a cut header', cutPng()],
    ['a JPEG with a cut frame header', cutJpeg()],
    ['a WebP with a cut canvas', cutWebp('VP8X')],
    ['a WebP with a cut lossless picture', cutWebp('VP8L')],
    ['a WebP with a cut picture', cutWebp('VP8 ')],
    ['a GIF without a picture', Buffer.from('GIF89a\u0001\0\u0001\0\0\0\0;', 'latin1')],
    ['a WebP that says it is longer', plainWebp().subarray(0, -2)],
    ['a PDF that does not end', Buffer.concat([pdf.subarray(0, 20), Buffer.from([0xe2, 0xe3])])],
    ['a film', Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypisom'), Buffer.alloc(16)])],
  ])('%s', async (_name, raw) => {
    const answer = await upload(await scene.visitor(), raw, 'photo.png');
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
  });

  test('if it is empty, has no name, or has a content encoding', async () => {
    const visitor = await scene.visitor();
    const empty = await upload(visitor, Buffer.alloc(0));
    expect([empty.status, empty.body.details?.[0]?.path]).toEqual([400, 'body']);
    const headers = { authorization: `Bearer ${visitor.token}` };
    const unnamed = await send(hub.url, 'POST', '/widget/v1/files', { headers, raw: Buffer.from('x') });
    expect([unnamed.status, unnamed.body.details?.[0]?.path]).toEqual([400, 'query.name']);
    const packed = await send(hub.url, 'POST', '/widget/v1/files?name=a', {
      headers: { ...headers, 'content-encoding': 'gzip' },
      raw: Buffer.from('x'),
    });
    expect(packed.status).toBe(415);
  });

  test('if it is one byte larger than 10 MiB, also without a declared length; 10 MiB are accepted', async () => {
    const visitor = await scene.visitor();
    const full = Buffer.alloc(10 * 1024 * 1024, 'a');
    expect((await upload(visitor, full)).status).toBe(200);
    const more = await upload(visitor, Buffer.alloc(full.length + 1, 'a'));
    expect([more.status, more.body.code]).toEqual([413, 'payload_too_large']);
    const chunked = await new Promise<number | undefined>((done, fail) => {
      const sending = request(
        `${hub.url}/widget/v1/files?name=a`,
        { method: 'POST', headers: { authorization: `Bearer ${visitor.token}` } },
        (response) => done(response.resume().statusCode),
      );
      sending.on('error', fail);
      sending.write(full);
      sending.end('b');
    });
    expect(chunked).toBe(413);
  });

  test('if it stops arriving, and nothing of it is kept', async () => {
    await using impatient = await startHub({}, hub.database, { bodyLimits: { totalMs: 60_000, idleMs: 300 } });
    const visitor = await scene.visitor();
    const status = await new Promise<number | undefined>((done, fail) => {
      const sending = request(
        `${impatient.url}/widget/v1/files?name=a`,
        { method: 'POST', headers: { authorization: `Bearer ${visitor.token}`, 'content-length': '1000' } },
        (response) => done(response.resume().statusCode),
      );
      sending.on('error', fail);
      sending.write('slow');
    });
    expect(status).toBe(408);
    expect(
      await hub.database.query('SELECT id FROM chat_files WHERE conversation_id = $1', [visitor.conversationId]),
    ).toEqual([]);
  });

  test('if its conversation is closed, or if it exceeds the number of unsent files', async () => {
    const visitor = await scene.visitor();
    await addFiles(hub.database, { tenantId: scene.tenantId, conversationId: visitor.conversationId }, { count: 50 });
    const full = await upload(visitor, Buffer.from('x'));
    expect([full.status, full.body.code]).toEqual([409, 'storage_full']);
    await scene.close(visitor.conversationId);
    const late = await upload(visitor, Buffer.from('x'));
    expect([late.status, late.body.code]).toEqual([409, 'conversation_closed']);
  });

  test('if it exceeds the quota of the workspace', async () => {
    await using small = await startHub({ ARTIFACTS_PER_WORKSPACE_MIB: '1' });
    const own = await chatScene(small);
    const visitor = await own.visitor();
    const most = Buffer.alloc(700_000, 'a');
    expect((await sendFile(small, visitor.token, most)).status).toBe(200);
    const answers = await Promise.all([1, 2].map(() => sendFile(small, visitor.token, most.subarray(0, 200_000))));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    // Deleting a conversation frees storage, both before and after the sweep folds the usage.
    const sweep = () => small.app.sweep();
    let { conversationId } = visitor;
    for (const [before, after] of [
      [async () => undefined, sweep],
      [sweep, async () => undefined],
    ] as const) {
      await before();
      await removeConversation(small.database, conversationId);
      await after();
      const next = await own.visitor();
      expect((await sendFile(small, next.token, most)).status).toBe(200);
      expect((await sendFile(small, next.token, most)).status).toBe(409);
      ({ conversationId } = next);
    }
    const rooms = await small.database.query(
      `SELECT (SELECT sum(bytes)::int FROM chat_file_usage WHERE tenant_id = $1) AS room, (SELECT sum(bytes)::int FROM chat_files WHERE tenant_id = $1) AS files`,
      [own.tenantId],
    );
    expect(rooms).toEqual([{ room: most.length, files: most.length }]);
  });

  test('if it exceeds the share of one visitor; other visitors have their own share', async () => {
    const own = await chatScene(hub);
    const [greedy, many, other] = [await own.visitor(), await own.visitor(), await own.visitor()];
    const spare = await own.visitor();
    /** Adds files of a visitor to a conversation of another visitor. */
    const fill = ({ visitorId }: TestVisitor, count: number, bytes: number) =>
      addFiles(
        hub.database,
        { tenantId: own.tenantId, conversationId: spare.conversationId },
        { count, bytes, sentBy: `visitor:${visitorId}` },
      );
    await fill(greedy, 1, 1024 ** 3 - 4);
    await fill(many, 1_999, 1);
    expect((await upload(greedy, Buffer.from('more!'))).body).toMatchObject({
      code: 'storage_full',
      message: expect.stringMatching(/^The files that you sent would be more than .* 1024 MiB/) as string,
    });
    for (const visitor of [greedy, many, other]) expect((await upload(visitor, Buffer.from('last'))).status).toBe(200);
    for (const visitor of [greedy, many]) expect((await upload(visitor, Buffer.from('x'))).status).toBe(409);
  });

  test('if visitors would use the quota that is reserved for agents', async () => {
    const own = await chatScene(hub);
    const visitor = await own.visitor();
    const asAgent = () =>
      send(hub.url, 'POST', `/tenants/${own.tenantId}/chat/conversations/${visitor.conversationId}/files?name=a.txt`, {
        headers: { authorization: `Bearer ${own.workspace.jwt}` },
        raw: Buffer.from('of an agent'),
      });
    expect((await upload(visitor, Buffer.from('one'))).status).toBe(200);
    const use = (part: number) => setUsedFileBytes(hub.database, own.tenantId, Math.floor(20 * 1024 ** 3 * part));
    await use(0.9);
    expect((await upload(visitor, Buffer.from('two'))).body).toMatchObject({
      code: 'storage_full',
      message: expect.stringContaining('storage for files of visitors is full') as string,
    });
    expect((await asAgent()).status).toBe(200);
    await use(1);
    expect((await asAgent()).body).toMatchObject({
      code: 'storage_full',
      message: expect.stringContaining('ARTIFACTS_PER_WORKSPACE_MIB') as string,
    });
  });

  test('with a number of rows read that does not depend on the number of files', async () => {
    const own = await chatScene(hub);
    const visitor = await own.visitor();
    await addFiles(hub.database, { tenantId: own.tenantId, conversationId: visitor.conversationId }, { count: 3000 });
    expect(
      await hub.database.query('SELECT bytes::int FROM chat_file_usage WHERE tenant_id = $1', [own.tenantId]),
    ).toEqual([{ bytes: 3000 }]);
    // An upload reads this recorded usage.
    await setUsedFileBytes(hub.database, own.tenantId, 1e15);
    const full = await upload(await own.visitor(), Buffer.from('x'));
    expect([full.status, full.body.code]).toEqual([409, 'storage_full']);
    // No role of the hub can change the recorded usage directly.
    const wrong = removeUsedFileBytesAsHub(hub.database, own.tenantId);
    await expect(wrong).rejects.toThrow('permission denied');
  });
});

describe('access to a file', () => {
  test('is limited to the visitor of the conversation and the agents of the workspace', async () => {
    const [visitor, neighbour, stranger] = [await scene.visitor(), await scene.visitor(), await chatScene(hub)];
    const foreign = await stranger.visitor();
    const { body } = await upload(visitor, Buffer.from('mine'), 'a.txt');
    const id = body['id'] as string;
    const message = await visitor.api.call('sendVisitorMessage', {
      body: { content: '', clientId: 'a', attachmentIds: [id] },
    });
    expect(message.attachments).toEqual([{ id, name: 'a.txt', contentType: 'text/plain', bytes: 4 }]);
    const asAgent = (tenantId: string, jwt: string) => download(`/tenants/${tenantId}/chat/files/${id}`, jwt);
    expect((await download(`/widget/v1/files/${id}`, visitor.token)).bytes.toString()).toBe('mine');
    expect((await asAgent(scene.tenantId, scene.workspace.jwt)).bytes.toString()).toBe('mine');
    expect((await download(`/widget/v1/files/${id}`, neighbour.token)).status).toBe(404);
    expect((await download(`/widget/v1/files/${id}`, foreign.token)).status).toBe(404);
    expect((await asAgent(stranger.tenantId, stranger.workspace.jwt)).status).toBe(404);
    expect((await asAgent(scene.tenantId, stranger.workspace.jwt)).status).toBe(404);
    expect((await download(`/widget/v1/files/${missingId}`, visitor.token)).status).toBe(404);
    expect((await send(hub.url, 'GET', `/widget/v1/files/${id}`)).status).toBe(401);
    expect((await send(hub.url, 'GET', `/tenants/${scene.tenantId}/chat/files/${id}`)).status).toBe(401);
  });

  test.each([
    ['member who is removed', 401],
    ['visitor who is blocked', 403],
  ] as const)('is denied after its %s', async (who, status) => {
    const own = await chatScene(hub);
    const visitor = await own.visitor();
    const { tenantId } = own;
    const { session } = own.workspace;
    const member = { email: `${tenantId}@example.org`, password: 'correct horse battery' };
    const { id } = await session.call('addMember', { params: { tenantId }, body: { ...member, role: 'agent' } });
    const { token } = await hub.client().call('logIn', { body: member });
    const other = new Client({ connectionString: hub.database.url });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query('BEGIN; LOCK TABLE chat_unused_blobs IN SHARE MODE');
    const sent = who.startsWith('visitor')
      ? upload(visitor, Buffer.from('late'))
      : send(hub.url, 'POST', `/tenants/${tenantId}/chat/conversations/${visitor.conversationId}/files?name=a`, {
          headers: { authorization: `Bearer ${token}` },
          raw: Buffer.from('late'),
        });
    const waiting = () =>
      hub.database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO chat_unused_blobs%'`,
      );
    await expect.poll(async () => (await waiting()).length).toBe(1);
    if (who.startsWith('visitor'))
      await session.call('blockInboxVisitor', { params: { tenantId, id: visitor.visitorId } });
    else await session.call('removeMember', { params: { tenantId, userId: id } });
    await other.query('COMMIT');
    expect((await sent).status).toBe(status);
    expect(await hub.database.query('SELECT id FROM chat_files WHERE tenant_id = $1', [tenantId])).toEqual([]);
    await hub.app.sweep();
    expect(await readdir(join(folder, '.chat', tenantId)).catch(() => [])).toEqual([]);
  });

  test('is given to the visitor when an agent sends it with a message, not before', async () => {
    const visitor = await scene.visitor();
    const path = `/tenants/${scene.tenantId}/chat/conversations/${visitor.conversationId}/files?name=offer.pdf`;
    const headers = { authorization: `Bearer ${scene.workspace.jwt}` };
    const id = (await send(hub.url, 'POST', path, { headers, raw: pdf })).body['id'] as string;
    expect((await download(`/widget/v1/files/${id}`, visitor.token)).status).toBe(404);
    await scene.workspace.session.call('sendInboxMessage', {
      params: { tenantId: scene.tenantId, id: visitor.conversationId },
      body: { content: 'here', attachmentIds: [id] },
    });
    expect((await download(`/widget/v1/files/${id}`, visitor.token)).bytes.equals(pdf)).toBe(true);
    const elsewhere = path.replace(visitor.conversationId, missingId);
    expect((await send(hub.url, 'POST', elsewhere, { headers, raw: pdf })).status).toBe(404);
    expect((await send(hub.url, 'POST', path, { raw: pdf })).status).toBe(401);
  });

  test('allows its sender to attach it once, up to five per message, in the same conversation', async () => {
    const [visitor, neighbour] = [await scene.visitor(), await scene.visitor()];
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) ids.push((await upload(visitor, Buffer.from(`${n}`))).body['id'] as string);
    const write = (who: TestVisitor, clientId: string, attachmentIds: string[]) =>
      send(hub.url, 'POST', '/widget/v1/messages', {
        headers: { authorization: `Bearer ${who.token}` },
        body: { content: 'x', clientId, attachmentIds },
      });
    expect((await write(visitor, 'a', ids)).status).toBe(400);
    expect((await write(neighbour, 'a', [ids[0] as string])).status).toBe(400);
    const five = await write(visitor, 'b', ids.slice(0, 5));
    expect((five.body['attachments'] as { id: string }[]).map(({ id }) => id)).toEqual(ids.slice(0, 5));
    expect((await write(visitor, 'c', [ids[0] as string])).status).toBe(400);
  });
});

describe('the stored bytes of files', () => {
  /** The ids of the files of a workspace whose bytes are stored. */
  const storedOf = async (tenantId: string) =>
    (await readdir(join(folder, '.chat', tenantId)).catch(() => [])).toSorted();
  const sendOne = async (visitor: TestVisitor) => (await upload(visitor, Buffer.from('bytes'))).body['id'] as string;

  test('are deleted after a day if no message refers to the file, by any process, and kept otherwise', async () => {
    const own = await chatScene(hub);
    const visitor = await own.visitor();
    const [named, loose, young] = [await sendOne(visitor), await sendOne(visitor), await sendOne(visitor)];
    await visitor.api.call('sendVisitorMessage', { body: { content: '', clientId: 'a', attachmentIds: [named] } });
    await ageFiles(hub.database, [named, loose], { hours: 25 });
    await hub.app.sweep();
    expect(await storedOf(own.tenantId)).toEqual([named, young].toSorted());
    const read = await download(`/widget/v1/files/${loose}`, visitor.token);
    expect(read.status).toBe(404);
  });

  test.each([
    ['conversation', ({ conversationId }: TestVisitor) => removeConversation(hub.database, conversationId)],
    ['visitor', ({ visitorId }: TestVisitor) => removeVisitor(hub.database, visitorId)],
    ['workspace', (_visitor: TestVisitor, own: ChatScene) => removeWorkspace(hub.database, own.tenantId)],
  ] as const)('are deleted with their %s', async (_what, remove) => {
    const own = await chatScene(hub);
    const visitor = await own.visitor();
    const id = await sendOne(visitor);
    expect(await storedOf(own.tenantId)).toEqual([id]);
    await remove(visitor, own);
    await hub.app.sweep();
    expect(await storedOf(own.tenantId)).toEqual([]);
    expect(await hub.database.query('SELECT * FROM chat_unused_blobs WHERE tenant_id = $1', [own.tenantId])).toEqual(
      [],
    );
  });

  test('are deleted after an hour if a crash prevented their file, and a rejected file leaves none', async () => {
    const own = await chatScene(hub);
    const visitor = await own.visitor();
    const id = await sendOne(visitor);
    // The state after the bytes were stored and before the row is written.
    await removeFileRow(hub.database, { tenantId: own.tenantId, fileId: id });
    await hub.app.sweep();
    expect(await storedOf(own.tenantId)).toEqual([id]);
    await makeUnusedBlobsDue(hub.database, own.tenantId);
    await hub.app.sweep();
    expect(await storedOf(own.tenantId)).toEqual([]);
    expect((await upload(visitor, Buffer.from([0]))).status).toBe(415);
    expect(await hub.database.query('SELECT * FROM chat_unused_blobs WHERE tenant_id = $1', [own.tenantId])).toEqual(
      [],
    );
  });

  test('are deleted outside transactions, are not reused meanwhile, and are left to the next sweep if the process is killed', async () => {
    // A database without a hub, whose periodic task would delete them.
    await using database = await acquireDatabase();
    await using db = new Database({
      url: database.url,
      maxConnections: 3,
      applicationName: 'test',
      onError: () => undefined,
    });
    const tenantId = newId();
    const keys = Array.from({ length: 3 }, () => `${tenantId}/${randomUUID()}`).toSorted();
    await addUnusedBlobs(database, tenantId, keys);
    const left = async () =>
      (
        await database.query<{ key: string }>(
          'SELECT blob_key AS key FROM chat_unused_blobs WHERE tenant_id = $1 ORDER BY 1',
          [tenantId],
        )
      ).map(({ key }) => key);
    const tried: string[] = [];
    const blobsOf = (remove: (key: string) => Promise<void>) =>
      new FileBlobs({ db, blobs: { delete: remove } as Blobs });
    const blobs = blobsOf(async (key) => {
      tried.push(key);
      await expect(db.workspace(tenantId, (tx) => blobs.keep(tx, key))).rejects.toMatchObject({ code: 'unavailable' });
      if (tried.length === 2) throw new Error('the store is out of reach');
    });
    await expect(blobs.removeUnused()).rejects.toThrow('the store is out of reach');
    const rest = keys.filter((key) => key !== tried[0]);
    expect([tried.length, await left()]).toEqual([2, rest]);
    const again: string[] = [];
    await blobsOf(async (key) => void again.push(key)).removeUnused();
    expect([again.toSorted(), await left()]).toEqual([rest, []]);
  });

  test('that are swept while their file is written leave no file without bytes', async () => {
    const own = await chatScene(hub);
    const visitor = await own.visitor();
    await sweepBlobsEarly(hub.database, own.tenantId);
    expect((await upload(visitor, Buffer.from('bytes'))).status).toBe(503);
    await stopSweepingBlobsEarly(hub.database);
    expect(await hub.database.query('SELECT id FROM chat_files WHERE tenant_id = $1', [own.tenantId])).toEqual([]);
  });
});

describe('a picture that is made to exhaust the hub', () => {
  const countOf = (bytes: Buffer, what: string) => bytes.toString('latin1').split(what).length - 1;

  test('is not decompressed repeatedly: only the first colour profile of a PNG is kept, and none after its data', async () => {
    expect(countOf((await roundTrip(profiledPng(20))).read.bytes, 'iCCP')).toBe(1);
    expect(countOf((await roundTrip(profiledPng(0))).read.bytes, 'iCCP')).toBe(0);
  });

  test('loses a colour profile with more tags or bytes than declared; a valid profile stays without its texts', async () => {
    const { read } = await roundTrip(webpWithMetadata(overlappingProfile(100, 1024 * 1024)));
    expect(countOf(read.bytes, 'ICCP')).toBe(1);
    expect(countOf(read.bytes, secretText)).toBe(0);
    for (const profile of [overlappingProfile(101, 10_000), overlappingProfile(100, 1024 * 1024 + 1)])
      expect(countOf((await roundTrip(webpWithMetadata(profile))).read.bytes, 'ICCP')).toBe(0);
  });

  test.each([
    ['PNG', fragmentedPng, 9_900],
    ['JPEG', fragmentedJpeg, 9_900],
    ['GIF', fragmentedGif, 9_999],
    ['WebP', fragmentedWebp, 9_999],
    ['MP4', fragmentedMp4, 10_000],
  ] as const)(
    'is rejected as a %s of more than 10,000 parts; a smaller one is accepted',
    async (kind, crumbled, most) => {
      expect((await upload(await scene.visitor(), crumbled(most))).status).toBe(200);
      const answer = await upload(await scene.visitor(), crumbled(10_001));
      expect(answer).toMatchObject({
        status: 415,
        body: { message: expect.stringContaining(`This ${kind} has more than 10000 parts.`) as string },
      });
    },
  );
});
