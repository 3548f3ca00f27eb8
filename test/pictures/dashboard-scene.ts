import type { Browser } from 'playwright-core';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { Client } from '../fixtures/contract-client.ts';
import type { TestHub } from '../fixtures/hub.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { unawaited } from '../fixtures/unawaited.ts';

/** What the pictures of the dashboard show. */
export interface Scene extends AsyncDisposable {
  /** Session token of the user. */
  session: string;
  runId: string;
  agentRunId: string;
  approvalId: string;
  nodeId: string;
  conversationId: string;
  workflowId: string;
  /** A workflow with a schedule. */
  scheduleId: string;
  agentId: string;
  sequenceId: string;
  sessionId: string;
  packId: string;
  webhookId: string;
  channelId: string;
}

const orders = [
  ['20418', 'Harbour Café', '412.00'],
  ['20419', 'Northside Clinic', '1,280.50'],
  ['20420', 'Lindqvist & Sons', '96.20'],
  ['20421', 'Museum of Boats', '740.00'],
  ['20422', 'Tern Bakery', '58.90'],
];
const orderPage = `<!doctype html><style>
  body { margin: 0; font: 20px sans-serif; color: #1c2530; background: #eef2f5 } header { background: #12344d; color: #fff; padding: 22px 44px }
  main { margin: 36px 44px; background: #fff; border-radius: 10px; overflow: hidden } td { padding: 17px 22px; border-bottom: 1px solid #e2e6ea }
  table { width: 100%; border-collapse: collapse } td:last-child { text-align: end }</style>
  <header>Orders, November</header><main><table>${orders
    .map((order) => `<tr>${order.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
    .join('')}</table></main>`;

const skill = (skillId: string, input: object, more: object = {}) => ({ type: 'skill', skillId, input, ...more });
const log = (message: string, more: object = {}) => ({ type: 'log', message, ...more });

/** Pairs a device that answers its commands with a picture of the orders, until `signal` aborts. */
async function pair(hub: TestHub, api: Client, browser: Browser, name: string, signal: AbortSignal): Promise<string> {
  const { nodeId, pairingCode } = await api.call('createAutomationNode', {
    body: { name, tags: ['office', 'browser'], allowSystem: true, allowBrowser: true },
  });
  const capabilities = ['node.ping', 'browser.screenshot', 'browser.open'];
  const device = { name, platform: 'linux', arch: 'x64', osVersion: '13', appVersion: '1.0.0', capabilities };
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: { pairingCode, device: device as never },
  });
  const client = hub.client(deviceSecret);
  const page = await browser.newPage({ viewport: { width: 1280, height: 560 } });
  await page.setContent(orderPage);
  const base64 = (await page.screenshot()).toString('base64');
  await page.close();
  const picture = {
    status: 'succeeded',
    output: {
      artifact: 'orders.png',
      contentType: 'image/png',
      bytes: Buffer.from(base64, 'base64').length,
      width: 1280,
      height: 560,
      url: 'https://shop.harbour.example/orders',
      title: 'Orders, November',
      pageId: 'p1',
    },
    artifacts: [{ name: 'orders.png', contentType: 'image/png', base64 }],
  };
  const pong = { status: 'succeeded', output: { pong: true, latencyMs: 12, appVersion: '1.0.0' } };
  const work = async () => {
    while (!signal.aborted) {
      await client.call('heartbeatAutomationNode', {
        params: { id: nodeId },
        body: { paused: false, running: [] } as never,
      });
      const { commands } = await client.call('pollAutomationNodeCommands', {
        params: { id: nodeId },
        query: { wait: 5, max: 1 } as never,
      });
      for (const { id, type } of commands)
        await client.call('completeAutomationNodeCommand', {
          params: { id: nodeId, commandId: id },
          body: (type === 'browser.screenshot' ? picture : pong) as never,
        });
    }
  };
  unawaited(work().catch((error: unknown) => (signal.aborted ? undefined : Promise.reject(error as Error))));
  return nodeId;
}

async function chat(hub: TestHub, session: Client, tenantId: string): Promise<string> {
  const { key } = await session.call('createApiToken', {
    params: { tenantId },
    body: { name: 'shop', product: 'chat', environment: 'live', permissions: ['chat:write'] },
  });
  const talk = async (name: string, questions: string[]) => {
    const { visitorToken, conversationId, siteKey } = await hub
      .client(key)
      .call('createChatSession', { body: { externalId: name, displayName: name } });
    const { token } = await hub.client().call('openVisitorSession', { body: { siteKey, token: visitorToken } });
    for (const [index, content] of questions.entries())
      await hub.client(token).call('sendVisitorMessage', { body: { content, clientId: `${name} ${index}` } });
    const say = (content: string) =>
      hub.client(token).call('sendVisitorMessage', { body: { content, clientId: content } });
    return { conversationId, say };
  };
  await talk('Tern Bakery', ['Can we change the delivery address of order 20422?']);
  await talk('Jonas Lindqvist', ['Is anchor rope in stock again?', 'We need about 40 metres.']);
  const maria = await talk('Maria Okafor', ['Good morning! Has order 20419 left the warehouse?']);
  const params = { tenantId, id: maria.conversationId };
  const reply = (content: string) => session.call('sendInboxMessage', { params, body: { content } });
  await reply('Good morning, Maria. Let me check the list of today.');
  await reply('Yes, it left at 08:40 and arrives this afternoon.');
  await maria.say('Perfect. Can the driver call the reception when they arrive?');
  return maria.conversationId;
}

/** Adds a sequence, a session, an installed pack with a workflow, a webhook, a channel and changes of settings. */
async function addObjects(api: Client, tenantId: string, nodeId: string) {
  const { id: sequenceId } = await api.call('createAutomationSequence', {
    body: {
      name: 'Welcome a new customer',
      steps: [
        log('Send the welcome mail', { name: 'Say welcome' }),
        log('Ask how the first order went', { name: 'Ask after three days', delaySeconds: 3 * 86_400 }),
        log('Offer a call', { name: 'Offer a call', delaySeconds: 7 * 86_400 }),
      ] as never,
    },
  });
  const { id: sessionId } = await api.call('createAutomationSession', {
    body: { scope: 'dm', key: 'maria@northside.example', title: 'Maria Okafor' },
  });
  for (const [role, content] of [
    ['user', 'Has order 20419 left the warehouse?'],
    ['assistant', 'Yes, it left at 08:40 and arrives this afternoon.'],
    ['user', 'Can the driver call the reception when they arrive?'],
  ] as const)
    await api.call('appendAutomationSessionMessage', { params: { id: sessionId }, body: { role, content } });
  const packId = 'daily-screen-report';
  await api.call('installAutomationSkill', { body: { packId } });
  await api.call('createAutomationSkillWorkflow', {
    params: { packId },
    body: { name: 'Screen of the front desk', inputs: { nodeId } },
  });
  await api.call('updateAutomationNode', { params: { id: nodeId }, body: { tags: ['office', 'browser', 'front'] } });
  await api.call('putAutomationPolicy', { body: { maxRunsPerHour: 200 } as never });
  await api.call('putAutomationPolicy', { body: { maxRunsPerHour: 120, approvalsRequiredFor: ['email.*'] } as never });
  const { id: webhookId } = await api.call('createWebhook', {
    params: { tenantId },
    body: { url: 'https://example.org/hooks', events: ['message.created'] },
  });
  const { id: channelId } = await api.call('putAutomationChannel', {
    body: { provider: 'webhook', name: 'Order desk', config: { inboundSecret: 'a secret of sixteen' } },
  });
  return { sequenceId, sessionId, packId, webhookId, channelId };
}

/** Fills a new workspace with machines, workflows, runs, approvals and conversations. */
export async function fillWorkspace(hub: TestHub, model: ModelServer, browser: Browser): Promise<Scene> {
  const stop = new AbortController();
  const person = { email: 'ann@harbour.example', password: 'correct horse battery' };
  const { token, tenantId } = await hub.client().call('signUp', {
    body: { ...person, workspaceName: 'Harbour Supplies' },
  });
  const api = hub.client(token);
  await api.call('updateMe', { body: { displayName: 'Ann' } });
  const nodeId = await pair(hub, api, browser, 'front-desk', stop.signal);
  await pair(hub, api, browser, 'warehouse-pc', stop.signal);
  await api.call('createAutomationNode', { body: { name: 'lab-mac' } });
  await api.call('putAutomationModels', {
    body: {
      models: [{ id: 'main', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'gpt-5-mini' }],
      order: ['main'],
    },
  });
  model.reply = (_request, turn) =>
    [
      'I note the total of the morning first.\nTOOL_CALL:memory.write|{"key":"orders/total","value":2587.6}',
      'Next I compare it with yesterday.\nTOOL_CALL:memory.read|{"key":"orders/yesterday"}',
      'FINAL: Five orders, 2,587.60 in all. Northside Clinic has the largest one. Yesterday is not stored yet, so I cannot compare the days.',
    ][turn] ?? 'FINAL: Done.';
  const { id: toolProfileId } = await api.call('putAutomationToolProfile', {
    body: { name: 'Memory', allow: ['memory.*'], deny: [] },
  });
  const { id: agentId } = await api.call('createAutomationAgent', {
    body: { name: 'Order desk', systemPrompt: 'You summarise orders for the front desk.', toolProfileId } as never,
  });
  const create = async (name: string, stepsJson: object[], more: object = {}) =>
    (await api.call('createAutomationWorkflow', { body: { name, stepsJson, ...more } as never })).id;
  const start = async (id: string, payload: object = {}) =>
    startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: { payload } as never })).runId;

  const agentStep = {
    type: 'agent',
    name: 'Summarise the orders',
    prompt: 'Summarise the orders of this morning: {{steps.list.outputText}}',
    toolProfileId,
  };
  const daily = {
    schemaVersion: 1,
    type: 'schedule',
    schedule: { kind: 'cron', cron: '0 8 * * 1-5', timezone: 'Europe/Berlin' },
  };
  const summary = await create(
    'Morning summary',
    [log('Five orders since 18:00', { id: 'list', name: 'List the orders' }), agentStep],
    {
      triggerJson: daily,
    },
  );
  const workflowId = await create('Morning order report', [
    log('Read the orders of {{payload.day}}', { name: 'Begin' }),
    skill('browser.screenshot', { nodeId }, { name: 'Photograph the order list' }),
    log('5 orders on the page, order 20419 is the largest', { name: 'Count the orders' }),
    log('order 20420 has no delivery date', { name: 'Check the dates', level: 'warn' }),
    { ...agentStep, id: 'summary', prompt: 'Summarise the orders of {{payload.day}}.' },
    {
      type: 'approval',
      name: 'Ask before the mail',
      title: 'Send the morning report to the order desk?',
      message: 'Five orders, 2,587.60 in all. Order 20420 has no delivery date.',
    },
    skill(
      'email.send',
      { to: ['orders@harbour.example'], subject: 'Orders of {{payload.day}}', text: '{{steps.summary.outputText}}' },
      { name: 'Send the report' },
    ),
  ]);
  const { stepsJson, inputs } = await api.call('getAutomationWorkflow', { params: { id: workflowId } });
  await api.call('updateAutomationWorkflow', {
    params: { id: workflowId },
    body: { stepsJson: stepsJson.filter((step) => step.name !== 'Check the dates'), inputs } as never,
  });
  await api.call('restoreAutomationWorkflowVersion', { params: { id: workflowId, version: 1 } as never });
  const backup = await create('Nightly backup', [
    skill('node.ping', { nodeId }, { name: 'Wake the machine' }),
    skill('browser.screenshot', { nodeId }, { name: 'Photograph the result' }),
    log('Backup finished: 4.2 GB', { name: 'Report' }),
  ]);
  const broken = await create('Sync price list', [
    log('Download the price list', { name: 'Begin' }),
    skill('webhook.deliver', { url: 'https://prices.harbour.example/hook', body: {} }, { name: 'Post the prices' }),
  ]);
  for (const id of [backup, broken, backup, summary, backup]) await settledRun(api, await start(id));
  const agentRunId = await start(summary);
  await settledRun(api, agentRunId);
  const runId = await start(workflowId, { day: 'Friday', shop: 'harbour' });
  await settledRun(api, runId);
  const { data } = await api.call('listAutomationApprovals', { query: { runId, status: 'pending' } });
  const conversationId = await chat(hub, api, tenantId);
  return {
    session: token,
    runId,
    agentRunId,
    approvalId: data[0]?.id as string,
    nodeId,
    conversationId,
    workflowId,
    scheduleId: summary,
    agentId,
    ...(await addObjects(api, tenantId, nodeId)),
    async [Symbol.asyncDispose]() {
      stop.abort();
    },
  };
}
