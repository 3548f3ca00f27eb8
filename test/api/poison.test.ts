import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { until } from '../fixtures/until.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_121);

const template = fc.oneof(
  fc.constantFrom(
    '{{payload}}',
    '{{payload.text}}',
    '{{payload.list.0}}',
    '{{payload.list.99}}',
    '{{payload.deep.a.b.c}}',
    '{{payload.__proto__}}',
    '{{payload.constructor.name}}',
    '{{context}}',
    '{{last.output}}',
    '{{last.outputText}}',
    '{{last.error}}',
    '{{now}}',
    '{{run.id}}',
    '{{run.nothing}}',
    '{{trigger.type}}',
    '{{steps.a.output}}',
    '{{payload.huge}}',
    '{{payload.huge}}{{payload.huge}}',
  ),
  fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replaceAll(/[{}]/g, '')),
);
const text = fc.array(template, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('') || 'x');
const value = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.jsonValue({ maxDepth: 3 }));

const skillStep = fc
  .oneof(
    fc.record({
      skillId: fc.constant('log.write'),
      input: fc.record({ message: text, level: fc.constantFrom('info', '{{payload.text}}') }),
    }),
    fc.record({
      skillId: fc.constant('memory.write'),
      input: fc.record(
        { key: text, value, ttlSeconds: fc.constantFrom(1, 5, '{{payload.number}}') },
        { requiredKeys: ['key'] },
      ),
    }),
    fc.record({
      skillId: fc.constant('memory.read'),
      input: fc.record(
        { key: text, sessionId: fc.constantFrom('{{payload.text}}', '{{run.id}}') },
        { requiredKeys: ['key'] },
      ),
    }),
    fc.record({
      skillId: fc.constant('memory.diff'),
      input: fc.record({
        key: text,
        items: fc.constantFrom('{{payload.list}}', '{{payload}}', '{{payload.objects}}'),
        by: text,
      }),
    }),
    fc.record({
      skillId: fc.constant('webhook.deliver'),
      input: fc.record({
        url: fc.constantFrom('https://127.0.0.1/', '{{payload.text}}', 'https://{{payload.text}}/', 'https://[::1]:1/'),
        body: value,
      }),
    }),
    fc.record({ skillId: fc.constant('ai.invoke'), input: fc.record({ input: text, context: text }) }),
    fc.record({
      skillId: fc.constant('email.send'),
      input: fc.record({ to: fc.constantFrom(['a@b.co'], '{{payload.list}}'), subject: text, body: text }),
    }),
    fc.record({
      skillId: fc.constant('channel.deliver'),
      input: fc.record({ to: text, text, provider: fc.constantFrom('slack', '{{payload.text}}') }),
    }),
    fc.record({
      skillId: fc.constant('subagent.spawn'),
      input: fc.record({
        workflowId: fc.constantFrom('{{run.workflowId}}', '{{payload.text}}'),
        payload: fc.constantFrom('{{payload}}', {}),
      }),
    }),
    fc.record({
      skillId: fc.constant('marketing.campaign_send'),
      input: fc.record({ campaignId: fc.constantFrom('{{run.id}}', '{{payload.text}}') }),
    }),
    fc.record({
      skillId: fc.constant('runs.summary'),
      input: fc.record({ window: fc.constantFrom('1h', '{{payload.text}}') }),
    }),
    fc.record({
      skillId: fc.constant('node.ping'),
      input: fc.record({
        nodeId: fc.constantFrom('{{run.id}}', '{{payload.text}}'),
        waitMs: fc.constantFrom(0, '{{payload.number}}'),
      }),
    }),
  )
  .map((step) => ({ type: 'skill', ...step }));

const step = fc
  .tuple(
    fc.oneof(
      { weight: 6, arbitrary: skillStep },
      { weight: 1, arbitrary: text.map((message) => ({ type: 'log', message })) },
      {
        weight: 1,
        arbitrary: fc.record(
          { type: fc.constant('agent'), prompt: text, sessionId: text },
          { requiredKeys: ['type', 'prompt'] },
        ),
      },
      {
        weight: 1,
        arbitrary: text.map((title) => ({
          type: 'approval',
          title: title.slice(0, 200),
          expiresInSeconds: 1,
          onTimeout: 'approve',
        })),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          type: fc.constant('deliver'),
          provider: fc.constantFrom('email', 'telegram'),
          to: text,
          text,
        }),
      },
    ),
    fc.record(
      {
        when: text,
        continueOnError: fc.constant(true),
        timeoutSeconds: fc.constantFrom(0.1, 1, 2.5),
        retry: fc.record({ maxAttempts: fc.constantFrom(1, 2), backoffSeconds: fc.constant(0) }),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([body, options]) => ({ ...options, ...body }));

const payload = {
  text: '../x\u2028',
  number: 3,
  list: [1, 'two', null],
  objects: [{ name: 'a' }, {}],
  deep: { a: { b: { c: {} } } },
  huge: 'x'.repeat(100_000),
  constructor: { name: 'own' },
};

test(`every run that could be saved ends without affecting others, with a reported reason (seed ${seed})`, async () => {
  const headers = { 'x-api-key': workspace.key };
  const runIds: string[] = [];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
      const named = steps.map((one, index) => (index === 0 ? { id: 'a', ...one } : one));
      const saved = await send(hub.url, 'POST', '/v1/automations/workflows', {
        headers,
        body: { name: 'poison', stepsJson: named },
      });
      if (saved.status === 400) return;
      expect(saved.status).toBe(200);
      const started = await send(hub.url, 'POST', `/v1/automations/workflows/${String(saved.body['id'])}/run`, {
        headers,
        body: { payload, context: 'c' },
      });
      expect([started.status, started.text]).toMatchObject([200, expect.any(String)]);
      runIds.push(started.body['runId'] as string);
      expect(
        (
          await send(hub.url, 'POST', `/v1/automations/workflows/${String(saved.body['id'])}/run?dryRun=true`, {
            headers,
            body: { payload },
          })
        ).status,
      ).toBe(200);
    }),
    { seed, numRuns: 200, endOnFailure: true },
  );
  expect(runIds.length).toBeGreaterThan(50);
  const open = async () =>
    (await hub.database.query<{ n: number }>('select count(*)::int as n from runs where finished_at is null'))[0]?.n ??
    -1;
  const began = performance.now();
  while ((await open()) > 0 && performance.now() - began < 120_000) await new Promise((done) => setTimeout(done, 250));
  expect(
    await hub.database.query(
      'select r.id, r.status, wake_at, next_step, holder_id, lost_leases, v.steps->next_step as step, (select row_to_json(s) from run_steps s where s.run_id = r.id and s.index = r.next_step) as state from runs r join workflow_versions v on v.workflow_id = r.workflow_id and v.version = r.workflow_version where finished_at is null',
    ),
  ).toEqual([]);
  // An internal error of the hub as the reason would be a defect.
  expect(
    await hub.database.query(
      `select r.error, v.steps->(r.error->>'stepIndex')::int as step from runs r join workflow_versions v on v.workflow_id = r.workflow_id and v.version = r.workflow_version where r.error->>'code' in ('internal', 'worker_lost') limit 3`,
    ),
  ).toEqual([]);
  expect(
    await hub.database.query(`select error from run_steps where error->>'code' in ('internal', 'worker_lost') limit 3`),
  ).toEqual([]);
  await until(
    async () => (await send(hub.url, 'GET', '/readyz')).status === 200,
    () => 'the hub is not ready any more',
  );
});
