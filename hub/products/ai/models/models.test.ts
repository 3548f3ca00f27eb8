import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { startModelServer } from '../../../../test/fixtures/model-server.ts';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import { StatementRecorder } from '../../../../test/fixtures/statement-plans.ts';
import { systemClock as clock } from '../../../platform/clock.ts';
import { Database } from '../../../platform/db/database.ts';
import { createEgress } from '../../../platform/egress/egress.ts';
import { createInference } from '../../../platform/inference/inference.ts';
import { createSecrets } from '../../../platform/secrets/secrets.ts';
import { UsageLedger } from '../usage/ledger.ts';
import { Ai, Breakers } from './index.ts';

const database = await acquireDatabase();
const model = await startModelServer();
const db = new Database({ url: database.url, maxConnections: 4, applicationName: 'test', onError: () => undefined });
const egress = createEgress({ allowHosts: [model.host] });
const breakers = new Breakers({ db, logger: pino({ level: 'silent' }), clock, onChange: () => undefined });
const ledger = new UsageLedger({ db, logger: pino({ level: 'silent' }), clock });
/** Delays the write of usage. */
let usageDelay = Promise.resolve();
const ai = new Ai({
  db,
  secrets: createSecrets(Buffer.alloc(32, 1)),
  inference: createInference(egress),
  own: null,
  breakers,
  ledger: {
    add: (call) => ledger.add(call),
    release: (reservation) => ledger.release(reservation),
    written: async () => {
      await usageDelay;
      await ledger.written();
    },
  },
  clock,
  onCall: () => undefined,
});
afterAll(async () => {
  for (const part of [ledger, breakers, egress, db, model, database]) await part[Symbol.asyncDispose]();
});

const tenantId = randomUUID();
const bare = randomUUID();
beforeAll(async () => {
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'one', '{}'), ($2, 'bare', '{}')`, [
    tenantId,
    bare,
  ]);
});
beforeEach(async () => {
  model.requests.length = 0;
  model.reply = () => ({ parts: ['Be', 'cause'] });
  const one = { id: 'm', provider: 'openai-compatible' as const, baseUrl: model.baseUrl, model: 'alpha', apiKey: 'k' };
  await ai.putModels(tenantId, { models: [one], order: ['m'] }, 'cli', null);
});

const request = (of = tenantId) => ({
  tenantId: of,
  instructions: 'Be brief.',
  messages: [{ role: 'user' as const, content: 'Why?' }],
  signal: new AbortController().signal,
});

test('a streamed answer equals a whole one, and each needs one statement before and one after the call', async () => {
  const whole = await ai.generate(request());
  using recorder = new StatementRecorder();
  const parts = ai.stream(request());
  const seen: unknown[] = [];
  let last = await parts.next();
  for (; last.done !== true; last = await parts.next()) seen.push(last.value);
  expect(seen).toEqual(['Be', 'cause', '']);
  expect(last.value).toMatchObject({ ...whole, text: 'Because', latencyMs: expect.any(Number), attempts: [{}] });
  await breakers.written();
  expect(recorder.statements.map(({ name }) => name)).toEqual(['read_models', 'write_ai_usage']);
});

test('breaker results of concurrent calls are written together, and before the process ends', async () => {
  model.reply = () => ({ status: 400 });
  await Promise.allSettled(Array.from({ length: 4 }, () => ai.generate(request())));
  await breakers.written();
  // A refused request is no failure of the model.
  expect(await database.query('SELECT 1 FROM model_breakers')).toEqual([]);
  model.reply = () => ({ status: 404 });
  await Promise.allSettled(Array.from({ length: 8 }, () => ai.generate(request())));
  await breakers.written();
  expect(await database.query('SELECT openings FROM model_breakers WHERE open_until > now()')).toEqual([
    { openings: 1 },
  ]);
  expect(await database.query("SELECT 1 FROM audit_log WHERE action = 'models.refused'")).toHaveLength(1);
});

test('an answer and a failure are returned only after their usage is written', async () => {
  for (const reply of ['Because', { status: 400 }]) {
    model.reply = () => reply;
    const { promise, resolve } = Promise.withResolvers<void>();
    usageDelay = promise;
    let isOver = false;
    const over = ai.generate(request()).then(
      () => (isOver = true),
      () => (isOver = true),
    );
    await expect.poll(() => model.requests.length).toBe(1);
    await breakers.written();
    await expect
      .poll(() => database.query('SELECT outcomes FROM ai_usage WHERE tenant_id = $1', [tenantId]))
      .toMatchObject([{ outcomes: { [typeof reply === 'string' ? 'answered' : 'http_400']: expect.any(Number) } }]);
    expect(isOver).toBe(false);
    resolve();
    await over;
    model.requests.length = 0;
  }
});

test('the end of a streamed answer is signalled before its usage is written', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  onTestFinished(() => resolve());
  usageDelay = promise;
  const parts = ai.stream(request());
  const seen: unknown[] = [];
  while (seen.length < 3) seen.push((await parts.next()).value);
  expect(seen).toEqual(['Be', 'cause', '']);
  resolve();
  expect(await parts.next()).toMatchObject({ done: true, value: { text: 'Because' } });
});

test('without a model, calls reject with ai_binding_not_configured', async () => {
  const code = { code: 'ai_binding_not_configured' };
  await expect(ai.generate(request(bare))).rejects.toMatchObject(code);
  await expect(ai.stream(request(bare)).next()).rejects.toMatchObject(code);
  expect(await ai.isConfigured(bare)).toBe(false);
});
