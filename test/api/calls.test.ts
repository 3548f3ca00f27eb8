import { createServer, request as openRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createCursors } from '../../hub/platform/cursor.ts';
import { DatabaseOutage } from '../../hub/platform/db/errors.ts';
import { newId } from '../../hub/platform/ids.ts';
import { readKamailioEvent } from '../../hub/products/calls/carrier/kamailio.ts';
import { readTelnyxEvent } from '../../hub/products/calls/carrier/telnyx.ts';
import { readTwilioEvent } from '../../hub/products/calls/carrier/twilio.ts';
import { personUsername } from '../../hub/products/calls/hosted/accounts.ts';
import { fromCell, readCsv } from '../../hub/products/calls/records/csv.ts';
import { Calls } from '../../hub/products/calls/records/index.ts';
import type { CallRecord } from '../../shared/contract/calls/records.ts';
import { dayMs, minuteMs, avoidPeriodEnd } from '../fixtures/avoid-period-end.ts';
import {
  kamailioStandIn,
  publicUrl,
  telnyxEvent,
  telnyxStandIn,
  twilioCallback,
  twilioStandIn,
} from '../fixtures/carriers.ts';
import type { CarrierStandIn } from '../fixtures/carriers.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { openStream } from '../fixtures/server-sent-events.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { addAssortedCalls, ageReconciliation, moveCallToOwnTrunk } from '../fixtures/stage/calls.ts';
import { removeWorkspace, setEntitlement } from '../fixtures/stage/core.ts';

const env = {
  PUBLIC_URL: publicUrl,
  RATE_LIMIT_PER_MINUTE: '1000000',
  SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000',
  EGRESS_ALLOW_HOSTS: '127.0.0.1',
};
const authToken = '0123456789abcdef0123456789abcdef';
let hubs: TestHub[];
let hub: TestHub;
let acme: TestWorkspace;
let other: TestWorkspace;
beforeAll(async () => {
  hub = await startHub(env);
  hubs = [hub, ...(await Promise.all([startHub(env, hub.database), startHub(env, hub.database)]))];
  acme = await hub.workspace();
  other = await hub.workspace();
});
afterAll(async () => {
  for (const each of hubs.toReversed()) await each[Symbol.asyncDispose]();
});

const voice = (workspace: TestWorkspace) => hub.client(workspace.keys.voice as string);
const asSession = (workspace: TestWorkspace) => ({ authorization: `Bearer ${workspace.jwt}` });
const rows = (table: 'calls' | 'workspace_events', tenantId: string) =>
  hub.database.query(`SELECT 1 FROM ${table} WHERE tenant_id = $1${table === 'calls' ? '' : " AND type = 'call'"}`, [
    tenantId,
  ]);

/** A separate workspace with a connection to each carrier. */
async function scene() {
  const workspace = await hub.workspace();
  const telnyx = telnyxStandIn();
  const [byTwilio, byTelnyx, byKamailio] = await Promise.all([
    workspace.session.call('createCallConnection', { body: { provider: 'twilio', name: 'T', authToken } }),
    workspace.session.call('createCallConnection', {
      body: { provider: 'telnyx', name: 'X', publicKey: telnyx.publicKey },
    }),
    workspace.session.call('createCallConnection', { body: { provider: 'kamailio', name: 'K' } }),
  ]);
  return {
    workspace,
    tenantId: workspace.tenantId,
    api: voice(workspace),
    twilio: { carrier: twilioStandIn(authToken) as CarrierStandIn, ...byTwilio },
    telnyx: { carrier: telnyx as CarrierStandIn, ...byTelnyx },
    kamailio: { carrier: kamailioStandIn(byKamailio.secret as string), ...byKamailio },
  };
}

describe('connections', () => {
  test('are created, shown without their secrets, updated, rotated and deleted', async () => {
    const made = await scene();
    const { session, tenantId } = made.workspace;
    expect(made.twilio.url).toBe(`${publicUrl}/carrier/twilio/${made.twilio.id}/voice-status`);
    expect(made.twilio.secret).toBeUndefined();
    const sealed = await hub.database.query<Record<string, unknown>>(
      'SELECT * FROM call_connections WHERE tenant_id = $1',
      [tenantId],
    );
    const kept = JSON.stringify(sealed);
    const audit = JSON.stringify(await session.call('listAuditLog', { params: { tenantId } }));
    const shown = JSON.stringify(await session.call('listCallConnections'));
    expect(sealed.length).toBe(3);
    for (const secret of [authToken, made.kamailio.secret as string])
      for (const text of [kept, audit, shown]) expect(text).not.toContain(secret);
    const params = { id: made.kamailio.id };
    const message = { callId: 'rotated', event: 'ringing', at: Date.now() / 1000 };
    const rotated = await session.call('rotateCallConnection', { params });
    const renewed = kamailioStandIn(rotated.secret as string);
    const deliver = async (carrier: CarrierStandIn) => (await carrier.send(hub.url, made.kamailio.url, message)).status;
    expect([await deliver(made.kamailio.carrier), await deliver(renewed)]).toEqual([200, 200]);
    await session.call('rotateCallConnection', { params, body: { overlapHours: 0 } });
    expect([await deliver(made.kamailio.carrier), await deliver(renewed)]).toEqual([403, 403]);
    const changed = await session.call('updateCallConnection', {
      params: { id: made.twilio.id },
      body: { name: 'New', accountSid: `AC${'a'.repeat(32)}` },
    });
    expect(changed).toMatchObject({
      name: 'New',
      accountSid: `AC${'a'.repeat(32)}`,
      apiBaseUrl: 'https://api.twilio.com',
    });
    await session.call('deleteCallConnection', { params: { id: made.twilio.id } });
    const call = twilioCallback({ sid: 'CAgone', startedAt: Date.now() }, 'ringing', 1, 0);
    for (const { url } of hubs) expect((await made.twilio.carrier.send(url, made.twilio.url, call)).status).toBe(403);
    expect((await voice(made.workspace).call('listVoiceCalls')).data.map(({ callSid }) => callSid)).toEqual([
      'rotated',
    ]);
  });

  test('reject a Telnyx key that accepts forged signatures, on creation and rotation', async () => {
    const problem = 'must be the key of your Telnyx account: this key accepts forged signatures';
    const { workspace, telnyx } = await scene();
    // Points of small order on Curve25519, one of them with the sign bit set.
    for (const hex of ['00'.repeat(32), `01${'00'.repeat(31)}`, `01${'00'.repeat(30)}80`]) {
      const publicKey = Buffer.from(hex, 'hex').toString('base64');
      for (const [path, body] of [
        ['/calls/connections', { provider: 'telnyx', name: 'x', publicKey }],
        [`/calls/connections/${telnyx.id}/rotate`, { publicKey }],
      ] as const)
        expect(await send(hub.url, 'POST', path, { headers: asSession(workspace), body })).toMatchObject({
          status: 400,
          body: { code: 'validation_failed', details: [{ path: 'body.publicKey', message: problem }] },
        });
    }
  });

  test('reject invalid fields with the problem, are limited, and belong to the admins of their workspace', async () => {
    const create = async (body: object, workspace = acme) => {
      const answer = await send(hub.url, 'POST', '/calls/connections', { headers: asSession(workspace), body });
      return [answer.status, answer.body.details?.[0]?.path ?? answer.body.code ?? null];
    };
    const key = Buffer.alloc(32, 1).toString('base64');
    expect(await create({ provider: 'twilio', name: 'x' })).toEqual([400, 'body.authToken']);
    expect(await create({ provider: 'telnyx', name: 'x' })).toEqual([400, 'body.publicKey']);
    expect(await create({ provider: 'telnyx', name: 'x', publicKey: 'no' })).toEqual([400, 'body.publicKey']);
    expect(await create({ provider: 'telnyx', name: 'x', publicKey: key, authToken })).toEqual([400, 'body.authToken']);
    expect(await create({ provider: 'kamailio', name: 'x', accountSid: `AC${'a'.repeat(32)}` })).toEqual([
      400,
      'body.accountSid',
    ]);
    expect(await create({ provider: 'twilio', name: 'x', authToken, apiBaseUrl: 'http://10.0.0.1' })).toEqual([
      400,
      'body.apiBaseUrl',
    ]);
    const { id } = await acme.session.call('createCallConnection', {
      body: { provider: 'twilio', name: 'x', authToken },
    });
    const change = async (workspace: TestWorkspace, body: object) =>
      (await send(hub.url, 'PATCH', `/calls/connections/${id}`, { headers: asSession(workspace), body })).status;
    // The auth token would be sent to this address.
    expect(await change(acme, { apiBaseUrl: 'https://twilio.example' })).toBe(400);
    expect(await change(acme, { apiBaseUrl: 'https://twilio.example', authToken: 'f'.repeat(32) })).toBe(200);
    expect(await change(other, { name: 'y' })).toBe(404);
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/rotate'],
    ] as const)
      expect(
        (await send(hub.url, method, `/calls/connections/${id}${path}`, { headers: asSession(other) })).status,
      ).toBe(404);
    const person = { email: `agent.${newId()}@example.org`, password: 'correct horse battery', role: 'agent' as const };
    await acme.session.call('addMember', { params: { tenantId: acme.tenantId }, body: person });
    const { token } = await hub.client().call('logIn', { body: { email: person.email, password: person.password } });
    const asAgent = { headers: { authorization: `Bearer ${token}` } };
    expect((await send(hub.url, 'GET', '/calls/connections', asAgent)).status).toBe(403);
    expect((await send(hub.url, 'GET', '/calls', asAgent)).status).toBe(200);
  });
});

describe('an event of a carrier', () => {
  test('becomes part of one record per call, in the format of each carrier', async () => {
    const { workspace, api, twilio, telnyx, kamailio } = await scene();
    const startedAt = Math.floor(Date.now() / 1000) * 1000 - 600_000;
    const at = (seconds: number) => new Date(startedAt + seconds * 1000).toISOString();
    const call = { sid: 'CAone', startedAt };
    const missed = { sid: 'CAmissed', startedAt: startedAt + 1_000, direction: 'inbound' as const };
    for (const message of [
      twilioCallback(call, 'completed', 3, 65, { CallDuration: '60', SipResponseCode: '200' }),
      twilioCallback(call, 'ringing', 1, 0),
      twilioCallback(call, 'in-progress', 2, 5),
      twilioCallback(missed, 'no-answer', 2, 30),
      twilioCallback(missed, 'ringing', 1, 0),
      twilioCallback({ ...missed, sid: 'CAout', direction: 'outbound-api' }, 'canceled', 2, 10),
      twilioCallback({ ...missed, sid: 'CAbox', direction: 'outbound-api' }, 'completed', 3, 20, {
        CallDuration: '9',
        AnsweredBy: 'machine_start',
      }),
    ])
      expect((await twilio.carrier.send(hub.url, twilio.url, message)).status).toBe(200);
    const leg = { call_leg_id: 'leg-1', call_control_id: 'v3:x', direction: 'outgoing' };
    for (const message of [
      telnyxEvent('call.hangup', startedAt + 70_000, {
        ...leg,
        hangup_cause: 'normal_clearing',
        hangup_source: 'callee',
        sip_hangup_cause: '200',
        call_quality_stats: { inbound: { mos: '4.12' }, outbound: { mos: '4.5' } },
      }),
      telnyxEvent('call.answered', startedAt + 10_000, leg),
      telnyxEvent('call.initiated', startedAt, leg),
      telnyxEvent('call.speak.started', startedAt, leg),
    ])
      expect((await telnyx.carrier.send(hub.url, telnyx.url, message)).status).toBe(200);
    const sip = { callId: 'abc@10.0.0.1', direction: 'inbound', from: 'sip:ada@example.org', to: '+15005550001' };
    for (const message of [
      { ...sip, event: 'ringing', at: at(0) },
      {
        ...sip,
        event: 'ended',
        at: startedAt / 1000 + 20,
        sipCode: 486,
        hangupBy: 'callee',
        reason: 'Busy Here',
        mosScore: '1.25',
      },
    ])
      expect((await kamailio.carrier.send(hub.url, kamailio.url, message)).status).toBe(200);
    const odd = await kamailio.carrier.send(hub.url, kamailio.url, {
      ...sip,
      event: 'quality',
      at: at(9),
      mosScore: 9,
    });
    expect([odd.status, odd.body.details]).toEqual([
      400,
      [{ path: 'body.mosScore', message: 'must be a number from 1 to 5' }],
    ]);
    const { data } = await api.call('listVoiceCalls');
    const bySid = Object.fromEntries(data.map((record) => [record.callSid, record]));
    expect(data.length).toBe(6);
    expect(bySid['CAone']).toEqual({
      id: bySid['CAone']?.id,
      provider: 'twilio',
      callSid: 'CAone',
      direction: 'inbound',
      fromId: '+15005550006',
      toId: '+15005550001',
      fromName: null,
      toName: null,
      state: 'ended',
      result: 'answered',
      reason: null,
      startedAt: at(0),
      answeredAt: at(5),
      endedAt: at(65),
      durationSecs: 60,
      ringSecs: 5,
      hangupBy: null,
      sipCode: 200,
      mosScore: null,
    });
    expect(bySid['CAmissed']).toMatchObject({
      result: 'missed',
      durationSecs: 0,
      reason: 'no-answer',
      answeredAt: null,
      ringSecs: 30,
    });
    expect([bySid['CAout']?.result, bySid['CAbox']?.result, bySid['CAbox']?.durationSecs]).toEqual([
      'cancelled',
      'voicemail',
      0,
    ]);
    expect(bySid['leg-1']).toMatchObject({
      direction: 'outbound',
      result: 'answered',
      durationSecs: 60,
      ringSecs: 10,
      hangupBy: 'callee',
      mosScore: 4.12,
    });
    expect(bySid['abc@10.0.0.1']).toMatchObject({
      result: 'busy',
      reason: 'Busy Here',
      hangupBy: 'callee',
      mosScore: 1.25,
      startedAt: at(0),
      endedAt: at(20),
    });
    expect(await api.call('getVoiceCall', { params: { id: data[0]?.id as string } })).toEqual(data[0]);
    await expect
      .poll(async () => (await workspace.session.call('getCallConnection', { params: { id: twilio.id } })).lastEventAt)
      .not.toBeNull();
  });

  test('that only reports the end sets the start to the end minus the talk time, and the day to that of the start', async () => {
    await avoidPeriodEnd(dayMs);
    const { tenantId, workspace, telnyx, kamailio } = await scene();
    const midnight = new Date().setUTCHours(0, 0, 0, 0);
    const end = { callId: 'K', event: 'ended', at: midnight / 1000 + 5, direction: 'inbound', sipCode: 200 };
    await kamailio.carrier.send(hub.url, kamailio.url, { ...end, durationSecs: 60 });
    await telnyx.carrier.send(
      hub.url,
      telnyx.url,
      telnyxEvent('call.hangup', midnight + 5_000, {
        call_leg_id: 'T',
        direction: 'incoming',
        hangup_cause: 'user_busy',
        end_time: new Date(midnight - 1_000).toISOString(),
      }),
    );
    const at = (seconds: number) => new Date(midnight + seconds * 1000).toISOString();
    expect((await workspace.session.call('listCalls')).items).toMatchObject([
      { callSid: 'T', startedAt: at(-1), answeredAt: null, endedAt: at(-1), ringSecs: 0 },
      { callSid: 'K', startedAt: at(-55), answeredAt: at(-55), endedAt: at(5), durationSecs: 60, ringSecs: 0 },
    ]);
    expect(await workspace.session.call('getCallSummary')).toMatchObject({ callsToday: 0, inbound7d: 2 });
    const edge = new Date(midnight - 55_000).toISOString();
    expect((await workspace.session.call('listCalls', { query: { to: edge } })).items).toEqual([]);
    expect(await rows('calls', tenantId)).toHaveLength(2);
  });

  test('is rejected with one response and writes nothing if the carrier of the connection did not sign it', async () => {
    const { tenantId, twilio, telnyx, kamailio } = await scene();
    const call = twilioCallback({ sid: 'CA1', startedAt: Date.now() }, 'ringing', 1, 0);
    const event = telnyxEvent('call.initiated', Date.now(), { call_leg_id: '1' });
    const message = { callId: '1', event: 'ringing', at: Date.now() / 1000 };
    const missing = (url: string) => url.replace(/[0-9a-f-]{36}/, missingId);
    const answers = [
      await twilio.carrier.send(hub.url, twilio.url, call, { tamper: (body) => body.replace('CA1', 'CA2') }),
      await twilioStandIn('f'.repeat(32)).send(hub.url, twilio.url, call),
      await twilio.carrier.send(hub.url, missing(twilio.url), call),
      await twilio.carrier.send(hub.url, twilio.url.replace('twilio', 'kamailio'), call),
      await telnyxStandIn().send(hub.url, telnyx.url, event),
      await telnyx.carrier.send(hub.url, telnyx.url, event, { signedAt: Date.now() - 301_000 }),
      await telnyx.carrier.send(hub.url, missing(telnyx.url), event),
      await kamailio.carrier.send(hub.url, kamailio.url, message, { tamper: (body) => `${body} ` }),
      await kamailio.carrier.send(hub.url, kamailio.url, message, { signedAt: Date.now() + 330_000 }),
      await kamailio.carrier.send(hub.url, missing(kamailio.url), message),
    ];
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.code} ${body.message}`)).size).toBe(1);
    expect([answers[0]?.status, answers[0]?.body.code]).toEqual([403, 'carrier_signature_invalid']);
    const large = await kamailio.carrier.send(hub.url, kamailio.url, { ...message, padding: 'x'.repeat(64 * 1024) });
    expect([large.status, large.body.code]).toEqual([413, 'payload_too_large']);
    const odd = await kamailio.carrier.send(hub.url, kamailio.url, { ...message, at: 'soon' });
    expect([odd.status, odd.body.details?.[0]?.path]).toEqual([400, 'body.at']);
    const never = { callId: '1', event: 'ended', at: '2099-01-01T00:00:00Z', startedAt: 0 };
    const impossible = await kamailio.carrier.send(hub.url, kamailio.url, never);
    expect([impossible.status, impossible.body.details?.map(({ path }) => path)]).toEqual([
      400,
      ['body.at', 'body.startedAt'],
    ]);
    const told = await Promise.all(
      [{}, { ...message, event: 'hangup', direction: 'in' }, { ...message, sipCode: 99, from: 5 }, [], null].map(
        async (wrong) => (await kamailio.carrier.send(hub.url, kamailio.url, wrong as never)).body.details,
      ),
    );
    const oneOfEvents = { path: 'body.event', message: 'must be one of queued, ringing, answered, ended, quality' };
    expect(told).toEqual([
      [{ path: 'body.callId', message: 'is required' }, oneOfEvents, { path: 'body.at', message: 'is required' }],
      [oneOfEvents, { path: 'body.direction', message: 'must be one of inbound, outbound' }],
      [
        { path: 'body.from', message: 'must be text of 1 to 200 characters' },
        { path: 'body.sipCode', message: 'must be a whole number from 100 to 699' },
      ],
      [{ path: 'body', message: 'must be an object' }],
      [{ path: 'body', message: 'must be an object' }],
    ]);
    // The target of a request may be a complete URL.
    const whole = await new Promise<number | undefined>((answered, failed) => {
      const path = `http://elsewhere.example${new URL(twilio.url).pathname}`;
      openRequest(hub.url, { method: 'POST', path }, (response) => answered(response.resume().statusCode))
        .on('error', failed)
        .end();
    });
    expect(whole).toBe(403);
    expect([await rows('calls', tenantId), await rows('workspace_events', tenantId)]).toEqual([[], []]);
    await setEntitlement(hub.database, tenantId, 'business_calling', false);
    expect((await twilio.carrier.send(hub.url, twilio.url, call)).status).toBe(403);
  });
});

const csvHeader = 'provider,callSid,direction,fromId,toId,result,startedAt,endedAt,durationSecs\r\n';
const importLines = (tenantId: string, lines: string[]) =>
  hub.app.calls.importCsv(
    tenantId,
    (async function* () {
      yield csvHeader + lines.join('\r\n');
    })(),
    null,
  );

describe('call records', () => {
  test('are listed in order, in pages and with filters, for keys and in the dashboard', async () => {
    const { tenantId, session, keys } = await hub.workspace();
    const api = hub.client(keys.voice as string);
    const day = Date.UTC(2026, 2, 1);
    const outcomes = ['answered', 'missed', 'busy', 'cancelled'];
    const lines = Array.from({ length: 40 }, (_, index) => {
      const at = new Date(day + Math.floor(index / 2) * 60_000).toISOString();
      return `twilio,CA${index},${index % 4 === 3 ? 'outbound' : 'inbound'},+1500,+1501,${outcomes[index % 4]},${at},${at},`;
    });
    expect(await importLines(tenantId, lines)).toMatchObject({ read: 40, changed: 40, refused: 0 });
    expect(await importLines(tenantId, lines)).toMatchObject({ read: 40, changed: 0 });
    const all = (await api.call('listVoiceCalls', { query: { limit: 100 } })).data;
    const sorted = all.toSorted((one, two) => (`${one.startedAt}${one.id}` < `${two.startedAt}${two.id}` ? 1 : -1));
    expect([all.length, all]).toEqual([40, sorted]);
    for (const filter of [
      {},
      { direction: 'outbound' as const },
      { result: 'missed' as const },
      { direction: 'inbound' as const, result: 'answered' as const, from: new Date(day + 120_000).toISOString() },
      { from: new Date(day + 300_000).toISOString(), to: new Date(day + 600_000).toISOString() },
    ]) {
      const expected = all.filter(
        (call) =>
          (filter.direction ?? call.direction) === call.direction &&
          (filter.result ?? call.result) === call.result &&
          call.startedAt >= (filter.from ?? '') &&
          call.startedAt < (filter.to ?? '9'),
      );
      const walk = async (
        read: (cursor: string | undefined) => Promise<{ page: CallRecord[]; next: string | null }>,
      ) => {
        const found: CallRecord[] = [];
        for (let cursor: string | undefined; ;) {
          const { page, next } = await read(cursor);
          found.push(...page);
          if (next === null) return found;
          cursor = next;
        }
      };
      const query = (cursor: string | undefined) => ({
        ...filter,
        limit: 3,
        ...(cursor === undefined ? {} : { cursor }),
      });
      expect(
        await walk(async (cursor) => {
          const { data, meta } = await api.call('listVoiceCalls', { query: query(cursor) });
          return { page: data, next: meta.nextCursor };
        }),
      ).toEqual(expected);
      expect(
        await walk(async (cursor) => {
          const { items, nextCursor } = await session.call('listCalls', { query: query(cursor) });
          return { page: items, next: nextCursor };
        }),
      ).toEqual(expected);
      expect(expected.length).toBeGreaterThan(3);
    }
    const refused = async (path: string, headers: Record<string, string>) => {
      const answer = await send(hub.url, 'GET', path, { headers });
      return [answer.status, answer.body.code];
    };
    const byKey = { 'x-api-key': keys.voice as string };
    const bySession = { authorization: `Bearer ${acme.jwt}` };
    expect(await refused('/v1/voice/calls?result=lost', byKey)).toEqual([400, 'validation_failed']);
    expect(await refused(`/calls?cursor=${all[0]?.id}`, bySession)).toEqual([400, 'invalid_cursor']);
    const span = 'from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z';
    for (const [path, headers] of [
      [`/v1/voice/calls?${span}`, byKey],
      [`/calls?${span}`, bySession],
      [`/calls/export?${span}`, bySession],
    ] as const) {
      const { status, body } = await send(hub.url, 'GET', path, { headers });
      expect([status, body.details]).toMatchObject([400, [{ path: 'query.from' }, { path: 'query.to' }]]);
    }
    expect(await refused('/v1/voice/calls?cursor=abc', byKey)).toEqual([400, 'invalid_cursor']);
    expect(await refused(`/v1/voice/calls/${all[0]?.id}`, { 'x-api-key': acme.keys.voice as string })).toEqual([
      404,
      'not_found',
    ]);
    expect(await refused('/v1/voice/calls', { 'x-api-key': acme.key })).toEqual([403, 'wrong_product']);
    expect(await refused('/v1/voice/calls', {})).toEqual([401, 'unauthenticated']);
    expect(await refused('/v1/voice/numbers', byKey)).toEqual([501, 'not_available']);
  });

  test('are summed up for the dashboard, for keys and for workflows', async () => {
    await avoidPeriodEnd(dayMs);
    const { workspace, tenantId, api, kamailio } = await scene();
    const empty = { minutesToday: 0, answeredRate7d: null, callsToday: 0, inbound7d: 0, answered7d: 0 };
    expect(await workspace.session.call('getCallSummary')).toEqual(empty);
    const now = Date.now();
    const line = (sid: string, direction: string, result: string, at: number, seconds: number) =>
      `telnyx,${sid},${direction},1,2,${result},${new Date(at).toISOString()},${new Date(at + seconds * 1000).toISOString()},${seconds}`;
    // 150 s of calls today are 3 minutes, rounded half up.
    await importLines(tenantId, [
      line('a', 'inbound', 'answered', now, 90),
      line('b', 'outbound', 'answered', now, 60),
      line('c', 'inbound', 'missed', now - 6 * 86_400_000, 20),
      line('d', 'inbound', 'answered', now - 7 * 86_400_000, 600),
    ]);
    await kamailio.carrier.send(hub.url, kamailio.url, {
      callId: 'open',
      event: 'ringing',
      direction: 'inbound',
      at: now / 1000,
    });
    const expected = { minutesToday: 3, answeredRate7d: 0.5, callsToday: 3, inbound7d: 2, answered7d: 1 };
    expect(await workspace.session.call('getCallSummary')).toEqual(expected);
    await hub.app.sweep();
    expect(await api.call('getVoiceUsage')).toEqual(expected);
    const run = async () => {
      const { id } = await workspace.api.call('createAutomationWorkflow', {
        body: {
          name: 'usage',
          active: true,
          triggerJson: { schemaVersion: 1, type: 'manual' },
          stepsJson: [{ type: 'skill', skillId: 'voice.usage_read', input: { days: 30 } }],
        },
      });
      const started = (await workspace.api.call('runAutomationWorkflow', { params: { id } })) as { runId: string };
      return (await settledRun(workspace.api, started.runId)).stepsResultJson[0];
    };
    expect((await run())?.output).toEqual({
      days: 30,
      calls: 5,
      inbound: 3,
      answeredInbound: 2,
      answered: 3,
      minutes: 13,
    });
    await setEntitlement(hub.database, tenantId, 'business_phone', false);
    await expect(run()).rejects.toMatchObject({ code: 'product_not_entitled' });
  });

  test('are exported as JSON and as CSV without spreadsheet formulas, and imported from it byte for byte', async () => {
    const { tenantId, session, jwt } = await hub.workspace();
    const target = await hub.workspace();
    const at = '2026-03-01T10:00:00.000Z';
    await importLines(tenantId, [
      `twilio,CA1,inbound,+15005550006,"=HYPERLINK(""x"")",answered,${at},2026-03-01T10:01:00.000Z,60`,
      `twilio,CA2,outbound,"@a,b","line\r\nbreak",busy,${at},${at},`,
      `twilio,CA3,outbound,-5.5,''quoted,failed,${at},${at},`,
      `twilio,CA4,outbound,＝1+1,"a;＠b",busy,${at},${at},`,
    ]);
    // Some calls have no known direction.
    const { url, secret } = await session.call('createCallConnection', { body: { provider: 'kamailio', name: 'K' } });
    const kamailio = kamailioStandIn(secret as string);
    await kamailio.send(hub.url, url, {
      callId: 'K1',
      event: 'ended',
      at,
      sipCode: 200,
      durationSecs: 9,
      mosScore: 4.3,
    });
    await kamailio.send(hub.url, url, {
      callId: 'K2',
      event: 'ended',
      at,
      sipCode: 486,
      from: '+4930',
      hangupBy: 'callee',
    });
    const read = async (query: string) =>
      send(hub.url, 'GET', `/calls/export${query}`, { headers: { authorization: `Bearer ${jwt}` } });
    await avoidPeriodEnd(minuteMs);
    const json = await read('');
    const { items } = await session.call('listCalls');
    expect([json.headers.get('content-disposition'), JSON.parse(json.text)]).toEqual([
      'attachment; filename=calls.json',
      items,
    ]);
    const csv = await read('?format=csv');
    expect(csv.headers.get('content-type')).toContain('text/csv');
    expect(csv.text).toContain(`,+15005550006,"'=HYPERLINK(""x"")",`);
    expect(csv.text).toContain(`,"'@a,b","line\r\nbreak",`);
    expect(csv.text).toContain(`,-5.5,''quoted,`);
    expect(csv.text).toContain(`,'＝1+1,"a;'＠b",`);
    const outcome = await hub.app.calls.importCsv(
      target.tenantId,
      (async function* () {
        for (const letter of csv.text) yield letter;
      })(),
      null,
    );
    expect(outcome).toEqual({ read: 6, changed: 6, skipped: 0, old: 0, refused: 0, problems: [] });
    const withoutIds = (calls: readonly CallRecord[]) =>
      calls.map((call) => ({ ...call, id: null })).toSorted((one, two) => (one.callSid < two.callSid ? -1 : 1));
    expect(withoutIds((await target.session.call('listCalls')).items)).toEqual(withoutIds(items));
    expect((await read('?format=xml')).status).toBe(400);
    expect((await read('?result=voicemail')).text).toBe('[]\n');
    for (const wait of [1, 2]) expect([wait, (await read('')).status]).toEqual([wait, 200]);
    const limited = await read('');
    expect([limited.status, limited.headers.has('retry-after')]).toEqual([429, true]);
  });

  test('are exported over many pages in the order of the list, regardless of their values', async () => {
    const { tenantId, session, jwt } = await hub.workspace();
    const texts = [
      '',
      "'",
      "'=1",
      "'＝1",
      '＝1',
      'a;＋1',
      '=1',
      '+1 555',
      '+15005550006',
      '+1500555000612345',
      '-1',
      '-1.5',
      '-1.',
      '-x',
      '@a',
      '\t1',
      `x;=cmd|'/c calc'!A1;`,
      "a\t@b;'=c;''-d;'e; =f;\"=g",
      'a\r\n+b\n\r-c\t\t1',
      '\r',
      '\n',
      'a"b',
      '"',
      '=a,"b"',
      '€ 😀 \u2028',
      '\u0001\\',
      '{}',
    ];
    await addAssortedCalls(hub.database, tenantId, texts);
    const items: CallRecord[] = [];
    for (let cursor: string | undefined; items.length < 450;) {
      const page = await session.call('listCalls', {
        query: { limit: 100, ...(cursor === undefined ? {} : { cursor }) },
      });
      items.push(...page.items);
      cursor = page.nextCursor ?? undefined;
    }
    const read = async (query: string) =>
      (await send(hub.url, 'GET', `/calls/export?${query}`, { headers: { authorization: `Bearer ${jwt}` } })).text;
    expect(JSON.parse(await read(''))).toEqual(items);
    expect(JSON.parse(await read('direction=inbound&result=answered'))).toEqual(
      items.filter(({ direction, result }) => direction === 'inbound' && result === 'answered'),
    );
    const lines: string[][] = [];
    for await (const { cells } of readCsv(Readable.from([await read('format=csv')]))) lines.push(cells);
    const head = lines.shift();
    expect(head).toEqual(Object.keys(items[0] as CallRecord));
    expect(lines.map((cells) => cells.map(fromCell))).toEqual(
      items.map((call) => Object.values(call).map((value) => String(value ?? ''))),
    );
    // Splits like a spreadsheet in a locale with decimal commas.
    const split = (cell: string) => cell.split(/[;\t\r\n]"*/);
    const calculated = lines.flatMap((cells) => cells.flatMap((cell) => [cell, ...split(cell)]));
    expect(new Set(calculated.filter((cell) => /^[=+\-@\t\r]/.test(cell)))).toEqual(
      new Set(['+15005550006', '-1', '-1.5']),
    );
  });

  test('name the member behind a SIP user in lists, exports and live events, and never a member of another workspace', async () => {
    const { tenantId, session, jwt } = await hub.workspace();
    const elsewhere = await hub.workspace();
    const me = (await session.call('readMe')).user;
    await session.call('updateMe', { body: { displayName: 'Ann, B.' } });
    const theirs = (await elsewhere.session.call('readMe')).user;
    const [mine, foreign] = [personUsername(tenantId, me.id), personUsername(elsewhere.tenantId, theirs.id)];
    const live = await openStream(`${hub.url}/calls/live`, jwt);
    await expect.poll(() => live.received.map(({ event }) => event)).toEqual(['ready']);
    const at = '2026-03-01T10:00:00.000Z';
    const line = (sid: string, from: string, to: string) =>
      `twilio,${sid},outbound,${from},${to},answered,${at},${at},60`;
    await importLines(tenantId, [
      line('CA1', mine, `sip:${mine}@sip.example.org`),
      line('CA2', foreign, '+15005550006'),
      line('CA3', personUsername(elsewhere.tenantId, me.id), `${mine}x`),
    ]);
    const { items } = await session.call('listCalls');
    const named = items.map(({ callSid, fromName, toName }) => [callSid, fromName, toName]).toSorted();
    expect(named).toEqual([
      ['CA1', 'Ann, B.', 'Ann, B.'],
      ['CA2', null, null],
      ['CA3', null, null],
    ]);
    const read = async (query: string) =>
      send(hub.url, 'GET', `/calls/export${query}`, { headers: { authorization: `Bearer ${jwt}` } });
    expect(JSON.parse((await read('')).text)).toEqual(items);
    expect((await read('?format=csv')).text).toContain(`,"Ann, B.","Ann, B.",`);
    const told = () => live.received.slice(1).map(({ data }) => data['call'] as CallRecord);
    await expect.poll(() => told().length).toBe(3);
    expect(told().find(({ callSid }) => callSid === 'CA1')).toEqual(items.find(({ callSid }) => callSid === 'CA1'));
  });

  test('are exported by a signed-in user at most five times a minute, over all sessions', async () => {
    const { email, password, jwt } = await hub.workspace();
    const { token } = await hub.client().call('logIn', { body: { email, password } });
    await avoidPeriodEnd(minuteMs);
    const statuses: number[] = [];
    for (let count = 0; count < 6; count += 1) {
      const headers = { authorization: `Bearer ${count % 2 === 0 ? jwt : token}` };
      statuses.push((await send(hub.url, 'GET', '/calls/export', { headers })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });

  test('are imported except for invalid CSV lines, which are reported', async () => {
    const { tenantId } = await hub.workspace();
    const at = '2026-03-01T10:00:00.000Z';
    const outcome = await importLines(tenantId, [
      `twilio,CA1,inbound,,,answered,${at},${at},5`,
      `twilio,CA2,sideways,,,answered,${at},${at},`,
      `,CA3,inbound,,,busy,${at},soon,`,
    ]);
    expect(outcome).toMatchObject({ read: 1, changed: 1, refused: 2, problems: [{ line: 3 }, { line: 4 }] });
    expect(outcome.problems[0]?.message).toBe('direction must be one of inbound, outbound');
    await expect(
      hub.app.calls.importCsv(
        tenantId,
        (async function* () {
          yield 'callSid,"result';
        })(),
        'twilio',
      ),
    ).rejects.toThrow('line 1 is never closed');
    await expect(
      hub.app.calls.importCsv(
        tenantId,
        (async function* () {
          yield 'callSid,result\n';
        })(),
        null,
      ),
    ).rejects.toThrow('Missing: direction, startedAt, endedAt, provider (or use --provider).');
  });

  test('are not changed by a CSV that repeats them, from any carrier and with semicolons, and are updated by one with more data', async () => {
    const { tenantId, workspace, twilio, telnyx, kamailio } = await scene();
    const startedAt = Math.floor(Date.now() / 1000) * 1000 - 600_000;
    const call = twilioCallback({ sid: 'CA', startedAt }, 'completed', 3, 65, { CallDuration: '60' });
    const hangup = { call_leg_id: 'T', hangup_cause: 'originator_cancel', direction: 'incoming' };
    const ended = { callId: '=K', event: 'ended', at: startedAt / 1000, direction: 'outbound', durationSecs: 7 };
    await twilio.carrier.send(hub.url, twilio.url, call);
    await telnyx.carrier.send(hub.url, telnyx.url, telnyxEvent('call.hangup', startedAt, hangup));
    await kamailio.carrier.send(hub.url, kamailio.url, { ...ended, sipCode: 200, mosScore: 4.3 });
    await kamailio.carrier.send(hub.url, kamailio.url, { ...ended, callId: 'own', direction: 'inbound', sipCode: 480 });
    await moveCallToOwnTrunk(hub.database, tenantId, 'own');
    const path = '/calls/export?format=csv';
    const { text } = await send(hub.url, 'GET', path, { headers: asSession(workspace) });
    const take = (csv: string, into = tenantId) =>
      hub.app.calls.importCsv(
        into,
        (async function* () {
          yield csv;
        })(),
        null,
      );
    const before = await hub.database.query('SELECT * FROM calls WHERE tenant_id = $1 ORDER BY id', [tenantId]);
    const same = { read: 4, changed: 0, skipped: 0, old: 0, refused: 0, problems: [] };
    expect([await take(text), await take(text.replaceAll(',', ';'))]).toEqual([same, same]);
    expect(await hub.database.query('SELECT * FROM calls WHERE tenant_id = $1 ORDER BY id', [tenantId])).toEqual(
      before,
    );
    expect(await take(text.replace(',4.3', ',4.1'))).toEqual({ ...same, changed: 1 });
    const { tenantId: elsewhere } = await hub.workspace();
    expect(await take(text, elsewhere)).toEqual({ ...same, changed: 4 });
    expect(await take(text, elsewhere)).toEqual(same);
  });

  test('are deleted after their retention, or with their workspace', async () => {
    const { tenantId } = await hub.workspace();
    const at = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
    const unbounded = new Calls({ db: hub.app.db, cursors: createCursors(Buffer.alloc(32)) });
    const old = readKamailioEvent({ callId: 'old', event: 'ended', at: at(366) });
    await unbounded.merge(tenantId, old);
    await importLines(tenantId, [`twilio,new,inbound,,,missed,${at(364)},${at(364)},`]);
    await hub.app.sweep();
    // A removed call is not imported again, because the totals of its day would count it twice.
    expect(await importLines(tenantId, [`kamailio,old,inbound,,,missed,${at(366)},${at(366)},`])).toMatchObject({
      read: 0,
      old: 1,
    });
    const bounded = new Calls({ db: hub.app.db, cursors: createCursors(Buffer.alloc(32)), keptDays: 365 });
    await bounded.merge(tenantId, old);
    expect(await bounded.mergeAll(tenantId, [old])).toBe(0);
    const sids = async () =>
      (
        await hub.database.query<{ call_sid: string }>('SELECT call_sid FROM calls WHERE tenant_id = $1', [tenantId])
      ).map((row) => row.call_sid);
    expect(await sids()).toEqual(['new']);
    await removeWorkspace(hub.database, tenantId);
    await hub.app.sweep();
    expect(await sids()).toEqual([]);
    expect(await hub.database.query('SELECT 1 FROM call_day_sums WHERE tenant_id = $1', [tenantId])).toEqual([]);
  });
});

test('a change of a call is published live at every process, only to its workspace, once, and resumes after a disconnect', async () => {
  const { workspace, kamailio } = await scene();
  const [, second, third] = hubs as [TestHub, TestHub, TestHub];
  const stream = await openStream(`${second.url}/calls/live`, workspace.jwt);
  await expect.poll(() => stream.received.map(({ event }) => event)).toEqual(['ready']);
  const at = Date.now() / 1000;
  const call = { callId: 'live', direction: 'inbound' };
  const states = (of: typeof stream) => of.received.slice(1).map(({ data }) => (data['call'] as CallRecord).state);
  for (const url of [hub.url, third.url])
    await kamailio.carrier.send(url, kamailio.url, { ...call, event: 'ringing', at });
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'beside', stepsJson: [{ type: 'log', message: 'x' }] },
  });
  await workspace.api.call('runAutomationWorkflow', { params: { id }, body: {} });
  await kamailio.carrier.send(third.url, kamailio.url, { ...call, event: 'answered', at: at + 2 });
  await expect.poll(() => stream.received.map(({ event }) => event)).toEqual(['ready', 'call', 'call']);
  expect(states(stream)).toEqual(['ringing', 'in_progress']);
  const { items } = await workspace.session.call('listCalls');
  expect(stream.received.at(-1)?.data['call']).toEqual(items[0]);
  stream.end();
  await kamailio.carrier.send(hub.url, kamailio.url, { ...call, event: 'ended', at: at + 5, sipCode: 200 });
  const back = await openStream(`${hub.url}/calls/live`, workspace.jwt, stream.lastEventId);
  await expect.poll(() => back.received.map(({ data }) => (data['call'] as CallRecord).result)).toEqual(['answered']);
  expect((await send(hub.url, 'GET', '/calls/live')).status).toBe(401);
});

test('the polled list of the carrier adds missed calls, page by page and only from the address of the carrier', async () => {
  const workspace = await hub.workspace();
  const accountSid = `AC${'b'.repeat(32)}`;
  const asked: string[] = [];
  const now = Math.floor(Date.now() / 1000) * 1000;
  let leads = '';
  const server = createServer((request, response) => {
    const url = new URL(request.url as string, 'http://x');
    asked.push(`${request.headers.authorization} ${url.pathname}`);
    const [from, to] = ['StartTime>', 'StartTime<'].map((name) => Date.parse(url.searchParams.get(name) ?? ''));
    const page = Number(url.searchParams.get('Page') ?? 0);
    const calls = Array.from({ length: 30 }, (_, index) => now - index * 7_200_000 - 3_600_000)
      .filter((at) => at >= (from as number) && at < (to as number))
      .map((at, index) => ({
        sid: `CA${at}`,
        status: index === 0 ? 'no-answer' : 'completed',
        direction: 'inbound',
        from: '+1',
        to: '+2',
        duration: '60',
        answered_by: null,
        start_time: new Date(at).toUTCString(),
        end_time: new Date(at + 60_000).toUTCString(),
      }))
      .concat([{ sid: 'CAopen', status: 'in-progress' } as never]);
    url.searchParams.set('Page', String(page + 1));
    const next = leads === '' ? `${url.pathname}${url.search}` : leads;
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        calls: calls.slice(page * 5, page * 5 + 5),
        next_page_uri: page * 5 + 5 < calls.length ? next : null,
      }),
    );
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const apiBaseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connection = await workspace.session.call('createCallConnection', {
    body: { provider: 'twilio', name: 'T', authToken, accountSid, apiBaseUrl },
  });
  const lastCompared = (hoursAgo: number) => ageReconciliation(hub.database, connection.id, { hours: hoursAgo });
  // The last comparison lies within the requested period, so nothing before it remains to be compared.
  await lastCompared(50);
  const reconcile = () =>
    hub.app.calls.reconcile(workspace.tenantId, new Date(now - 60 * 3_600_000), new AbortController().signal);
  const missed = twilioCallback({ sid: `CA${now - 3_600_000}`, startedAt: now - 3_600_000 }, 'ringing', 1, 0);
  await twilioStandIn(authToken).send(hub.url, connection.url, missed);
  expect(await reconcile()).toEqual({ connections: 1, read: 30, changed: 30, failed: [] });
  expect(await reconcile()).toMatchObject({ read: 30, changed: 0 });
  const { data } = await voice(workspace).call('listVoiceCalls');
  expect([data.length, new Set(data.map(({ state }) => state))]).toEqual([30, new Set(['ended'])]);
  expect(data.filter(({ result }) => result === 'answered').every(({ durationSecs }) => durationSecs === 60)).toBe(
    true,
  );
  const basic = Buffer.from(`${accountSid}:${authToken}`).toString('base64');
  expect(new Set(asked)).toEqual(new Set([`Basic ${basic} /2010-04-01/Accounts/${accountSid}/Calls.json`]));
  const { reconciledAt } = await workspace.session.call('getCallConnection', { params: { id: connection.id } });
  expect(Date.parse(reconciledAt as string)).toBeGreaterThanOrEqual(now);
  // The nightly comparison covers the time since one day before the last comparison.
  await lastCompared(30);
  asked.length = 0;
  await hub.app.sweep();
  const nightly = asked.length;
  await hub.app.sweep();
  expect([nightly > 3, asked.length]).toEqual([true, nightly]);
  leads = 'http://127.0.0.2:1/elsewhere';
  expect((await reconcile()).failed[0]?.message).toContain('on another host');
});

test('thousands of shuffled and repeated events of many connections and processes result in one correct record per call', async () => {
  const { workspace, tenantId, twilio, telnyx, kamailio } = await scene();
  const count = 1_000;
  const yesterday =
    Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth(), new Date().getUTCDate()) - 3_600_000;
  const expected = new Map<string, [result: string, durationSecs: number, startedAt: string]>();
  const deliveries: (() => Promise<number>)[] = [];
  // Most calls use the service directly, because HTTP takes by far the longest.
  const readers = [
    (message: Record<string, unknown>) => readTwilioEvent(message, new Date()),
    readTelnyxEvent,
    readKamailioEvent,
  ];
  const processes = hubs.map(({ app: { db } }) => new Calls({ db, cursors: createCursors(Buffer.alloc(32)) }));
  const dice = (() => {
    let seed = 42;
    return () => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
  })();
  for (let index = 0; index < count; index += 1) {
    const startedAt = yesterday + index * 7_000;
    const kind = index % 3;
    const fate = index % 4;
    const talk = fate === 0 ? 30 + (index % 50) : 0;
    const result = ['answered', 'missed', 'busy', 'failed'][fate] as string;
    expected.set(`call-${index}`, [result, talk, new Date(startedAt).toISOString()]);
    const url = [twilio, telnyx, kamailio][kind] as typeof twilio;
    const over = 5 + talk;
    const messages: Record<string, unknown>[] = [];
    if (kind === 0) {
      const call = { sid: `call-${index}`, startedAt };
      const status = ['completed', 'no-answer', 'busy', 'failed'][fate] as string;
      messages.push(twilioCallback(call, 'initiated', 0, 0), twilioCallback(call, 'ringing', 1, 1));
      if (fate === 0) messages.push(twilioCallback(call, 'in-progress', 2, 5));
      messages.push(twilioCallback(call, status, 3, over, fate === 0 ? { CallDuration: String(talk) } : {}));
    } else if (kind === 1) {
      const leg = { call_leg_id: `call-${index}`, direction: 'incoming' };
      const cause = ['normal_clearing', 'originator_cancel', 'user_busy', 'not_found'][fate];
      messages.push(telnyxEvent('call.initiated', startedAt, leg));
      if (fate === 0)
        messages.push(
          telnyxEvent('call.answered', startedAt + 5_000, leg),
          telnyxEvent('call.bridged', startedAt + 6_000, leg),
        );
      messages.push(telnyxEvent('call.hangup', startedAt + over * 1000, { ...leg, hangup_cause: cause }));
    } else {
      const call = { callId: `call-${index}`, direction: 'inbound' };
      messages.push(
        { ...call, event: 'queued', at: startedAt / 1000 },
        { ...call, event: 'ringing', at: startedAt / 1000 + 1 },
      );
      if (fate === 0) messages.push({ ...call, event: 'answered', at: startedAt / 1000 + 5 });
      messages.push({ ...call, event: 'ended', at: startedAt / 1000 + over, sipCode: [200, 487, 486, 500][fate] });
    }
    for (const message of [...messages, ...messages.filter(() => dice() < 0.9)]) {
      const process = Math.floor(dice() * 3);
      const event = dice() < 0.07 ? null : readers[kind]?.(message);
      deliveries.push(async () => {
        if (event === null || event === undefined)
          return (await url.carrier.send((hubs[process] as TestHub).url, url.url, message)).status;
        try {
          await processes[process]?.merge(tenantId, event);
          return 200;
        } catch (error) {
          if (error instanceof DatabaseOutage) return 503;
          throw error;
        }
      });
    }
  }
  const shuffled = deliveries.map((deliver) => ({ deliver, at: dice() })).toSorted((one, two) => one.at - two.at);
  expect(shuffled.length).toBeGreaterThan(5_500);
  const statuses = new Set<number>();
  const queue = shuffled.values();
  await Promise.all(
    Array.from({ length: 200 }, async () => {
      for (const { deliver } of queue) {
        let status = await deliver();
        // Carriers send an event again while the hub is too busy for it.
        while (status === 503) status = await deliver();
        statuses.add(status);
      }
    }),
  );
  expect(statuses).toEqual(new Set([200]));
  const records = await hub.database.query<{
    call_sid: string;
    result: string;
    duration_secs: number;
    started_at: Date;
  }>('SELECT call_sid, result, duration_secs, started_at FROM calls WHERE tenant_id = $1', [tenantId]);
  expect(
    new Map(records.map((row) => [row.call_sid, [row.result, row.duration_secs, row.started_at.toISOString()]])),
  ).toEqual(expected);
  expect(records.length).toBe(count);
  // Events per call: no event repeats the previous one, and the last one equals the record.
  const told = await hub.database.query<{ data: { call: CallRecord } }>(
    `SELECT data FROM workspace_events WHERE tenant_id = $1 AND type = 'call' ORDER BY seq`,
    [tenantId],
  );
  const last = new Map<string, string>();
  for (const { data } of told) {
    const text = JSON.stringify(data.call);
    expect(last.get(data.call.id)).not.toBe(text);
    last.set(data.call.id, text);
  }
  const shown = await Promise.all(
    [...last.keys()].slice(0, 20).map((id) => voice(workspace).call('getVoiceCall', { params: { id } })),
  );
  for (const call of shown) expect(JSON.parse(last.get(call.id) as string)).toEqual(call);
  expect(last.size).toBe(count);
  const days = await hub.database.query<{ same: boolean }>(
    `SELECT (SELECT json_agg(d ORDER BY day) FROM (SELECT day, sum(calls)::int AS calls, sum(inbound)::int AS inbound, sum(answered_inbound)::int AS answered, sum(seconds)::int AS seconds
         FROM call_day_sums WHERE tenant_id = $1 GROUP BY day HAVING sum(calls) <> 0) d)::text
       = (SELECT json_agg(d ORDER BY day) FROM (SELECT (started_at AT TIME ZONE 'UTC')::date AS day, count(*)::int AS calls, count(*)::int AS inbound,
           (count(*) FILTER (WHERE result = 'answered'))::int AS answered, sum(duration_secs)::int AS seconds FROM calls WHERE tenant_id = $1 GROUP BY 1) d)::text AS same`,
    [tenantId],
  );
  expect(days).toEqual([{ same: true }]);
});

// This test is last, because all tests share one address.
test('an address that sends too many unsigned events is limited, except for connections with recent valid events', async () => {
  const fresh = hubs[2] as TestHub;
  const { session } = await hub.workspace();
  const { id, url } = await session.call('createCallConnection', {
    body: { provider: 'twilio', name: 'T', authToken },
  });
  const carrier = twilioStandIn(authToken);
  const call = twilioCallback({ sid: 'CA1', startedAt: Date.now() }, 'ringing', 1, 0);
  expect((await carrier.send(fresh.url, url, call)).status).toBe(200);
  await avoidPeriodEnd(minuteMs);
  const burst = () =>
    Promise.all(Array.from({ length: 130 }, () => carrier.send(fresh.url, url.replace(id, newId()), call)));
  let answers = await burst();
  // The hub may check all requests of a burst before it has counted them.
  if (answers.every(({ status }) => status === 403)) answers = await burst();
  expect(new Set(answers.map(({ status }) => status).filter((status) => status !== 403))).toEqual(new Set([429]));
  expect(answers.find(({ status }) => status === 429)?.headers.has('retry-after')).toBe(true);
  expect((await carrier.send(fresh.url, url, call)).status).toBe(200);
  // Otherwise callers could find out which ids exist.
  expect((await twilioStandIn('f'.repeat(32)).send(fresh.url, url, call)).status).toBe(429);
});
