import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

/** Calls a function while another transaction holds the locks of a start. */
async function whileAnotherStarts(work: () => Promise<unknown>): Promise<void> {
  const other = new Client({ connectionString: hub.database.url });
  await other.connect();
  try {
    await other.query('BEGIN');
    await other.query('SELECT FROM sequences FOR KEY SHARE');
    await other.query('SELECT FROM workflows FOR KEY SHARE');
    await work();
  } finally {
    await other.end();
  }
}

const steps = [{ type: 'log', message: 'x' }] as never;

test('a run of a sequence starts while another start of the same sequence is not committed', async () => {
  const { id } = await workspace.api.call('createAutomationSequence', { body: { name: 's', steps } });
  const start = () => workspace.api.call('runAutomationSequence', { params: { id }, body: {} });
  await start();
  await whileAnotherStarts(async () => expect((await start()).status).toBe('queued'));
});

test('a message of a channel starts its agent while another message of it is not committed', async () => {
  await workspace.api.call('createAutomationAgent', {
    body: { name: 'a', systemPrompt: 'You help.', routeKeys: ['*'] } as never,
  });
  const { inboundPath } = await workspace.session.call('putAutomationChannel', {
    body: { provider: 'webhook', name: 'c', config: { inboundSecret: 'a secret of a channel' } } as never,
  });
  let count = 0;
  const receive = async () => {
    count += 1;
    return send(hub.url, 'POST', inboundPath, {
      headers: { 'x-service-automation-token': 'a secret of a channel' },
      body: { text: 'hello', from: `person-${count}` },
    });
  };
  expect((await receive()).body['runIds']).toHaveLength(1);
  await whileAnotherStarts(async () => expect((await receive()).body['runIds']).toHaveLength(1));
});
