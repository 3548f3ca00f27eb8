import { get } from 'node:http';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { SocketRights } from '../../hub/platform/http/auth/socket-rights.ts';
import { toWav } from '../../hub/products/ai/speech/sound.ts';
import { VoiceSessionLimit } from '../../hub/products/ai/voice/voice-session-limit.ts';
import { maxUtteranceSeconds, voiceCloseCodes, voiceFrame, voiceProtocol } from '../../shared/contract/ai/voice.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { send } from '../fixtures/requests.ts';
import { silence, voice } from '../fixtures/sounds.ts';
import { startSpeechServer, tone } from '../fixtures/speech-server.ts';
import type { SpeechServer } from '../fixtures/speech-server.ts';
import {
  breakVoiceSessionSlots,
  expireVoiceSessionSlot,
  removeVoiceSessionSlots,
  restoreVoiceSessionSlots,
} from '../fixtures/stage/ai.ts';
import { openVoice } from '../fixtures/voice-page.ts';
import type { VoicePage } from '../fixtures/voice-page.ts';

let model: ModelServer;
let speech: SpeechServer;
let hub: TestHub;
/** Another process of the same hub. */
let other: TestHub;
/** The error lines in the log of that process. */
const logged: string[] = [];
beforeAll(async () => {
  [model, speech] = await Promise.all([startModelServer(), startSpeechServer()]);
  model.reply = () => 'At nine.';
  speech.reply = ({ kind }) => (kind === 'transcription' ? 'Hello?' : { sound: [tone(0.1, 24_000)] });
  const env = {
    AI_BASE_URL: model.baseUrl,
    AI_MODEL: 'alpha',
    STT_BASE_URL: speech.baseUrl,
    STT_MODEL: 'ears',
    TTS_BASE_URL: speech.baseUrl,
    TTS_MODEL: 'mouth',
  };
  hub = await startHub(env);
  const logger = pino({ level: 'error' }, { write: (line) => logged.push(line) });
  other = await startHub(env, hub.database, { logger });
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
  await Promise.all([model[Symbol.asyncDispose](), speech[Symbol.asyncDispose]()]);
});

async function open(token: string, url = hub.url, protocols: string[] = [], headers = {}): Promise<VoicePage> {
  const page = await openVoice(url, token, protocols, headers);
  onTestFinished(() => page.end());
  return page;
}
const sound = (pcm: Buffer) => ({ type: 'audio', data: pcm.toString('base64') }) as const;

describe('a connection is opened', () => {
  test('for a signed-in user by query parameter, header or cookie, and rejected without a session', async () => {
    const { jwt, keys } = await hub.workspace();
    for (const token of ['', 'a.b.c', keys.ai as string])
      await expect(open(token)).rejects.toThrow(/^401 .*"code":"unauthenticated"/);
    const ways = [
      [jwt, {}],
      ['', { cookie: `outrigger_session=${jwt}`, origin: hub.url }],
      ['', { authorization: `Bearer ${jwt}` }],
    ] as const;
    for (const [token, headers] of ways) {
      const page = await open(token, hub.url, [], headers);
      page.send({ type: 'text', data: 'Hello?' });
      await page.wait('done');
      page.end();
      await expect.poll(() => page.closed).not.toBeNull();
      await expect.poll(() => countLeases()).toBe(0);
    }
    const offering = await open('', hub.url, ['voice.v1', `bearer.${jwt}`]);
    expect(offering.socket.protocol).toBe('voice.v1');
  });

  test('with its subprotocol and the token in any order, and the response never contains the token', async () => {
    const { jwt } = await hub.workspace();
    const token = `bearer.${jwt}`;
    for (const protocols of [
      [voiceProtocol, token],
      [token, 'other', voiceProtocol],
    ]) {
      const page = await open('', hub.url, protocols);
      expect(page.socket.protocol).toBe(voiceProtocol);
      page.send({ type: 'text', data: 'Hello?' });
      await page.wait('done');
      page.end();
      await expect.poll(() => countLeases()).toBe(0);
    }
    await expect(open('', hub.url, [token])).rejects.toThrow('Server sent no subprotocol');
    expect((await open(jwt)).socket.protocol).toBe('');
  });

  test('only from pages of this hub, and only as a WebSocket', async () => {
    const { jwt } = await hub.workspace();
    await expect(open(jwt, hub.url, [], { origin: 'https://evil.example' })).rejects.toThrow('origin_not_allowed');
    const plain = await send(hub.url, 'GET', `/ai/voice/ws?token=${jwt}`, {});
    expect(plain.body).toMatchObject({ statusCode: 426, code: 'upgrade_required' });
    expect((await send(hub.url, 'GET', '/ai/voice/ws', {})).status).toBe(401);
    expect((await send(hub.url, 'GET', `/ai/voice/ws?token=${jwt}&tenant=x`, {})).status).toBe(400);
  });

  test.each(['ai_agent', 'business_phone'] as const)('only while the workspace is entitled to %s', async (name) => {
    const { jwt, tenantId } = await hub.workspace();
    const entitle = (value: boolean) =>
      hub.client(adminKey).call('putEntitlements', { params: { tenantId }, body: { [name]: value } });
    await entitle(false);
    await expect(open(jwt)).rejects.toThrow(new RegExp(`^403 .*entitled to ${name}`));
    await entitle(true);
    const page = await open(jwt, other.url);
    await entitle(false);
    await expect.poll(() => page.closed).toBe(voiceCloseCodes.revoked);
  });

  test('at most twice per user over all processes, and again after one is closed', async () => {
    const { jwt } = await hub.workspace();
    const first = await open(jwt);
    const second = await open(jwt, other.url);
    for (const page of [first, second]) {
      page.send({ type: 'text', data: 'Hello?' });
      await page.wait('done');
    }
    for (const { url } of [hub, other]) {
      const third = await open(jwt, url);
      expect(await third.wait('error')).toMatchObject({ code: 'rate_limited' });
      await expect.poll(() => third.closed).toBe(voiceCloseCodes.tooMany);
    }
    first.end();
    await expect.poll(() => countLeases()).toBe(1);
    const next = await open(jwt, other.url);
    next.send({ type: 'text', data: 'Hello?' });
    await next.wait('done');
    expect(second.closed).toBeNull();
  });

  test('or fails with a request id under which the log contains the cause', async () => {
    const { jwt } = await hub.workspace();
    await breakVoiceSessionSlots(hub.database);
    onTestFinished(() => restoreVoiceSessionSlots(hub.database));
    const page = await open(jwt, other.url);
    const error = await page.wait('error');
    expect(error).toMatchObject({ code: 'internal', data: expect.stringContaining('the request id finds it') });
    expect(voiceFrame.parse(error)).toEqual(error);
    await expect.poll(() => page.closed).toBe(1011);
    const lines = logged.filter((line) => line.includes(`"requestId":"${error.requestId}"`));
    expect(lines).toEqual([expect.stringContaining('voice_session_slots')]);
  });

  test('with leases that are unique and expire when their process does not renew them', async () => {
    const { tenantId } = await hub.workspace();
    const [{ id: userId } = { id: '' }] = await hub.database.query<{ id: string }>(
      'SELECT id FROM users WHERE tenant_id = $1',
      [tenantId],
    );
    // Only the test renews leases.
    const options = { logger: pino({ level: 'silent' }), renewMs: 3_600_000 };
    using here = new VoiceSessionLimit({ db: hub.app.db, ...options });
    using there = new VoiceSessionLimit({ db: other.app.db, ...options });
    const lost: string[] = [];
    const acquire = (limit: VoiceSessionLimit, name: string) => limit.acquire(tenantId, userId, () => lost.push(name));
    for (let round = 0; round < 8; round += 1) {
      const acquired = await Promise.all(
        Array.from({ length: 12 }, (_, index) => acquire(index % 2 ? here : there, 'x')),
      );
      const leases = acquired.filter((lease) => lease !== null);
      expect(leases).toHaveLength(2);
      await Promise.all(leases.map((lease) => lease[Symbol.asyncDispose]()));
    }
    expect([await acquire(here, 'first'), await acquire(here, 'second')]).not.toContain(null);
    await here.renew();
    expect(await acquire(there, 'third')).toBeNull();
    const [lease] = await hub.database.query<{ seconds: number }>(
      'SELECT max(extract(epoch FROM expires_at - now()))::float8 AS seconds FROM voice_session_slots',
    );
    expect(lease?.seconds).toBeLessThanOrEqual(15);
    await expireVoiceSessionSlot(hub.database, 1);
    expect(await acquire(there, 'third')).not.toBeNull();
    await Promise.all([here.renew(), there.renew()]);
    expect(lost).toEqual(['first']);
    await removeVoiceSessionSlots(hub.database);
  });

  test('concurrently: only two stay open', async () => {
    const { jwt } = await hub.workspace();
    const pages = await Promise.all(Array.from({ length: 8 }, (_, index) => open(jwt, [hub, other][index % 2]?.url)));
    await expect.poll(() => pages.filter((page) => page.closed === voiceCloseCodes.tooMany).length).toBe(6);
    expect(await countLeases()).toBe(2);
  });

  test('for the duration of the session, even if it ends on another process', async () => {
    const { jwt } = await hub.workspace();
    const page = await open(jwt);
    speech.reply = () => 'hang';
    page.send({ type: 'text', data: 'Hello?' });
    await expect.poll(() => speech.open).toBe(1);
    await other.client(jwt).call('logOut', {});
    await expect.poll(() => page.closed).toBe(voiceCloseCodes.revoked);
    await expect.poll(() => speech.open).toBe(0);
    speech.reply = ({ kind }) => (kind === 'transcription' ? 'Hello?' : { sound: [tone(0.1, 24_000)] });
  });
});

describe('each turn', () => {
  test('requires a valid session, even if the connection was not notified of a change', async () => {
    using _watch = vi.spyOn(SocketRights.prototype, 'watch').mockImplementation(() => undefined);
    const { jwt, tenantId } = await hub.workspace();
    const admin = hub.client(adminKey);
    const page = await open(jwt);
    page.send({ type: 'text', data: 'Hello?' });
    await page.wait('done');
    const asked = model.requests.length;
    await admin.call('putEntitlements', { params: { tenantId }, body: { business_phone: false } });
    page.send({ type: 'text', data: 'And now?' });
    expect(await page.wait('error')).toMatchObject({ code: 'product_not_entitled' });
    await admin.call('putEntitlements', { params: { tenantId }, body: { business_phone: true } });
    await hub.client(jwt).call('logOut', {});
    page.send({ type: 'text', data: 'And now?' });
    expect(await page.wait('error', 2)).toMatchObject({ code: 'unauthenticated' });
    await page.wait('done', 3);
    expect([model.requests.length, page.closed]).toEqual([asked, null]);
  });

  test('counts as a request of its session', async () => {
    const { jwt } = await hub.workspace();
    const env = { AI_BASE_URL: model.baseUrl, AI_MODEL: 'a', TTS_BASE_URL: speech.baseUrl, TTS_MODEL: 'b' };
    await using few = await startHub({ ...env, RATE_LIMIT_PER_MINUTE: '12' }, hub.database);
    const page = await open(jwt, few.url);
    const asked = model.requests.length;
    let turns = 0;
    // A new minute, which resets the count, may start meanwhile.
    for (; turns < 28 && page.of('error').length === 0; turns += 1) {
      page.send({ type: 'text', data: 'Hello?' });
      await page.wait('done', turns + 1);
    }
    expect(page.of('error')).toMatchObject([{ code: 'rate_limited' }]);
    expect(model.requests.length).toBe(asked + turns - 1);
    page.end();
  });
});

const countLeases = async () =>
  (await hub.database.query<{ count: number }>('SELECT count(*)::int FROM voice_session_slots'))[0]?.count;

describe('an invalid frame', () => {
  test.each([
    [
      'a sound of another kind',
      { type: 'audio', data: Buffer.from('OggS............').toString('base64') },
      'frame.data must be PCM or WAV',
    ],
    ['a text that is no base64', { type: 'audio', data: 'säge' }, 'frame.data must be base64'],
    ['an empty question', { type: 'text', data: '' }, 'frame.data must not be empty'],
    ['another type', { type: 'sing' }, 'frame.type must be audio, text, interrupt or config'],
    [
      'an unsupported sample rate',
      { type: 'config', data: { sampleRate: 1 } },
      'frame.data.sampleRate must be from 8000 to 48000',
    ],
    ['a setting that there is not', { type: 'config', data: { volume: 1 } }, 'frame.data.volume is not known here'],
    [
      'a language that there is not',
      { type: 'config', data: { language: 'klingon!' } },
      'frame.data.language must be a language code',
    ],
    ['no object', 7, 'frame'],
  ])('is reported and does not close the connection: %s', async (_name, frame, message) => {
    const page = await open((await own()).jwt);
    page.send(frame as never);
    const error = await page.wait('error');
    expect(error.code).toBe('validation_failed');
    expect(error.data).toContain(message);
    expect(page.closed).toBeNull();
    page.end();
    await expect.poll(() => countLeases()).toBe(0);
  });

  test.each(['{', '{"type":"text","__proto__":{}}', Buffer.from('{}')])(
    'that is not a JSON object closes the connection: %s',
    async (data) => {
      const page = await open((await own()).jwt);
      page.socket.send(data);
      await expect.poll(() => page.closed).toBe(voiceCloseCodes.invalidFrame);
      await expect.poll(() => countLeases()).toBe(0);
    },
  );

  let known: ReturnType<TestHub['workspace']> | undefined;
  const own = () => (known ??= hub.workspace());
});

describe('exceeding a limit', () => {
  test('of sound per frame is reported, and of bytes per second closes the connection', async () => {
    const page = await open((await hub.workspace()).jwt);
    page.send({ type: 'config', data: { sampleRate: 8_000 } });
    page.send(sound(silence(maxUtteranceSeconds + 1, 8_000)));
    expect(await page.wait('error')).toMatchObject({ code: 'payload_too_large' });
    page.send({ type: 'config', data: { turnDetection: { type: 'server_vad' } } });
    page.send(sound(silence(2, 8_000)));
    expect(await page.wait('error', 2)).toMatchObject({ code: 'payload_too_large' });
    const much = JSON.stringify({ type: 'nothing', data: 'x'.repeat(3 * 1024 * 1024) });
    // More than the limit allows in half a minute, because a busy machine receives them slowly.
    for (let count = 0; count < 8; count += 1) page.socket.send(much);
    await expect.poll(() => page.closed).toBe(voiceCloseCodes.tooMany);
  });

  test('of sound duration closes the connection, however few bytes the sound has', async () => {
    const { jwt } = await hub.workspace();
    const page = await open(jwt);
    const eightBits = (sampleRate: number) => {
      const wav = Buffer.from(toWav({ pcm: Buffer.alloc(sampleRate, 128), sampleRate }));
      wav.writeUInt16LE(1, 32);
      wav.writeUInt16LE(8, 34);
      return sound(wav);
    };
    page.send({ type: 'config', data: { turnDetection: { type: 'server_vad' } } });
    for (const [index, rate] of [4_000, 96_000].entries()) {
      page.send(eightBits(rate));
      const error = await page.wait('error', index + 1);
      expect(error.data).toContain(`frame.data must be WAV of 8000 to 48000 samples per second (it has ${rate})`);
    }
    for (let count = 0; count < 50; count += 1) page.send(eightBits(8_000));
    page.send({ type: 'text', data: '' });
    await page.wait('error', 3);
    expect(page.closed).toBeNull();
    for (let count = 0; count < 200; count += 1) page.send(eightBits(8_000));
    await expect.poll(() => page.closed).toBe(voiceCloseCodes.tooMany);
  });

  test('of the number or size of frames closes the connection', async () => {
    const { jwt } = await hub.workspace();
    const page = await open(jwt);
    for (let count = 0; count < 10_000; count += 1) page.socket.send('{"type":"interrupt"}');
    await expect.poll(() => page.closed).toBe(voiceCloseCodes.tooMany);
    const next = await open(jwt);
    next.socket.send('x'.repeat(9 * 1024 * 1024));
    await expect.poll(() => next.closed).toBe(1009);
  });
});

test('a missing configuration is reported at the start and for each turn', async () => {
  const workspace = await hub.workspace();
  const bare = await startHub({}, hub.database);
  const page = await openVoice(bare.url, workspace.jwt);
  const atStart = await page.wait('error');
  expect(atStart).toMatchObject({ code: 'ai_binding_not_configured' });
  expect(atStart.turnId).toBeUndefined();
  page.send({ type: 'text', data: 'Hello?' });
  const ofTurn = await page.wait('error', 2);
  expect(ofTurn).toMatchObject({ code: 'ai_binding_not_configured' });
  expect(ofTurn.turnId).toBeDefined();
  expect(page.of('error')[0]?.data).toContain('TTS_PROVIDER');
  expect(await page.wait('done')).toMatchObject({ interrupted: false });
  page.end();
  await bare[Symbol.asyncDispose]();
});

test('a stopping hub finishes the current answer, accepts no more turns, and closes the connection', async () => {
  const workspace = await hub.workspace();
  const last = await startHub(
    { AI_BASE_URL: model.baseUrl, AI_MODEL: 'a', TTS_BASE_URL: speech.baseUrl, TTS_MODEL: 'b' },
    hub.database,
  );
  const [idle, busy] = [await openVoice(last.url, workspace.jwt), await openVoice(last.url, workspace.jwt)];
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  model.reply = async () => {
    await answered;
    return 'At nine.';
  };
  busy.send({ type: 'text', data: 'Hello?' });
  await busy.wait('text');
  await expect.poll(() => model.requests.at(-1)?.model).toBe('a');
  const stopped = last[Symbol.asyncDispose]();
  await expect.poll(() => idle.closed).toBe(1001);
  busy.send({ type: 'text', data: 'More?' });
  expect(await busy.wait('error')).toMatchObject({ code: 'unavailable' });
  answer();
  await busy.wait('done');
  await expect.poll(() => busy.closed).toBe(1001);
  await stopped;
  model.reply = () => 'At nine.';
});

test('metrics count turns by outcome and the latency of their stages', async () => {
  const text = await (await fetch(`${hub.url}/metrics`)).text();
  expect(text).toMatch(/outrigger_voice_turns_total\{outcome="answered"\} \d+/);
  expect(text).toMatch(/outrigger_voice_turn_seconds_count\{stage="toFirstAudio"\} \d+/);
});

/** A client of the original specification: it shows every `text`, plays every `audio`, and ends a turn at `done: true`. */
async function specifiedTurn(url: string, token: string, message: { type: string; data: string }) {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ai/voice/ws?token=${token}`);
  const shown = { text: '', audio: 0, order: [] as string[], after: 0 };
  const frames: { type: string; data?: string; done?: boolean }[] = [];
  socket.addEventListener('message', ({ data }) => frames.push(JSON.parse(String(data)) as (typeof frames)[0]));
  socket.addEventListener('open', () => socket.send(JSON.stringify(message)));
  await expect.poll(() => frames.some(({ type, done }) => done === true || type === 'done')).toBe(true);
  socket.close();
  const end = frames.findIndex(({ type, done }) => done === true || type === 'done');
  for (const { type, data } of frames.slice(0, end)) {
    if (shown.order.at(-1) !== type) shown.order.push(type);
    if (type === 'text') shown.text += data ?? '';
    if (type === 'audio') shown.audio += Buffer.from(data ?? '', 'base64').length;
  }
  return { ...shown, end: frames[end], later: frames.slice(end + 1) };
}

test('a client of the original specification shows the answer, plays it, and receives the end of the turn', async () => {
  const { jwt } = await hub.workspace();
  for (const message of [
    { type: 'text', data: 'When do you open?' },
    { type: 'audio', data: voice(1).toString('base64') },
  ]) {
    const turn = await specifiedTurn(hub.url, jwt, message);
    expect(turn).toMatchObject({ text: 'At nine.', order: ['text', 'audio'], end: { type: 'done', done: true } });
    expect(turn.audio).toBeGreaterThan(0);
    expect(turn.later).toEqual([]);
  }
});

test('an upgrade and its rejection return the request id of the caller', async () => {
  const { jwt } = await hub.workspace();
  const upgrade = (token: string) =>
    new Promise<{ status: number; id: unknown; body?: string }>((resolve, reject) => {
      const request = get(`${hub.url}/ai/voice/ws?token=${token}`, {
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
          'x-request-id': 'my-own.id_1',
        },
      });
      request.on('error', reject);
      request.on('upgrade', (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode as number, id: response.headers['x-request-id'] });
      });
      request.on('response', (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString()));
        response.on('end', () =>
          resolve({ status: response.statusCode as number, id: response.headers['x-request-id'], body }),
        );
      });
    });
  expect(await upgrade(jwt)).toEqual({ status: 101, id: 'my-own.id_1' });
  const refused = await upgrade('nothing');
  expect(refused).toMatchObject({ status: 401, id: 'my-own.id_1' });
  expect(refused.body).toContain('"requestId":"my-own.id_1"');
});
