import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../hub/platform/ids.ts';
import type { chatEventTypes } from '../../shared/contract/chat/chat-events.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { startMailServer } from '../fixtures/mail-server.ts';
import type { MailServer } from '../fixtures/mail-server.ts';
import { isSigned, isStandardSigned, startReceiver } from '../fixtures/receiver.ts';
import type { Receiver } from '../fixtures/receiver.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { ageAssignments, setAgentsSeen } from '../fixtures/stage/chat.ts';
import type { TimeSpan } from '../fixtures/stage/time-span.ts';
import {
  acceptAttempts,
  addDelivered,
  addDeliveries,
  damageSecret,
  expirePreviousSecret,
  leaseDeliveries,
  makeDeliveriesDue,
  makeRetriesDue,
  refuseAttempts,
  setFailing,
} from '../fixtures/stage/webhooks.ts';
import { chatScene } from '../fixtures/visitor.ts';

let mail: MailServer;
let hub: TestHub;
beforeAll(async () => {
  mail = await startMailServer();
  hub = await startHub({
    RATE_LIMIT_PER_MINUTE: '1000000',
    SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000',
    EGRESS_ALLOW_HOSTS: '127.0.0.1,localhost',
    SMTP_URL: mail.url,
    MAIL_FROM: 'hub@example.org',
  });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await mail[Symbol.asyncDispose]();
});

type Event = (typeof chatEventTypes)[number];

/** A workspace with a receiver and a webhook to it. */
async function scene({ events = ['message.created'], path = '/hook' }: { events?: Event[]; path?: string } = {}) {
  const workspace = await hub.workspace();
  const api = hub.client(workspace.keys.chat as string);
  const receiver = await startReceiver();
  onTestFinished(() => receiver[Symbol.asyncDispose]());
  const { tenantId } = workspace;
  const webhook = await api.call('createWebhook', {
    params: { tenantId },
    body: { url: `${receiver.url}${path}`, events },
  });
  const params = { tenantId, id: webhook.id };
  return {
    workspace,
    tenantId,
    api,
    receiver,
    webhook,
    params,
    conversation: async () => (await api.call('createChatConversation', { body: { name: 'talk' } })).id,
    write: (id: string, content = 'hello') => api.call('sendChatMessage', { params: { id }, body: { content } }),
    deliveries: async (query: { status?: 'pending' | 'delivered' | 'failed' | 'exhausted'; event?: Event } = {}) =>
      (await api.call('listWebhookDeliveries', { params, query })).data,
    /** Makes every retry of this webhook due now. */
    becomeDue: () => makeRetriesDue(hub.database, webhook.id),
  };
}

const eventIdOf = ({ body }: { body: string }) => (JSON.parse(body) as { eventId: string }).eventId;
const contentOf = ({ body }: { body: string }) =>
  (JSON.parse(body) as { payload: { message: { content: string } } }).payload.message.content;
const answerWith = (receiver: Receiver, status: number, headers: Record<string, string> = {}) => {
  receiver.answer = (_received, response) => void response.writeHead(status, headers).end(`answer ${status}`);
};
/** Prevents a retry during the test. */
const retryLater = { 'retry-after': '3600' };

describe('a webhook', () => {
  test('receives events with both signatures, with the same objects as in reads', async () => {
    const { api, receiver, webhook, conversation, write, tenantId } = await scene({
      events: ['message.created', 'conversation.created'],
    });
    const id = await conversation();
    const message = await write(id);
    await expect.poll(() => receiver.received.length).toBe(2);
    const bodies = receiver.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
    expect(Object.keys(bodies[0] as object)).toEqual(['event', 'eventId', 'payload', 'timestamp']);
    expect(bodies.map(({ event }) => event)).toEqual(['conversation.created', 'message.created']);
    const [shown] = (await api.call('listChatConversations', {})).data;
    expect(bodies[1]?.['payload']).toMatchObject({
      tenantId,
      sequence: 2,
      environment: 'live',
      actor: expect.stringMatching(/^token:/) as string,
      message,
      conversation: shown,
    });
    for (const received of receiver.received) {
      expect(await isSigned(received, webhook.secret)).toBe(true);
      expect(await isStandardSigned(received, webhook.secret)).toBe(true);
      expect(await isSigned({ ...received, body: `${received.body} ` }, webhook.secret)).toBe(false);
      expect(received.headers['webhook-id']).toBe(eventIdOf(received));
      expect(received.headers['content-type']).toBe('application/json');
    }
  });

  test('receives the events of requests with an Idempotency-Key without delay', async () => {
    const { workspace, receiver, conversation } = await scene();
    const ids = await Promise.all(Array.from({ length: 10 }, () => conversation()));
    for (const id of ids) {
      const { status } = await send(hub.url, 'POST', `/v1/chat/conversations/${id}/messages`, {
        headers: { 'x-api-key': workspace.keys.chat as string, 'idempotency-key': id },
        body: { content: id },
      });
      expect(status).toBe(200);
    }
    // A delivery that its own request has claimed waits until its lease expires, which takes longer than this poll.
    await expect.poll(() => receiver.received.map(contentOf).toSorted()).toEqual(ids.toSorted());
  });

  test('stores and sends no data of an erased visitor, regardless of earlier events', async () => {
    const { workspace, api, receiver, params, webhook, write, conversation, deliveries, becomeDue, tenantId } =
      await scene();
    const secret = 'a name nobody may keep';
    const { conversationId: id } = await api.call('createChatSession', {
      body: { externalId: 'one who goes', displayName: secret },
    });
    const [visitor] = await hub.database.query<{ id: string }>(
      'SELECT visitor_id AS id FROM chat_conversations WHERE id = $1',
      [id],
    );
    const other = await conversation();
    receiver.answer = ({ body }, response) =>
      void response.writeHead(body.includes('refuse') ? 500 : 200, retryLater).end(`${secret} ${body}`);
    await write(id, `${secret}, taken`);
    await expect.poll(async () => (await deliveries({ status: 'delivered' })).length).toBe(1);
    await write(id, `${secret}, refuse`);
    await write(other, 'stays, refuse');
    await expect.poll(async () => (await deliveries({ status: 'failed' })).length).toBe(2);
    // The erasure takes more than one transaction.
    await addDeliveries(
      hub.database,
      { tenantId, conversationId: id },
      Array.from({ length: 1_200 }, (_, n) => ({ webhookId: webhook.id, sequence: 101 + n, body: secret })),
    );
    const since = new Date(Date.now() - 60_000).toISOString();
    await workspace.session.call('eraseInboxVisitor', { params: { tenantId, id: visitor?.id as string } });
    const states = await hub.database.query(
      `SELECT status, body = '' AS is_empty, next_attempt_at IS NULL AS is_over, count(*)::int AS n FROM webhook_deliveries WHERE conversation_id = $1
       GROUP BY 1, 2, 3 ORDER BY 1`,
      [id],
    );
    expect(states).toEqual([
      { status: 'cancelled', is_empty: true, is_over: true, n: 1201 },
      { status: 'delivered', is_empty: true, is_over: true, n: 1 },
    ]);
    const kept = await hub.database.query(
      'SELECT row_to_json(d)::text AS row FROM webhook_deliveries d UNION ALL SELECT row_to_json(a)::text FROM webhook_attempts a',
    );
    expect(JSON.stringify(kept)).not.toContain(`${secret},`);
    const [taken] = await deliveries({ status: 'delivered' });
    const at = { ...params, deliveryId: taken?.id as string };
    expect(await api.call('getWebhookDelivery', { params: at })).toMatchObject({ body: '', status: 'delivered' });
    await expect(api.call('redeliverWebhookDelivery', { params: at })).rejects.toMatchObject({ status: 409 });
    const before = receiver.received.length;
    expect(await api.call('replayWebhook', { params, body: { since } })).toEqual({ replayed: 1 });
    await becomeDue();
    await expect.poll(() => receiver.received.slice(before).map(contentOf)).toContain('stays, refuse');
    expect(receiver.received.slice(before).filter(({ body }) => body.includes(secret))).toEqual([]);
  });

  test('counts the results of its deliveries for Prometheus', async () => {
    const { conversation, write, deliveries } = await scene();
    const count = async () =>
      Number(
        /outrigger_webhook_attempts_total\{outcome="delivered"\} (\d+)/.exec(
          (await send(hub.url, 'GET', '/metrics')).text,
        )?.[1] ?? 0,
      );
    const before = await count();
    await write(await conversation());
    await expect.poll(async () => (await deliveries())[0]?.status).toBe('delivered');
    await expect.poll(count).toBe(before + 1);
  });

  test('is listed, updated and deleted, and shows its secret once', async () => {
    const { api, workspace, webhook, params, tenantId } = await scene();
    expect(webhook.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(webhook).toMatchObject({ active: true, includePrivate: false, environment: 'live', disabledReason: null });
    const { data } = await api.call('listWebhooks', { params: { tenantId } });
    expect(data.map(({ id }) => id)).toEqual([webhook.id]);
    expect(JSON.stringify(data)).not.toContain(webhook.secret);
    expect(webhook.secret.endsWith(webhook.secretHint.slice(-5))).toBe(true);
    const changed = await workspace.session.call('updateWebhook', {
      params,
      body: { description: 'to the ledger', events: ['visitor.created', 'visitor.created', 'csat.submitted'] },
    });
    expect(changed).toMatchObject({ description: 'to the ledger', events: ['visitor.created', 'csat.submitted'] });
    await expect(api.call('updateWebhook', { params, body: {} })).rejects.toMatchObject({
      status: 400,
      message: 'body must have at least one of url, events, description, active.',
    });
    const tables = await hub.database.query(
      `SELECT row_to_json(w)::text AS row FROM webhooks w UNION ALL SELECT row_to_json(a)::text FROM audit_log a`,
    );
    expect(JSON.stringify(tables)).not.toContain(webhook.secret.slice(6));
    expect(await api.call('deleteWebhook', { params })).toEqual({ id: webhook.id, deleted: true });
    await expect(api.call('deleteWebhook', { params })).rejects.toMatchObject({ status: 404 });
    const { data: audit } = await workspace.session.call('listAuditLog', {
      params: { tenantId },
      query: { targetType: 'webhook' },
    });
    expect(audit.map(({ action }) => action)).toEqual(['webhook.deleted', 'webhook.updated', 'webhook.created']);
  });

  test('is deleted immediately with any number of deliveries, which are removed in batches without delaying chat', async () => {
    const { api, webhook, params, tenantId, conversation, write, deliveries } = await scene();
    const id = await conversation();
    await addDelivered(hub.database, { tenantId, webhookId: webhook.id, count: 1_200 });
    const [held] = await deliveries();
    const kept = async () =>
      (
        await hub.database.query<Record<string, number>>(
          `SELECT (SELECT count(*)::int FROM webhooks WHERE id = $1) AS webhooks, (SELECT count(*)::int FROM webhook_deliveries WHERE webhook_id = $1) AS deliveries,
             (SELECT count(*)::int FROM webhook_attempts WHERE tenant_id = $2) AS attempts`,
          [webhook.id, tenantId],
        )
      )[0];
    const other = new Client({ connectionString: hub.database.url });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query('BEGIN');
    await other.query('SELECT FROM webhook_deliveries WHERE id = $1 FOR UPDATE', [held?.id]);
    expect(await api.call('deleteWebhook', { params })).toEqual({ id: webhook.id, deleted: true });
    await write(id);
    expect((await api.call('listWebhooks', { params: { tenantId } })).data).toEqual([]);
    const at = { ...params, deliveryId: held?.id as string };
    const refused = [
      api.call('updateWebhook', { params, body: { active: true } }),
      api.call('rotateWebhookSecret', { params, body: {} }),
      api.call('testWebhook', { params, body: {} }),
      api.call('replayWebhook', { params, body: { since: new Date(0).toISOString() } }),
      api.call('listWebhookDeliveries', { params, query: {} }),
      api.call('getWebhookDelivery', { params: at }),
      api.call('redeliverWebhookDelivery', { params: at }),
    ];
    await Promise.all(refused.map((call) => expect(call).rejects.toMatchObject({ status: 404 })));
    // Refused requests do not count either.
    for (let count = 0; count < 20; count += 1)
      await api.call('createWebhook', {
        params: { tenantId },
        body: { url: webhook.url, events: ['csat.submitted'] },
      });
    // A pass of the sweep has a time limit, and the next pass removes the rest.
    const afterSweep = async () => {
      await hub.app.sweep();
      return kept();
    };
    await expect.poll(afterSweep).toEqual({ webhooks: 1, deliveries: 1, attempts: 1 });
    expect(
      await hub.database.query('SELECT sealed_secret, sealed_previous_secret FROM webhooks WHERE id = $1', [
        webhook.id,
      ]),
    ).toEqual([{ sealed_secret: '', sealed_previous_secret: null }]);
    await other.query('COMMIT');
    await expect.poll(afterSweep).toEqual({ webhooks: 0, deliveries: 0, attempts: 0 });
  });

  test('can be managed by keys with the permission and by admins, in its own workspace only', async () => {
    const { workspace, tenantId, params } = await scene();
    const otherWorkspace = await hub.workspace();
    const get = (key: string, path: string) =>
      send(hub.url, 'GET', path, { headers: { authorization: `Bearer ${key}` } });
    const list = `/tenants/${tenantId}/webhooks`;
    const reader = await workspace.createKey({ product: 'chat', permissions: ['chat:read'] });
    const answers = [
      await get(reader.key, list),
      await get(otherWorkspace.keys.chat as string, list),
      await get(otherWorkspace.jwt, list),
      await get(
        otherWorkspace.keys.chat as string,
        `/tenants/${otherWorkspace.tenantId}/webhooks/${params.id}/deliveries`,
      ),
      await get(workspace.jwt, list),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 404, 404, 404, 200]);
    // This also applies to a cached key.
    expect((await get(otherWorkspace.keys.chat as string, list)).body).toMatchObject({
      statusCode: 404,
      code: 'not_found',
    });
  });

  test.each([
    ['http://example.org/hook', 'https'],
    ['ftp://example.org/hook', 'https'],
    ['not an address', 'https'],
    ['https://user:pass@example.org/', 'user name'],
    ['https://10.0.0.1/', 'private'],
    ['https://[::1]/', 'private'],
    ['http://10.0.0.1/', 'https'],
  ])('to %s is rejected', async (url, reason) => {
    const workspace = await hub.workspace();
    const answer = await send(hub.url, 'POST', `/tenants/${workspace.tenantId}/webhooks`, {
      headers: { 'x-api-key': workspace.keys.chat as string },
      body: { url, events: ['message.created'] },
    });
    expect(answer.body).toMatchObject({ statusCode: 400, details: [{ path: 'body.url' }] });
    expect(answer.body.message).toContain(reason);
    expect(answer.body.message).toMatch(/[^.]\.$/);
  });

  test('without events, with unknown events, private notes or the environment of another key is rejected', async () => {
    const workspace = await hub.workspace();
    const post = (body: object) =>
      send(hub.url, 'POST', `/tenants/${workspace.tenantId}/webhooks`, {
        headers: { 'x-api-key': workspace.keys.chat as string },
        body: { url: 'https://example.org/', events: ['message.created'], ...body },
      });
    for (const body of [{ events: [] }, { events: ['call.ended'] }, { includePrivate: true }, { environment: 'test' }])
      expect((await post(body)).status, JSON.stringify(body)).toBe(400);
    for (let count = 0; count < 20; count += 1) expect((await post({})).status).toBe(200);
    expect((await post({})).body).toMatchObject({ statusCode: 409, code: 'workspace_limit_reached' });
  });

  test('receives only the events of its environment', async () => {
    const { workspace, receiver, conversation, write } = await scene();
    const testing = await workspace.createKey({ product: 'chat', environment: 'test' });
    const other = await startReceiver();
    onTestFinished(() => other[Symbol.asyncDispose]());
    const made = await hub.client(testing.key).call('createWebhook', {
      params: { tenantId: workspace.tenantId },
      body: { url: other.url, events: ['message.created'] },
    });
    expect(made.environment).toBe('test');
    const id = await conversation();
    await write(id, 'live');
    const tested = await hub.client(testing.key).call('createChatConversation', { body: { name: 'tested' } });
    await hub.client(testing.key).call('sendChatMessage', { params: { id: tested.id }, body: { content: 'test' } });
    await write(id, 'live again');
    await expect.poll(() => receiver.received.map(contentOf)).toEqual(['live', 'live again']);
    await expect.poll(() => other.received.map(contentOf)).toEqual(['test']);
  });

  test('that is inactive receives nothing new, and keeps pending deliveries', async () => {
    const { workspace, api, receiver, params, conversation, write, deliveries } = await scene();
    answerWith(receiver, 500, retryLater);
    const id = await conversation();
    await write(id, 'before');
    await expect.poll(async () => (await deliveries()).map(({ status }) => status)).toEqual(['failed']);
    await api.call('updateWebhook', { params, body: { active: false } });
    await write(id, 'meanwhile');
    await makeDeliveriesDue(hub.database, params.id);
    for (const what of ['test', 'replay'])
      expect(
        (
          await send(hub.url, 'POST', `/tenants/${params.tenantId}/webhooks/${params.id}/${what}`, {
            headers: { authorization: `Bearer ${workspace.jwt}` },
            body: what === 'test' ? {} : { since: new Date(0).toISOString() },
          })
        ).body,
      ).toMatchObject({ statusCode: 409, code: 'conflict' });
    answerWith(receiver, 200);
    expect(receiver.received).toHaveLength(1);
    await api.call('updateWebhook', { params, body: { active: true } });
    await expect.poll(() => receiver.received.map(contentOf)).toEqual(['before', 'before']);
    await write(id, 'after');
    await expect.poll(() => receiver.received.map(contentOf)).toEqual(['before', 'before', 'after']);
    expect(await deliveries()).toHaveLength(2);
  });
});

describe('a delivery that fails', () => {
  test('is retried with the same bytes and a new signature, by the schedule, until it is exhausted', async () => {
    const { api, receiver, webhook, params, conversation, write, deliveries, becomeDue } = await scene();
    answerWith(receiver, 500);
    await write(await conversation());
    const planned = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    for (const [index, seconds] of planned.entries()) {
      await expect
        .poll(async () => (await deliveries())[0])
        .toMatchObject({
          status: 'failed',
          attempts: index + 1,
          responseStatus: 500,
          lastError: 'The address answered 500.',
        });
      const [row] = await hub.database.query<{ seconds: number }>(
        `SELECT extract(epoch FROM d.next_attempt_at - a.started_at)::float8 AS seconds FROM webhook_deliveries d
         JOIN webhook_attempts a ON a.delivery_id = d.id AND a.attempt = d.attempts WHERE d.webhook_id = $1`,
        [webhook.id],
      );
      expect(row?.seconds).toBeGreaterThanOrEqual(seconds);
      expect(row?.seconds).toBeLessThan(seconds * 1.1 + 10);
      await becomeDue();
    }
    await expect
      .poll(async () => (await deliveries())[0])
      .toMatchObject({ status: 'exhausted', attempts: 10, nextAttemptAt: null });
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    for (const received of receiver.received) expect(await isSigned(received, webhook.secret)).toBe(true);
    const id = (await deliveries())[0]?.id as string;
    const detail = await api.call('getWebhookDelivery', { params: { ...params, deliveryId: id } });
    expect(detail.body).toBe(receiver.received[0]?.body);
    expect(detail.history.map(({ attempt, response, responseStatus }) => [attempt, response, responseStatus])).toEqual(
      Array.from({ length: 10 }, (_, n) => [n + 1, 'answer 500', 500]),
    );
    // A manual retry sends it once more.
    answerWith(receiver, 204);
    await api.call('redeliverWebhookDelivery', { params: { ...params, deliveryId: id } });
    await expect
      .poll(async () => (await deliveries())[0])
      .toMatchObject({ status: 'delivered', attempts: 11, lastError: null });
  });

  test.each([
    ['100', 100],
    ['999999', 86_400],
  ])('waits as long as Retry-After: %s requests, up to a day', async (header, seconds) => {
    const { receiver, webhook, conversation, write, deliveries } = await scene();
    answerWith(receiver, 503, { 'retry-after': header });
    await write(await conversation());
    await expect.poll(async () => (await deliveries())[0]?.status).toBe('failed');
    const [row] = await hub.database.query<{ seconds: number }>(
      'SELECT extract(epoch FROM next_attempt_at - created_at)::float8 AS seconds FROM webhook_deliveries WHERE webhook_id = $1',
      [webhook.id],
    );
    expect(row?.seconds).toBeGreaterThanOrEqual(seconds);
    expect(row?.seconds).toBeLessThan(seconds + 60);
  });

  test('with a redirect does not follow it', async () => {
    const { receiver, conversation, write, deliveries } = await scene();
    const elsewhere = await startReceiver();
    onTestFinished(() => elsewhere[Symbol.asyncDispose]());
    answerWith(receiver, 302, { location: elsewhere.url });
    await write(await conversation());
    await expect
      .poll(async () => (await deliveries())[0])
      .toMatchObject({
        status: 'failed',
        responseStatus: 302,
        lastError: expect.stringContaining('redirect') as string,
      });
    expect(elsewhere.received).toEqual([]);
  });

  test('because no server listens has no status', async () => {
    const { receiver, conversation, write, deliveries } = await scene();
    await receiver[Symbol.asyncDispose]();
    await write(await conversation());
    await expect
      .poll(async () => (await deliveries())[0])
      .toMatchObject({
        status: 'failed',
        responseStatus: null,
        lastError: expect.stringContaining('could not be reached') as string,
      });
  });

  test('because its response takes longer than 15 s in total, even if bytes arrive', async () => {
    const { receiver, conversation, write, deliveries } = await scene();
    receiver.answer = (_received, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('.'), 500);
      response.once('close', () => clearInterval(timer));
    };
    await write(await conversation());
    await expect
      .poll(async () => (await deliveries())[0])
      .toMatchObject({ status: 'failed', attempts: 1, lastError: expect.stringContaining('15 s') as string });
  });

  test('is not caused by an endless response: the first 2 KiB of it are stored', async () => {
    const { api, receiver, params, conversation, write, deliveries } = await scene();
    receiver.answer = (_received, response) => {
      response.writeHead(200);
      const flood = () => {
        while (!response.destroyed && response.write('é'.repeat(10_000)));
      };
      response.on('drain', flood);
      flood();
    };
    await write(await conversation());
    await expect.poll(async () => (await deliveries())[0]?.status).toBe('delivered');
    const id = (await deliveries())[0]?.id as string;
    const { history } = await api.call('getWebhookDelivery', { params: { ...params, deliveryId: id } });
    expect(history[0]?.response).toBe('é'.repeat(1024));
  });

  test('with 410 switches its webhook off immediately, and the admins are notified', async () => {
    const { workspace, api, receiver, params, tenantId, conversation, write, deliveries } = await scene();
    answerWith(receiver, 410);
    await write(await conversation());
    await expect
      .poll(async () => (await api.call('listWebhooks', { params: { tenantId } })).data[0])
      .toMatchObject({ active: false, disabledReason: 'The address answered 410 Gone.' });
    expect((await deliveries())[0]).toMatchObject({ status: 'failed', attempts: 1 });
    await hub.app.sweep();
    await expect
      .poll(() => mail.mails.filter(({ to }) => to.includes(workspace.email)).map(({ raw }) => raw))
      .toEqual([expect.stringContaining('410 Gone')]);
    const { data } = await workspace.session.call('listAuditLog', {
      params: { tenantId },
      query: { targetId: params.id },
    });
    expect(data[0]).toMatchObject({ actor: 'system', action: 'webhook.switched_off' });
    const on = await api.call('updateWebhook', { params, body: { active: true } });
    expect(on).toMatchObject({ active: true, disabledReason: null });
  });

  test('at least five times over five days switches its webhook off; one success resets the count', async () => {
    const { api, receiver, webhook, tenantId, conversation, write, deliveries, becomeDue } = await scene();
    const state = async () => (await api.call('listWebhooks', { params: { tenantId } })).data[0];
    const failingFor = (since: TimeSpan) => setFailing(hub.database, webhook.id, { since });
    answerWith(receiver, 500, retryLater);
    await write(await conversation());
    for (let attempts = 1; attempts <= 4; attempts += 1) {
      await expect.poll(async () => (await deliveries())[0]?.attempts).toBe(attempts);
      await failingFor({ days: 6 });
      if (attempts < 4) await becomeDue();
    }
    // Four failures are not enough.
    expect(await state()).toMatchObject({ active: true });
    await failingFor({ days: 4 });
    await becomeDue();
    await expect.poll(async () => (await deliveries())[0]?.attempts).toBe(5);
    // Four days are not enough.
    expect(await state()).toMatchObject({ active: true });
    await failingFor({ days: 6 });
    answerWith(receiver, 200);
    await becomeDue();
    await expect.poll(async () => (await deliveries())[0]?.status).toBe('delivered');
    expect(
      await hub.database.query('SELECT failing_since, failures FROM webhooks WHERE id = $1', [webhook.id]),
    ).toEqual([{ failing_since: null, failures: 0 }]);
    answerWith(receiver, 500);
    await write(await conversation());
    await expect.poll(async () => (await deliveries())[0]?.status).toBe('failed');
    await setFailing(hub.database, webhook.id, { since: { days: 5 }, failures: 4 });
    await becomeDue();
    await expect
      .poll(state)
      .toMatchObject({ active: false, disabledReason: expect.stringContaining('5 days') as string });
  });
});

describe('the order of deliveries', () => {
  test('is kept per conversation while its address is slow, and other conversations do not wait', async () => {
    const { receiver, conversation, write } = await scene();
    const [slow, quick] = [await conversation(), await conversation()];
    const gate = Promise.withResolvers<void>();
    receiver.answer = async (received, response) => {
      if (contentOf(received) === 'slow 1') await gate.promise;
      response.end();
    };
    for (const n of [1, 2, 3]) await write(slow, `slow ${n}`);
    await expect.poll(() => receiver.received.map(contentOf)).toEqual(['slow 1']);
    for (const n of [1, 2]) await write(quick, `quick ${n}`);
    await expect.poll(() => receiver.received.map(contentOf)).toEqual(['slow 1', 'quick 1', 'quick 2']);
    gate.resolve();
    await expect.poll(() => receiver.received.slice(3).map(contentOf)).toEqual(['slow 2', 'slow 3']);
  });

  test('is kept when the first attempt ends while the next event is still being written', async () => {
    const { api, receiver, tenantId, conversation, write, deliveries } = await scene();
    const gate = Promise.withResolvers<void>();
    receiver.answer = async (_received, response) => {
      if (receiver.received.length === 1) await gate.promise;
      response.end();
    };
    const id = await conversation();
    await write(id);
    await expect.poll(() => receiver.received.length).toBe(1);
    const [shown] = (await api.call('listChatConversations', {})).data;
    await hub.app.db.workspace(tenantId, async (tx) => {
      await hub.app.chatEvents.emit(tx, 'message.created', {
        tenantId,
        sequence: 3,
        environment: 'live',
        actor: 'system',
        conversation: shown as never,
        message: { id },
      });
      gate.resolve();
      await expect.poll(() => receiver.open).toBe(0);
      // Time to record the attempt, if nothing prevented that.
      await delay(300);
    });
    await expect.poll(async () => (await deliveries({ status: 'delivered' })).length).toBe(2);
  });

  test('is written with locks in the order of earlier delivery ids, like the results of attempts', async () => {
    const { api, tenantId, webhook, receiver, conversation, write } = await scene();
    const second = await api.call('createWebhook', {
      params: { tenantId },
      body: { url: `${receiver.url}/second`, events: ['message.created'] },
    });
    const id = await conversation();
    // The delivery of the webhook that was created first has the greater id.
    const [low, high] = [newId(), newId()];
    await addDeliveries(hub.database, { tenantId, conversationId: id }, [
      { id: high, webhookId: webhook.id, sequence: 1 },
      { id: low, webhookId: second.id, sequence: 1 },
    ]);
    const recorder = new Client({ connectionString: hub.database.url });
    await recorder.connect();
    onTestFinished(() => recorder.end());
    const lock = (delivery: string) =>
      recorder.query('SELECT FROM webhook_deliveries WHERE id = $1 FOR NO KEY UPDATE', [delivery]);
    await recorder.query(`BEGIN; SET LOCAL lock_timeout = '500ms'`);
    await lock(low);
    const written = write(id);
    const waiting = () =>
      hub.database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%webhook_deliveries%'`,
      );
    await expect.poll(async () => (await waiting()).length).toBe(1);
    await lock(high);
    await recorder.query('COMMIT');
    await written;
  });

  test.each(['message that opens it again', 'return of it to all', 'hand-over of the AI agent'])(
    'of locks is the same when a %s publishes events of a conversation: assignment first, then deliveries',
    async (what) => {
      const own = await chatScene(hub);
      const { tenantId } = own;
      const { session } = own.workspace;
      const webhook = await own.api.call('createWebhook', {
        params: { tenantId },
        body: { url: 'http://127.0.0.1:9/', events: ['message.created', 'conversation.assigned'] },
      });
      const isMessage = what.startsWith('message');
      const isHandOver = what.startsWith('hand-over');
      if (isHandOver) await session.call('putChatAiSettings', { params: { tenantId }, body: { enabled: true } });
      const { api, conversationId: id } = await own.visitor();
      await own.set({ autoAssignment: { enabled: true, capacity: 5, returnToPool: true } });
      if (isMessage)
        await session.call('updateInboxConversation', { params: { tenantId, id }, body: { status: 'resolved' } });
      else if (!isHandOver) {
        const userId = await own.agent();
        await session.call('assignInboxConversation', { params: { tenantId, id }, body: { userId } });
      }
      const delivery = newId();
      await addDeliveries(hub.database, { tenantId, conversationId: id }, [
        { id: delivery, webhookId: webhook.id, sequence: 1000 },
      ]);
      const other = new Client({ connectionString: hub.database.url });
      await other.connect();
      onTestFinished(() => other.end());
      await other.query(`BEGIN; SET LOCAL lock_timeout = '500ms'`);
      await other.query('SELECT FROM chat_widgets WHERE tenant_id = $1 FOR NO KEY UPDATE', [tenantId]);
      await setAgentsSeen(hub.database, tenantId, { hours: 1 });
      await ageAssignments(hub.database, tenantId, { hours: 1 });
      const done = isMessage
        ? api.call('sendVisitorMessage', { body: { content: 'again', clientId: 'a' } })
        : isHandOver
          ? api.call('askForPerson', {})
          : hub.app.sweep();
      const waiting = () =>
        hub.database.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%chat_widgets%FOR NO KEY UPDATE%'`,
        );
      await expect.poll(async () => (await waiting()).length).toBe(1);
      await other.query('SELECT FROM webhook_deliveries WHERE id = $1 FOR NO KEY UPDATE', [delivery]);
      await other.query('COMMIT');
      await done;
    },
  );

  test('is kept after a failed first attempt: a retry does not overtake or block other deliveries', async () => {
    const { receiver, conversation, write, becomeDue } = await scene();
    receiver.answer = (received, response) => {
      const isFirst = receiver.received.filter(({ body }) => body === received.body).length === 1;
      response.writeHead(contentOf(received) === 'one' && isFirst ? 500 : 200).end();
    };
    const id = await conversation();
    for (const content of ['one', 'two', 'three']) await write(id, content);
    await expect.poll(() => receiver.received.map(contentOf)).toEqual(['one', 'two', 'three']);
    await becomeDue();
    await expect.poll(() => receiver.received.map(contentOf)).toEqual(['one', 'two', 'three', 'one']);
  });

  test('follows the message sequence for many concurrent messages in many conversations, each delivered once', async () => {
    const { receiver, conversation, write } = await scene();
    const ids = await Promise.all(Array.from({ length: 8 }, () => conversation()));
    await Promise.all(ids.flatMap((id) => Array.from({ length: 15 }, (_, n) => write(id, `${n}`))));
    await expect.poll(() => receiver.received.length).toBe(120);
    for (const id of ids) {
      const sequences = receiver.received
        .map(
          ({ body }) => (JSON.parse(body) as { payload: { sequence: number; conversation: { id: string } } }).payload,
        )
        .filter((payload) => payload.conversation.id === id)
        .map(({ sequence }) => sequence);
      expect(sequences).toEqual(Array.from({ length: 15 }, (_, n) => n + 2));
    }
    expect(receiver.mostOpen).toBeLessThanOrEqual(4);
  });

  test('of many workspaces with hanging addresses leaves slots for other workspaces', async () => {
    const hanging: Receiver[] = [];
    const sumOf = (count: (receiver: Receiver) => number) => hanging.reduce((sum, one) => sum + count(one), 0);
    const writes: (() => Promise<unknown>)[] = [];
    for (let n = 0; n < 16; n += 1) {
      const { tenantId, api, conversation, write, receiver } = await scene();
      hanging.push(receiver);
      receiver.answer = () => undefined;
      for (let hook = 1; hook < 8; hook += 1)
        await api.call('createWebhook', {
          params: { tenantId },
          body: { url: `${receiver.url}/${hook}`, events: ['message.created'] },
        });
      const ids = await Promise.all(Array.from({ length: 4 }, () => conversation()));
      writes.push(...ids.map((id) => () => write(id)));
    }
    const { conversation, write, receiver } = await scene();
    const id = await conversation();
    await Promise.all(writes.map((begin) => begin()));
    const ended = () => sumOf(({ received }) => received.length) - sumOf(({ open }) => open);
    /** Whether a delivery arrives before a hanging attempt ends and leaves its slot. */
    const arrivesBesideHanging = async () => {
      // 512 attempts are the limit of the process. With even shares, the workspaces get 21 each.
      await expect.poll(() => sumOf(({ open }) => open)).toBeGreaterThan(250);
      const [before, arrived] = [ended(), receiver.received.length];
      await write(id);
      await expect.poll(() => receiver.received.length).toBe(arrived + 1);
      return ended() === before;
    };
    // A hanging attempt ends after 15 s, which is short for a busy machine. Its retry hangs again.
    await expect.poll(arrivesBesideHanging).toBe(true);
  });

  test('does not let one workspace with a hanging address delay others', async () => {
    const hanging = await scene();
    hanging.receiver.answer = () => undefined;
    for (let n = 0; n < 8; n += 1) await hanging.write(await hanging.conversation());
    await expect.poll(() => hanging.receiver.open).toBe(4);
    const other = await scene();
    await other.write(await other.conversation());
    await expect.poll(() => other.receiver.received.length).toBe(1);
    expect(hanging.receiver.mostOpen).toBe(4);
    await hanging.receiver[Symbol.asyncDispose]();
  });

  test('does not let hanging test webhooks delay live ones of the workspace, even at the same address', async () => {
    const { workspace, tenantId, receiver, webhook, conversation, write } = await scene();
    receiver.answer = (received, response) => void (contentOf(received) === 'live' && response.end('ok'));
    const hanging = await startReceiver();
    onTestFinished(() => hanging[Symbol.asyncDispose]());
    hanging.answer = () => undefined;
    const tester = hub.client((await workspace.createKey({ product: 'chat', environment: 'test' })).key);
    const follow = (url: string) =>
      tester.call('createWebhook', { params: { tenantId }, body: { url, events: ['message.created'] } });
    const writeFive = async () => {
      for (let n = 0; n < 5; n += 1) {
        const { id } = await tester.call('createChatConversation', { body: { name: 'tested' } });
        await tester.call('sendChatMessage', { params: { id }, body: { content: 'test' } });
      }
    };
    await follow(webhook.url);
    await writeFive();
    await expect.poll(() => receiver.open).toBe(4);
    for (let n = 0; n < 10; n += 1) await follow(`${hanging.url}/${n}`);
    await writeFive();
    await expect.poll(() => hanging.open).toBeGreaterThanOrEqual(4);
    const ended = () => [receiver, hanging].map(({ received, open }) => received.length - open);
    const liveCount = () => receiver.received.map(contentOf).filter((content) => content === 'live').length;
    const live = await conversation();
    /** Whether a live delivery arrives and no hanging attempt ends meanwhile and leaves its slot. */
    const arrivesBesideHanging = async () => {
      await expect.poll(() => [receiver.open, hanging.open >= 4]).toEqual([4, true]);
      const [before, arrived] = [ended(), liveCount()];
      await write(live, 'live');
      await expect.poll(liveCount).toBe(arrived + 1);
      // The live delivery itself has ended or ends now.
      await expect.poll(() => receiver.open).toBeLessThanOrEqual(4);
      const after = ended();
      return after[0] === (before[0] as number) + 1 && after[1] === before[1];
    };
    // A hanging attempt ends after 15 s, which is short for a busy machine. Its retry hangs again.
    await expect.poll(arrivesBesideHanging).toBe(true);
  });
});

describe('a new secret', () => {
  test('signs in addition to the old one, and no delivery is lost while the receiver switches', async () => {
    const { api, receiver, webhook, params, conversation, write } = await scene();
    const known = { secret: webhook.secret };
    receiver.answer = async (received, response) => {
      response.writeHead((await isSigned(received, known.secret)) ? 200 : 401).end();
    };
    const id = await conversation();
    let written = 0;
    let isOver = false;
    onTestFinished(() => void (isOver = true));
    const writing = (async () => {
      for (; !isOver || written < 40; written += 1) {
        await write(id, `${written}`);
        await delay(10);
      }
    })();
    await expect.poll(() => receiver.received.length).toBeGreaterThan(3);
    const rotated = await api.call('rotateWebhookSecret', { params, body: { overlapHours: 1 } });
    expect(rotated.secret).not.toBe(webhook.secret);
    const before = receiver.received.length;
    await expect.poll(() => receiver.received.length).toBeGreaterThan(before + 6);
    known.secret = rotated.secret;
    isOver = true;
    await writing;
    const attempts = async (): Promise<number[]> =>
      (
        await hub.database.query<{ attempts: number }>(
          `SELECT attempts FROM webhook_deliveries WHERE webhook_id = $1 AND status = 'delivered'`,
          [webhook.id],
        )
      ).map((row) => row.attempts);
    await expect.poll(async () => (await attempts()).length).toBe(written);
    // An attempt at that moment may have sent the new secret to the old receiver, or the old secret to the new one.
    expect((await attempts()).filter((count) => count > 1).length).toBeLessThanOrEqual(1);
    const last = receiver.received.at(-1);
    if (last === undefined) throw new Error('nothing came');
    expect(await isSigned(last, rotated.secret)).toBe(true);
    expect(await isSigned(last, webhook.secret, 'x-service-signature-previous')).toBe(true);
    expect([await isStandardSigned(last, rotated.secret), await isStandardSigned(last, webhook.secret)]).toEqual([
      true,
      true,
    ]);
    const stored = await hub.database.query<{ row: string }>(
      'SELECT row_to_json(w)::text AS row FROM webhooks w WHERE id = $1',
      [webhook.id],
    );
    for (const secret of [webhook.secret, rotated.secret]) expect(stored[0]?.row).not.toContain(secret.slice(6));
  });

  test('is the only one immediately without an overlap, and after the overlap', async () => {
    const { api, receiver, webhook, params, conversation, write } = await scene();
    const id = await conversation();
    const first = await api.call('rotateWebhookSecret', { params, body: { overlapHours: 0 } });
    await write(id);
    await expect.poll(() => receiver.received.length).toBe(1);
    expect(receiver.received[0]?.headers).not.toHaveProperty('x-service-signature-previous');
    expect(await isSigned(receiver.received[0] as never, first.secret)).toBe(true);
    await api.call('rotateWebhookSecret', { params });
    await expirePreviousSecret(hub.database, webhook.id);
    await write(id);
    await expect.poll(() => receiver.received.length).toBe(2);
    expect(receiver.received[1]?.headers).not.toHaveProperty('x-service-signature-previous');
  });
});

describe('deliveries', () => {
  test('are listed newest first, in pages, by status and by event, and sent again on request or by time', async () => {
    const { api, receiver, params, conversation, write, deliveries } = await scene({
      events: ['message.created', 'conversation.created'],
    });
    receiver.answer = (received, response) =>
      void response.writeHead(received.body.includes('"broken"') ? 500 : 200, retryLater).end();
    const id = await conversation();
    for (const content of ['fine', 'broken', 'fine too']) await write(id, content);
    await expect.poll(async () => (await deliveries({ status: 'delivered' })).length).toBe(3);
    expect((await deliveries()).map(({ event }) => event)).toEqual([
      'message.created',
      'message.created',
      'message.created',
      'conversation.created',
    ]);
    expect(await deliveries({ status: 'failed' })).toHaveLength(1);
    expect(await deliveries({ status: 'delivered', event: 'message.created' })).toHaveLength(2);
    const page = await api.call('listWebhookDeliveries', { params, query: { limit: 3 } });
    const rest = await api.call('listWebhookDeliveries', {
      params,
      query: { limit: 3, cursor: page.meta.nextCursor as string },
    });
    expect([...page.data, ...rest.data]).toEqual(await deliveries());
    answerWith(receiver, 200);
    const since = new Date(Date.now() - 60_000).toISOString();
    expect(await api.call('replayWebhook', { params, body: { since } })).toEqual({ replayed: 1 });
    await expect.poll(async () => (await deliveries({ status: 'delivered' })).length).toBe(4);
    expect(await api.call('replayWebhook', { params, body: { since, until: since } })).toEqual({ replayed: 0 });
    expect(await api.call('replayWebhook', { params, body: { since, status: 'delivered' } })).toEqual({ replayed: 4 });
    await expect.poll(() => receiver.received.length).toBe(9);
    expect(new Set(receiver.received.map(eventIdOf)).size).toBe(4);
    await expect(
      api.call('redeliverWebhookDelivery', { params: { ...params, deliveryId: missingId } }),
    ).rejects.toMatchObject({ status: 404 });
  });

  test.each([
    'message.created',
    'conversation.closed',
    'conversation.assigned',
    'csat.submitted',
    'visitor.created',
  ] as const)('of a test contain an example of %s, marked as a test', async (event) => {
    const { api, receiver, webhook, params, tenantId } = await scene({ events: ['conversation.created'] });
    const made = await api.call('testWebhook', { params, body: { event } });
    expect(made).toMatchObject({ event, status: 'pending', attempts: 0 });
    await expect.poll(() => receiver.received.length).toBe(1);
    expect(JSON.parse(receiver.received[0]?.body as string)).toMatchObject({
      event,
      eventId: made.eventId,
      payload: { test: true, tenantId },
    });
    expect(await isSigned(receiver.received[0] as never, webhook.secret)).toBe(true);
  });

  test('have at most 64 KiB: a longer message is truncated and marked', async () => {
    const { api, receiver, write } = await scene();
    const { conversationId: id } = await api.call('createChatSession', {
      body: { externalId: 'long', attributes: { about: 'x'.repeat(16_000) } },
    });
    // Each of these characters needs six bytes in JSON.
    const content = '\u0001'.repeat(10_000);
    await write(id, 'short');
    await write(id, content);
    await expect.poll(() => receiver.received.length).toBe(2);
    const [short, long] = receiver.received.map(
      ({ body }) =>
        (JSON.parse(body) as { payload: { message: { content: string; contentTruncated?: true } } }).payload.message,
    );
    expect(short).not.toHaveProperty('contentTruncated');
    const bytes = Buffer.byteLength(receiver.received[1]?.body as string);
    expect([bytes > 65_500, bytes <= 65_536]).toEqual([true, true]);
    expect(content.startsWith(long?.content as string)).toBe(true);
    expect(long?.contentTruncated).toBe(true);
  });

  test('that another process took over are recorded only by this process', async () => {
    const { api, receiver, params, conversation, write, deliveries } = await scene();
    const gate = Promise.withResolvers<void>();
    receiver.answer = async (_received, response) => {
      if (receiver.received.length === 1) await gate.promise;
      response.end(`answer ${receiver.received.length}`);
    };
    const id = await conversation();
    await write(id);
    await write(id, 'next');
    await expect.poll(() => receiver.received.length).toBe(1);
    // Simulates that this process stalled until its lease expired and another process started.
    const takeOver = (lease: TimeSpan) => leaseDeliveries(hub.database, params.id, lease);
    await takeOver({ hours: 1 });
    gate.resolve();
    await expect.poll(() => receiver.open).toBe(0);
    await delay(300);
    expect((await deliveries()).map(({ status, attempts }) => [status, attempts])).toEqual([
      ['pending', 0],
      ['pending', 0],
    ]);
    await takeOver({ seconds: -1 });
    await expect.poll(async () => (await deliveries({ status: 'delivered' })).length).toBe(2);
    expect(receiver.received[1]?.body).toBe(receiver.received[0]?.body);
    const first = (await deliveries())[1]?.id as string;
    const { history } = await api.call('getWebhookDelivery', { params: { ...params, deliveryId: first } });
    expect(history.map(({ attempt, response }) => [attempt, response])).toEqual([[1, 'answer 2']]);
  });

  test('with an unreadable secret fail with the reason, and use no slot of their address', async () => {
    const { api, params, receiver, webhook, tenantId, conversation, write, deliveries, becomeDue } = await scene();
    await api.call('createWebhook', {
      params: { tenantId },
      body: { url: webhook.url, events: ['message.created'] },
    });
    await damageSecret(hub.database, webhook.id);
    const ids = await Promise.all(Array.from({ length: 6 }, () => conversation()));
    for (const id of ids) await write(id, id);
    await expect.poll(() => receiver.received.map(contentOf).toSorted()).toEqual(ids.toSorted());
    await expect.poll(async () => (await deliveries({ status: 'failed' })).length).toBe(ids.length);
    const [failed] = await deliveries();
    expect(failed).toMatchObject({ responseStatus: null, nextAttemptAt: expect.any(String) as string });
    expect(failed?.lastError).toMatch(/SECRET_KEY.*rotate-secret/);
    const { history } = await api.call('getWebhookDelivery', {
      params: { ...params, deliveryId: failed?.id as string },
    });
    // The first retry may have been made.
    expect(history).toContainEqual(expect.objectContaining({ attempt: 1, error: failed?.lastError }));
    const { secret } = await api.call('rotateWebhookSecret', { params, body: { overlapHours: 0 } });
    await becomeDue();
    await expect.poll(async () => (await deliveries({ status: 'delivered' })).length).toBe(6);
    expect(await isSigned(receiver.received.at(-1) as never, secret)).toBe(true);
  });

  test('that could not be recorded release their slot immediately, and are retried', async () => {
    const { webhook, receiver, conversation, write, deliveries } = await scene();
    await refuseAttempts(hub.database, 'answer 203');
    onTestFinished(() => acceptAttempts(hub.database));
    answerWith(receiver, 203);
    await write(await conversation());
    await expect.poll(() => receiver.received.length).toBe(1);
    const state = () =>
      hub.database.query(
        'SELECT lease, attempts, next_attempt_at > now() AS is_later FROM webhook_deliveries WHERE webhook_id = $1',
        [webhook.id],
      );
    await expect.poll(state).toEqual([{ lease: null, attempts: 0, is_later: true }]);
    expect(receiver.received.length).toBe(1);
    await acceptAttempts(hub.database);
    await makeDeliveriesDue(hub.database, webhook.id);
    await expect.poll(async () => (await deliveries())[0]?.status).toBe('delivered');
  });

  test('with an expired lease are released by the sweep', async () => {
    const { tenantId, webhook, receiver, conversation, write, deliveries } = await scene();
    answerWith(receiver, 200);
    const id = await conversation();
    await addDeliveries(
      hub.database,
      { tenantId, conversationId: id },
      [2, 3, 4].map((n) => ({
        webhookId: webhook.id,
        sequence: n,
        body: JSON.stringify({ eventId: n, payload: { message: { content: String(n) } } }),
      })),
      { minutes: 5 },
    );
    await delay(50);
    expect(receiver.received).toEqual([]);
    await hub.app.sweep();
    await expect.poll(() => receiver.received.map(contentOf)).toEqual(['2', '3', '4']);
    // The conversation numbers its next event from 2, so that event must not wait for the added ones.
    await expect.poll(async () => (await deliveries({ status: 'delivered' })).length).toBe(3);
    await write(id, 'new');
    await expect.poll(() => receiver.received.length).toBe(4);
  });

  test('are not written when the transaction of the event is rolled back', async () => {
    const { conversation, deliveries, tenantId, api } = await scene();
    const id = await conversation();
    const [shown] = (await api.call('listChatConversations', {})).data;
    await expect(
      hub.app.db.workspace(tenantId, async (tx) => {
        await hub.app.chatEvents.emit(tx, 'message.created', {
          tenantId,
          sequence: 9,
          environment: 'live',
          actor: 'system',
          conversation: shown as never,
          message: { id },
        });
        throw new Error('not after all');
      }),
    ).rejects.toThrow('not after all');
    expect(await deliveries()).toEqual([]);
  });
});
