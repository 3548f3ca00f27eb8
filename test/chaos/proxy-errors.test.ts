import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { reasonPhrase } from '../../shared/errors.ts';
import { startCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import { startProxy } from '../fixtures/proxy.ts';
import type { ProxyFault } from '../fixtures/proxy.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

const html = { 'content-type': 'text/html' };
const json = { 'content-type': 'application/json' };

/** Responses of a proxy while a hub is being replaced. */
const answers: { status: number; headers: Record<string, string>; body: string }[] = [
  { status: 404, headers: { 'content-type': 'text/plain' }, body: '404 page not found\n' },
  {
    status: 401,
    headers: { ...html, 'www-authenticate': 'Basic' },
    body: '<html><h1>401 Authorization Required</h1></html>',
  },
  { status: 404, headers: json, body: '{"code":"not_found","message":"no Route matched with those values"}' },
  { status: 401, headers: json, body: '{"code":"device_secret_invalid","message":"of another make"}' },
  // Another Outrigger hub without this path, for a wrong route.
  {
    status: 404,
    headers: json,
    body: JSON.stringify({
      statusCode: 404,
      error: reasonPhrase(404),
      message: 'There is nothing at /v1/automations/nodes; /docs lists every operation.',
      requestId: 'x',
      code: 'not_found',
    }),
  },
  { status: 413, headers: html, body: '<h1>413 Request Entity Too Large</h1>' },
  { status: 200, headers: html, body: '<h1>Sign in to the network</h1>' },
];

/** The delays between retries grow and are random, so several retries may take a minute, and longer on a busy machine. */
const backOffMs = 120_000;

test(
  'a proxy that responds instead of the hub makes a companion retry, but not lose its pairing or a finished result',
  { timeout: 360_000 },
  async () => {
    await using hub = await startHub({
      RATE_LIMIT_PER_MINUTE: '100000',
      NODE_HEARTBEAT_SECONDS: '1',
      NODE_POLL_SECONDS: '2',
    });
    const workspace = await hub.workspace();
    await using proxy = await startProxy(hub.url);
    await using companion = await startCompanion({ ...hub, url: proxy.url }, workspace);
    const { nodeId, shared } = companion;
    const file = join(shared, 'done');
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'acts',
        stepsJson: [
          { type: 'skill', skillId: 'system.run', input: { nodeId, argv: ['sh', '-c', `echo once >> ${file}`] } },
        ],
      },
    });
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
    expect((await settledRun(workspace.api, runId)).status).toBe('waiting_approval');

    // The proxy responds instead of the hub from the first result on.
    let results = 0;
    let others = 0;
    proxy.fault = ({ path }): ProxyFault | undefined => {
      const isResult = path.endsWith('/result');
      if (results === 0 && !isResult) return undefined;
      const turn = isResult ? results++ : others++;
      const answer = answers[turn % answers.length];
      return results > answers.length || answer === undefined ? undefined : { answer };
    };
    const { data } = await workspace.api.call('listAutomationApprovals', { query: { status: 'pending', runId } });
    await workspace.session.call('decideAutomationApproval', {
      params: { id: data[0]?.id as string },
      body: { decision: 'approved' },
    });
    await until(
      () => results > answers.length,
      () => `the result was not sent again: ${companion.log()}`,
      backOffMs,
    );
    expect(await settledRun(workspace.api, runId)).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ output: { exitCode: 0 } }],
    });
    expect(readFileSync(file, 'utf8')).toBe('once\n');
    expect(others).toBeGreaterThan(0);

    // Polls get every response as well.
    let polls = 0;
    proxy.fault = () => {
      const answer = answers[polls++];
      return answer === undefined ? undefined : { answer };
    };
    await until(
      () => polls > answers.length + 2,
      () => `the companion stopped polling: ${companion.log()}`,
      backOffMs,
    );
    expect(companion.process()?.exitCode).toBeNull();
    const ping = await workspace.api.call('createAutomationWorkflow', {
      body: { name: 'ping', stepsJson: [{ type: 'skill', skillId: 'node.ping', input: { nodeId, waitMs: 60_000 } }] },
    });
    const pinged = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id: ping.id } }));
    expect((await settledRun(workspace.api, pinged.runId)).status).toBe('succeeded');
  },
);
