import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { keptConnections } from '../fixtures/kept-connections.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
  status: { code?: number };
}

interface Batch {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue: string } }[] };
    scopeSpans: { spans: Span[] }[];
  }[];
}

/** A collector for OTLP over HTTP as JSON. */
class Collector implements AsyncDisposable {
  readonly batches: { headers: IncomingHttpHeaders; path: string; body: string }[] = [];
  readonly url: string;
  /** Accepts requests and never responds. */
  hangs = false;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<Collector> {
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const collector = new Collector(server);
    server.on('request', (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on('end', () => {
        collector.batches.push({ headers: request.headers, path: request.url ?? '', body });
        if (!collector.hangs) response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
    return collector;
  }

  get spans(): Span[] {
    return this.batches.flatMap(({ body }) =>
      (JSON.parse(body) as Batch).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    );
  }

  of(runId: string): Span[] {
    const { traceId } = this.spans.find((span) => valueOf(span, 'outrigger.run_id') === runId) ?? {};
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async [Symbol.asyncDispose]() {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

function valueOf(span: Span | undefined, key: string): string | number | undefined {
  const value = span?.attributes.find((attribute) => attribute.key === key)?.value;
  return value?.stringValue ?? value?.intValue;
}

const callerTrace = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerSpan = '00f067aa0ba902b7';
const traceparent = `00-${callerTrace}-${callerSpan}-01`;
const note = [{ type: 'log', message: 'the secret ingredient' }];

let collector: Collector;
let hub: TestHub;
let workspace: TestWorkspace;
const delivered: IncomingHttpHeaders[] = [];
const receiver = createServer(keptConnections, (request, response) => {
  delivered.push(request.headers);
  response.end('{}');
});
beforeAll(async () => {
  collector = await Collector.start();
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  hub = await startHub({
    RATE_LIMIT_PER_MINUTE: '100000',
    EGRESS_ALLOW_HOSTS: receiverHost(),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20of-the-collector',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  });
  workspace = await hub.workspace();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  receiver.closeAllConnections();
  receiver.close();
  await collector[Symbol.asyncDispose]();
});

const receiverHost = () => `127.0.0.1:${(receiver.address() as AddressInfo).port}`;

async function create(stepsJson: object[], triggerJson?: object, of = workspace): Promise<string> {
  const { id } = await of.api.call('createAutomationWorkflow', {
    body: { name: 'traced', stepsJson, ...(triggerJson === undefined ? {} : { triggerJson }) } as never,
  });
  return id;
}

async function start(id: string, headers: Record<string, string> = {}): Promise<string> {
  const { body, status } = await send(hub.url, 'POST', `/v1/automations/workflows/${id}/run`, {
    headers: { authorization: `Bearer ${workspace.key}`, ...headers },
    body: {},
  });
  expect(status).toBe(200);
  return startedRun(body as never).runId;
}

const finished = (runId: string, of = workspace) => settledRun(of.api, runId);

const arrived = (runId: string, count: number) =>
  until(
    () => collector.of(runId).length >= count,
    () => `of ${count} spans came ${JSON.stringify(collector.of(runId).map(({ name }) => name))}`,
  );

const spanOf = (spans: Span[], name: string) => spans.find((span) => span.name === name) as Span;

describe('a trace', () => {
  test('connects the hook, the run, its step and the command of the device', async () => {
    const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
    const { deviceSecret } = await hub.client().call('claimAutomationNode', {
      body: {
        pairingCode,
        device: { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] },
      },
    });
    const token = 'a-token-of-the-traced-hook';
    const workflowId = await create(
      [...note, { type: 'skill', skillId: 'node.ping', input: { nodeId, waitMs: 60_000 } }],
      { type: 'webhook', webhook: { token } },
    );
    const { status, body } = await send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
      headers: { 'x-service-automation-token': token, traceparent },
      body: { workflowId, payload: { text: 'the secret payload' } },
    });
    expect(status).toBe(200);
    const { runId } = body as { runId: string };
    const device = hub.client(deviceSecret);
    const { commands } = await device.call('pollAutomationNodeCommands', {
      params: { id: nodeId },
      query: { wait: 20, max: 1 },
    });
    const commandId = commands[0]?.id as string;
    await device.call('completeAutomationNodeCommand', {
      params: { id: nodeId, commandId },
      body: { status: 'succeeded', output: { pong: true, latencyMs: 0, appVersion: '1' } } as never,
    });
    expect((await finished(runId)).status).toBe('succeeded');
    await arrived(runId, 5);

    const spans = collector.of(runId);
    const request = spanOf(spans, 'POST /v1/automations/hooks/inbound');
    const run = spanOf(spans, 'run');
    const step = spanOf(spans, 'log.write');
    const nodeStep = spans.find((span) => span.name === 'node.ping' && span.parentSpanId === run.spanId) as Span;
    const command = spans.find((span) => valueOf(span, 'outrigger.command_id') === commandId) as Span;
    expect(spans).toHaveLength(5);
    expect(request).toMatchObject({ traceId: callerTrace, parentSpanId: callerSpan });
    expect(run).toMatchObject({ traceId: callerTrace, parentSpanId: request.spanId });
    expect(step.parentSpanId).toBe(run.spanId);
    expect(command).toMatchObject({ name: 'node.ping', parentSpanId: nodeStep.spanId });
    expect(valueOf(command, 'outrigger.node_id')).toBe(nodeId);
    expect(valueOf(run, 'outrigger.workflow_id')).toBe(workflowId);
    expect(valueOf(nodeStep, 'outrigger.status')).toBe('succeeded');
    for (const span of spans)
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));

    const { headers, path, body: sent } = collector.batches.at(-1) as (typeof collector.batches)[number];
    expect(path).toBe('/v1/traces');
    expect(headers['content-type']).toBe('application/json');
    expect(headers['authorization']).toBe('Bearer of-the-collector');
    expect((JSON.parse(sent) as Batch).resourceSpans[0]?.resource.attributes).toEqual(
      expect.arrayContaining([
        { key: 'service.name', value: { stringValue: 'outrigger' } },
        { key: 'deployment.environment.name', value: { stringValue: 'test' } },
      ]),
    );
    const all = collector.batches.map((batch) => batch.body).join('');
    for (const secret of ['the secret', token, workspace.key, deviceSecret]) expect(all).not.toContain(secret);
  });

  test('continues the span of an authenticated caller, and of no other caller', async () => {
    const workflowId = await create(note, { type: 'webhook', webhook: { token: 'another-token-of-a-hook' } });
    const byKey = await start(workflowId, { traceparent: traceparent.replace(callerTrace, 'a'.repeat(32)) });
    await finished(byKey);
    await arrived(byKey, 3);
    expect(collector.of(byKey).every(({ traceId }) => traceId === 'a'.repeat(32))).toBe(true);

    const foreignTrace = traceparent.replace(callerTrace, 'b'.repeat(32));
    await send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
      headers: { 'x-service-automation-token': 'not-the-token-of-a-hook', traceparent: foreignTrace },
      body: { workflowId },
    });
    await send(hub.url, 'GET', '/v1/automations/runs', {
      headers: { authorization: 'Bearer nobody', traceparent: foreignTrace },
    });
    await send(hub.url, 'GET', '/healthz', { headers: { traceparent: foreignTrace } });
    const after = await start(workflowId, { traceparent: 'nonsense' });
    await finished(after);
    await arrived(after, 3);
    expect(collector.spans.filter(({ traceId }) => traceId === 'b'.repeat(32))).toEqual([]);
    const [request, run] = ['POST /v1/automations/workflows/{id}/run', 'run'].map((name) =>
      spanOf(collector.of(after), name),
    );
    expect(request?.parentSpanId ?? '').toBe('');
    expect(run?.parentSpanId).toBe(request?.spanId);
  });

  test('that its caller does not sample is not exported', async () => {
    const workflowId = await create(note);
    const quiet = await start(workflowId, { traceparent: `00-${'c'.repeat(32)}-${callerSpan}-00` });
    await finished(quiet);
    const after = await start(workflowId);
    await finished(after);
    await arrived(after, 3);
    expect(collector.spans.filter(({ traceId }) => traceId === 'c'.repeat(32))).toEqual([]);
  });

  test('continues in a delivery and in a run that another run started', async () => {
    const child = await create([
      { type: 'skill', skillId: 'webhook.deliver', input: { url: `http://${receiverHost()}/` } },
    ]);
    const parent = await create([{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child } }]);
    const runId = await start(parent);
    expect(await finished(runId)).toMatchObject({ status: 'succeeded' });
    await arrived(runId, 5);
    const spans = collector.of(runId);
    const outer = spans.find((span) => span.name === 'run' && valueOf(span, 'outrigger.run_id') === runId) as Span;
    const inner = spans.find((span) => span.name === 'run' && span !== outer) as Span;
    const spawning = spans.find(({ parentSpanId }) => parentSpanId === outer.spanId) as Span;
    const delivering = spanOf(spans, 'webhook.deliver');
    expect(inner.parentSpanId).toBe(spawning.spanId);
    expect(delivering.parentSpanId).toBe(inner.spanId);
    expect(delivered.at(-1)?.['traceparent']).toBe(`00-${delivering.traceId}-${delivering.spanId}-01`);
  });

  test('describes the failure of a run by its error code only', async () => {
    const failing = await create([
      { type: 'skill', skillId: 'webhook.deliver', input: { url: 'https://10.0.0.1/the-secret-path' } },
    ]);
    const runId = await start(failing);
    expect((await finished(runId)).status).toBe('failed');
    await arrived(runId, 3);
    const spans = collector.of(runId);
    for (const name of ['run', 'webhook.deliver']) {
      expect(valueOf(spanOf(spans, name), 'error.type')).toBe('egress_refused');
      expect(spanOf(spans, name).status.code).toBe(2);
    }
    expect(JSON.stringify(spans)).not.toContain('secret');
  });
});

test('a cancelled run is exported, too', async () => {
  const id = await create([{ type: 'approval', title: 'Go on?', message: 'the secret question' }]);
  const runId = await start(id);
  await until(
    async () =>
      (await workspace.api.call('getAutomationRun', { params: { id: runId }, query: {} })).status ===
      'waiting_approval',
    () => 'the run did not come to its approval',
  );
  await workspace.api.call('cancelAutomationRun', { params: { id: runId } });
  await arrived(runId, 2);
  const spans = collector.of(runId);
  expect(valueOf(spanOf(spans, 'run'), 'outrigger.status')).toBe('cancelled');
  expect(spanOf(spans, 'run').parentSpanId).toBe(spanOf(spans, 'POST /v1/automations/workflows/{id}/run').spanId);
});

describe('a collector that', () => {
  const runOnce = async (traced: TestHub) => {
    const own = await traced.workspace();
    const id = await create(note, undefined, own);
    const { runId } = startedRun(await own.api.call('runAutomationWorkflow', { params: { id } }));
    return finished(runId, own);
  };
  test('hangs delays neither runs nor the stop of the hub', async () => {
    await using hanging = await Collector.start();
    hanging.hangs = true;
    const traced = await startHub({ OTEL_EXPORTER_OTLP_ENDPOINT: hanging.url, OTEL_EXPORTER_OTLP_TIMEOUT: '60000' });
    expect((await runOnce(traced)).status).toBe('succeeded');
    await until(
      () => hanging.batches.length > 0,
      () => 'nothing was sent',
    );
    expect((await runOnce(traced)).status).toBe('succeeded');
    await traced[Symbol.asyncDispose]();
  });

  test('is unreachable delays neither runs nor the stop of the hub', async () => {
    const away = await Collector.start();
    await away[Symbol.asyncDispose]();
    const traced = await startHub({ OTEL_EXPORTER_OTLP_ENDPOINT: away.url });
    expect((await runOnce(traced)).status).toBe('succeeded');
    expect((await runOnce(traced)).status).toBe('succeeded');
    await traced[Symbol.asyncDispose]();
  });

  test('is reachable receives the last spans when the hub stops', async () => {
    await using last = await Collector.start();
    const traced = await startHub({ OTEL_EXPORTER_OTLP_ENDPOINT: last.url });
    await runOnce(traced);
    await traced[Symbol.asyncDispose]();
    expect(last.spans.map(({ name }) => name)).toContain('run');
  });
});

test('without the setting, runs store no trace and deliveries send no trace header', async () => {
  await using plain = await startHub({ EGRESS_ALLOW_HOSTS: receiverHost() });
  const own = await plain.workspace();
  const id = await create(
    [{ type: 'skill', skillId: 'webhook.deliver', input: { url: `http://${receiverHost()}/` } }],
    undefined,
    own,
  );
  const { body } = await send(plain.url, 'POST', `/v1/automations/workflows/${id}/run`, {
    headers: { authorization: `Bearer ${own.key}`, traceparent },
    body: {},
  });
  const { runId } = startedRun(body as never);
  expect((await finished(runId, own)).status).toBe('succeeded');
  expect(delivered.at(-1)).not.toHaveProperty('traceparent');
  expect(await plain.database.query('select trace_parent from runs where id = $1', [runId])).toEqual([
    { trace_parent: null },
  ]);
});
