import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { decode as decodePng, encode as encodePng } from 'fast-png';
import jpeg from 'jpeg-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { avoidPeriodEnd, minuteMs } from '../fixtures/avoid-period-end.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import {
  oversizedJpeg,
  oversizedWebp,
  plainGif,
  plainWebp,
  secretText,
  trailingCode,
  pngWithMetadata,
} from '../fixtures/pictures.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { chatScene } from '../fixtures/visitor.ts';

let hub: TestHub;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outrigger-pictures-'));
  hub = await startHub({
    RATE_LIMIT_PER_MINUTE: '1000000',
    SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000',
    ARTIFACTS_FOLDER: folder,
  });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const png = (width: number, height = width) =>
  Buffer.from(encodePng({ data: new Uint8Array(width * height * 3).fill(90), width, height, channels: 3 }));
const jpg = (side: number) =>
  jpeg.encode({ data: Buffer.alloc(side * side * 4, 90), width: side, height: side }, 90).data;
/** A PNG whose header claims another size. */
const claiming = (width: number, height: number) => {
  const file = png(16);
  file.writeUInt32BE(width, 16);
  file.writeUInt32BE(height, 20);
  return file;
};

/** A PNG that declares itself animated. */
const animated = () => {
  const still = png(64);
  const body = Buffer.from('acTL\0\0\0\u0002\0\0\0\0', 'latin1');
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(body.length - 4);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return Buffer.concat([still.subarray(0, 33), chunk, still.subarray(33)]);
};

const change = (method: string, path: string, token: string, raw?: Buffer, type = 'application/octet-stream') =>
  send(hub.url, method, path, {
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    ...(raw === undefined ? {} : { raw }),
  });
const fetched = async (path: string) => {
  const response = await fetch(`${hub.url}${path}`);
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
};

/** Adds a signed-in member to a workspace. */
async function addAgent(workspace: { session: { call: TestHubCall }; tenantId: string }, email: string) {
  const { id } = (await workspace.session.call('addMember', {
    params: { tenantId: workspace.tenantId },
    body: { email, password: 'correct horse battery', role: 'agent' },
  })) as { id: string };
  const { token } = await hub.client().call('logIn', { body: { email, password: 'correct horse battery' } });
  return { id, token, session: hub.client(token) };
}
type TestHubCall = ReturnType<TestHub['client']>['call'];

test('a picture of an agent is shown to visitors and agents under its own path, and disappears when it is deleted', async () => {
  const { workspace, tenantId, visitor: begin } = await chatScene(hub);
  const { session, jwt } = workspace;
  const visitor = await begin();
  const me = (await session.call('readMe')).user;
  expect(me.picture).toBeNull();
  const params = { tenantId, id: visitor.conversationId };
  await session.call('assignInboxConversation', { params, body: { userId: me.id } });
  await session.call('sendInboxMessage', { params, body: { content: 'Hello' } });

  const first = await change('PUT', '/auth/me/picture', jwt, png(64));
  expect([first.status, first.body]).toMatchObject([
    200,
    { userId: me.id, contentType: 'image/png', width: 64, height: 64 },
  ]);
  const path = first.body['picture'] as string;
  expect(path).toMatch(/^\/widget\/v1\/pictures\/[0-9a-f]{8}-[0-9a-f]{4}-4/);
  const { conversation, messages, agents, members, inbox } = {
    conversation: await visitor.api.call('getVisitorConversation'),
    messages: (await visitor.api.call('listVisitorMessages', {})).data,
    agents: await session.call('listChatAgents', { params: { tenantId } }),
    members: await session.call('listMembers', { params: { tenantId }, query: {} }),
    inbox: await session.call('listInboxMessages', { params, query: {} }),
  };
  expect([
    (await session.call('readMe')).user.picture,
    conversation.agentPicture,
    messages[0]?.senderPicture,
    agents.data[0]?.picture,
    members.data[0]?.picture,
    inbox.data[0]?.senderPicture,
  ]).toEqual(Array.from({ length: 6 }, () => path));
  // The response to sending a message contains the picture as well. Messages of visitors have none.
  expect((await session.call('sendInboxMessage', { params, body: { content: 'More' } })).senderPicture).toBe(path);
  const own = await visitor.api.call('sendVisitorMessage', { body: { content: 'Hi', clientId: 'one' } });
  expect(own.senderPicture).toBeNull();

  const shown = await fetched(path);
  expect([shown.status, decodePng(shown.bytes).width]).toEqual([200, 64]);
  expect(Object.fromEntries(shown.headers)).toMatchObject({
    'content-type': 'image/png',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'public, max-age=3600, immutable',
    'cross-origin-resource-policy': 'cross-origin',
    'content-disposition': 'inline',
  });
  expect(shown.headers.get('set-cookie')).toBeNull();

  // Another picture has another path, and the earlier path returns 404.
  const second = await change('PUT', '/auth/me/picture', jwt, jpg(40));
  expect(second.body).toMatchObject({ contentType: 'image/jpeg', width: 40, height: 40 });
  expect([(await fetched(path)).status, (await fetched(second.body['picture'] as string)).status]).toEqual([404, 200]);
  expect((await change('DELETE', '/auth/me/picture', jwt)).body).toMatchObject({ deleted: true });
  expect((await change('DELETE', '/auth/me/picture', jwt)).status).toBe(404);
  expect((await fetched(second.body['picture'] as string)).status).toBe(404);
  expect((await visitor.api.call('getVisitorConversation')).agentPicture).toBeNull();
  const { data } = await session.call('listAuditLog', { params: { tenantId }, query: { targetId: me.id } });
  expect(data.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['member.picture_set', 'member.picture_deleted']),
  );
});

test('an admin sets and deletes the picture of a member; agents and other workspaces may not', async () => {
  const { workspace, tenantId } = await chatScene(hub);
  const other = await chatScene(hub);
  const agent = await addAgent({ session: workspace.session, tenantId }, `agent-${tenantId}@example.com`);
  const path = `/tenants/${tenantId}/members/${agent.id}/picture`;
  const set = await change('PUT', path, workspace.jwt, plainSized());
  expect([set.status, set.body['userId']]).toEqual([200, agent.id]);
  expect((await agent.session.call('readMe')).user.picture).toBe(set.body['picture']);
  for (const method of ['PUT', 'DELETE']) {
    const raw = method === 'PUT' ? plainSized() : undefined;
    expect((await change(method, path, agent.token, raw)).body).toMatchObject({ code: 'role_required' });
    expect((await change(method, path, other.workspace.jwt, raw)).status).toBe(404);
    const foreign = `/tenants/${other.tenantId}/members/${agent.id}/picture`;
    expect((await change(method, foreign, other.workspace.jwt, raw)).body).toMatchObject({ code: 'not_found' });
    const unknown = `/tenants/${tenantId}/members/${missingId}/picture`;
    expect((await change(method, unknown, workspace.jwt, raw)).body).toMatchObject({ code: 'not_found' });
    expect((await change(method, path, workspace.key, raw)).status).toBe(401);
    expect((await change(method, '/auth/me/picture', 'made up', raw)).status).toBe(401);
  }
  expect((await fetched(set.body['picture'] as string)).status).toBe(200);
  expect((await fetched(`/widget/v1/pictures/${missingId}`)).status).toBe(404);
  expect((await fetched('/widget/v1/pictures/..%2fsecret')).status).toBe(400);
  expect((await change('DELETE', path, workspace.jwt)).status).toBe(200);
});

const plainSized = () => png(32);

test('anything but a still picture of a valid size is rejected', async () => {
  const { workspace } = await chatScene(hub);
  const { jwt, session } = workspace;
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
  const refusals: [string, Buffer, RegExp][] = [
    ['an SVG under the type of a PNG', svg, /PNG, JPEG/],
    ['a page', Buffer.from('<!doctype html><script>alert(1)</script>'), /PNG, JPEG/],
    ['a GIF', plainGif(), /image\/gif/],
    [
      'a PNG that is cut off',
      png(64).subarray(0, 60),
      /^This PNG is damaged or cut off\. Send a PNG, JPEG or WebP that is not animated\.$/,
    ],
    ['a magic number alone', png(64).subarray(0, 8), /damaged/],
    ['a tiny picture', png(15), /15 × 15 pixels/],
    ['a wide picture', png(2_049, 16), /2049 × 16 pixels/],
    ['a size changed without its check sum', claiming(60_000, 60_000), /damaged/],
    ['an animated PNG', animated(), /animated/],
    ['a WebP of one pixel', plainWebp(), /pixels/],
  ];
  for (const [what, raw, message] of refusals) {
    const { status, body } = await change('PUT', '/auth/me/picture', jwt, raw, 'image/png');
    expect([what, status, body.code, message.test(body.message ?? '')]).toEqual([
      what,
      415,
      'unsupported_media_type',
      true,
    ]);
  }
  expect((await session.call('readMe')).user.picture).toBeNull();
});

test.each([
  ['a WebP that is larger than its canvas', oversizedWebp(), '16383 × 16383 pixels'],
  ['a JPEG with a second, larger frame', oversizedJpeg(), '60000 × 60000 pixels'],
])('%s is rejected by its largest size', async (_what, raw, size) => {
  const { workspace } = await chatScene(hub);
  const { status, body } = await change('PUT', '/auth/me/picture', workspace.jwt, raw);
  expect([status, body.message]).toEqual([415, expect.stringContaining(size)]);
});

test('a picture that is huge, empty, or sent too often is rejected with a remedy', async () => {
  await avoidPeriodEnd(minuteMs);
  const { workspace } = await chatScene(hub);
  const put = (raw: Buffer) => change('PUT', '/auth/me/picture', workspace.jwt, raw);
  const huge = await put(Buffer.concat([png(64), Buffer.alloc(1024 * 1024)]));
  expect([huge.status, huge.body]).toMatchObject([
    413,
    { code: 'payload_too_large', message: 'A file may have at most 1 MiB.' },
  ]);
  expect((await put(Buffer.alloc(0))).body).toMatchObject({ code: 'validation_failed', details: [{ path: 'body' }] });
  const answers = [];
  for (let n = 0; n < 9; n += 1) answers.push((await put(png(16))).status);
  expect(answers).toEqual([...Array.from({ length: 8 }, () => 200), 429]);
  expect((await put(png(16))).body.message).toMatch(/More than 10 pictures in a minute; try again in \d+ seconds/);
});

test('metadata and data after the end of a picture are not stored', async () => {
  const { workspace } = await chatScene(hub);
  const told = pngWithMetadata();
  expect([told.includes(secretText), told.includes(trailingCode)]).toEqual([true, true]);
  // The picture has 8 pixels per side. This tests the size rule, and that nothing was stored.
  const refused = await change('PUT', '/auth/me/picture', workspace.jwt, told);
  expect(refused.body.message).toMatch(/8 × 8 pixels/);
  const sent = await change(
    'PUT',
    '/auth/me/picture',
    workspace.jwt,
    Buffer.concat([png(64), Buffer.from(trailingCode)]),
  );
  const { bytes } = await fetched(sent.body['picture'] as string);
  expect([bytes.includes(trailingCode), decodePng(bytes).width]).toEqual([false, 64]);
});

test('the bytes of a picture are removed when it is replaced, and when its member is removed', async () => {
  const { workspace, tenantId } = await chatScene(hub);
  const agent = await addAgent({ session: workspace.session, tenantId }, `leaver-${tenantId}@example.com`);
  const path = `/tenants/${tenantId}/members/${agent.id}/picture`;
  const kept = () => readdir(join(folder, '.chat', tenantId)).catch(() => []);
  await change('PUT', path, workspace.jwt, png(32));
  const { body } = await change('PUT', path, workspace.jwt, png(48));
  await hub.app.sweep();
  expect(await kept()).toHaveLength(1);
  await workspace.session.call('removeMember', { params: { tenantId, userId: agent.id }, query: {} });
  expect((await fetched(body['picture'] as string)).status).toBe(404);
  expect(await hub.database.query('SELECT id FROM member_pictures WHERE tenant_id = $1', [tenantId])).toEqual([]);
  await hub.app.sweep();
  expect(await kept()).toEqual([]);
});
