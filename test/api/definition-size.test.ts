import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Database } from '../../hub/platform/db/database.ts';
import { webhookTokenHash } from '../../hub/products/automations/workflows/startable.ts';
import { findByWebhookToken } from '../../hub/products/automations/workflows/store.ts';
import { listEventWorkflows } from '../../hub/products/automations/workflows/triggered.ts';
import { listUnmailed, readCampaigns } from '../../hub/products/marketing/store.ts';
import type { CampaignRow } from '../../hub/products/marketing/store.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import {
  addMemoryEntries,
  addSequences,
  addWorkflows,
  storeSteps,
  storeTrigger,
} from '../fixtures/stage/automations.ts';
import { addCampaigns, addContactList, addContacts } from '../fixtures/stage/marketing.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const request = (method: string, path: string, body?: unknown) =>
  send(hub.url, method, path, {
    headers: { authorization: `Bearer ${workspace.key}` },
    ...(body === undefined ? {} : { body }),
  });

const comparing = (value: unknown) => [
  { type: 'skill', skillId: 'memory.diff', input: { key: 'k', by: 'id', items: [{ id: 'a', value }] } },
];
/** 300,000 bytes as JSON. */
const longText = 'x'.repeat(300_000);
/** 150,000 bytes as JSON, and several megabytes once parsed. */
const manyObjects = Array.from({ length: 50_000 }, () => ({}));

const refused = (field: string, what: string) => ({
  status: 400,
  body: { code: 'validation_failed', details: [{ path: `body.${field}`, message: expect.stringMatching(what) }] },
});

/** Creates a workflow with steps of an earlier version of the hub, which had no limit. */
async function largeWorkflow(extra: Record<string, unknown> = {}): Promise<string> {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'large', stepsJson: [{ type: 'log', message: 'x' }], ...extra } as never,
  });
  await storeSteps(hub.database, id, comparing('y'.repeat(1_500_000)));
  return id;
}

describe('a definition that is too large is rejected with the name of its field', () => {
  test.each([
    ['text', longText, '^has 300[0-9]{3} bytes of JSON, and the limit is 262144 bytes'],
    ['many values', manyObjects, '^uses [0-9]{7} bytes of memory, and the limit is 2097152 bytes'],
  ])('%s', async (_name, value, message) => {
    const steps = comparing(value);
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: { name: 'small', stepsJson: [{ type: 'log', message: 'x' }] },
    });
    const sequence = await workspace.api.call('createAutomationSequence', {
      body: { name: 'small', steps: [{ type: 'log', message: 'x' }] },
    });
    const trigger = { type: 'event', event: { type: 'message.created', filter: { a: value } } };
    const [workflows, sequences] = ['/v1/automations/workflows', '/v1/automations/sequences'];
    expect(await request('POST', workflows, { name: 'w', stepsJson: steps })).toMatchObject(
      refused('stepsJson', message),
    );
    expect(await request('PATCH', `${workflows}/${id}`, { stepsJson: steps })).toMatchObject(
      refused('stepsJson', message),
    );
    expect(await request('PATCH', `${workflows}/${id}`, { triggerJson: trigger })).toMatchObject(
      refused('triggerJson', message),
    );
    expect(await request('POST', sequences, { name: 's', steps })).toMatchObject(refused('steps', message));
    expect(await request('PATCH', `${sequences}/${sequence.id}`, { steps })).toMatchObject(refused('steps', message));
    const jwt = {
      headers: { authorization: `Bearer ${workspace.jwt}` },
      body: { manifest: { id: 'p', graph: { steps } } },
    };
    expect(await send(hub.url, 'POST', '/v1/automations/skills/sdk', jwt)).toMatchObject(refused('manifest', message));
  });
});

test('a large definition of an earlier version can be read and started, and updated with unchanged steps', async () => {
  const id = await largeWorkflow();
  expect(await request('GET', `/v1/automations/workflows/${id}`)).toMatchObject({ status: 200 });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  expect(await settledRun(workspace.api, runId)).toMatchObject({ status: 'succeeded' });
  expect(await request('PATCH', `/v1/automations/workflows/${id}`, { active: false })).toMatchObject({
    status: 200,
    body: { active: false },
  });
  expect(await request('POST', `/v1/automations/workflows/${id}/versions/1/restore`)).toMatchObject(
    refused('stepsJson', 'the limit is 262144 bytes'),
  );
});

test('a list of large rows has as many per page as the memory limit allows, and a cursor to the others', async () => {
  const { tenantId, session } = await hub.workspace();
  const large = 'y'.repeat(1_500_000);
  const steps = comparing(large);
  await addWorkflows(hub.database, tenantId, { count: 5, trigger: { schemaVersion: 1, type: 'manual' }, steps });
  await addSequences(hub.database, tenantId, { count: 5, steps });
  await addMemoryEntries(hub.database, tenantId, { count: 5, value: steps });
  const listId = await addContactList(hub.database, tenantId);
  await addCampaigns(hub.database, listId, { count: 5, html: large });
  await addContacts(hub.database, listId, { count: 5, attributes: { a: large } });
  const lists = [
    'listAutomationWorkflows',
    'listAutomationSequences',
    'listAutomationMemory',
    'listCampaigns',
    'listContacts',
  ] as const;
  for (const list of lists) {
    const pages: string[][] = [];
    let cursor: string | null = null;
    do {
      const page: { data: { name?: string | null; key?: string }[]; meta: { nextCursor: string | null } } =
        await session.call(list, {
          params: { id: listId },
          query: { limit: 100, ...(cursor === null ? {} : { cursor }) },
        });
      pages.push(page.data.map(({ name, key }) => name ?? (key as string)));
      cursor = page.meta.nextCursor;
    } while (cursor !== null);
    expect([list, pages.map(({ length }) => length)]).toEqual([list, [2, 2, 1]]);
    expect(new Set(pages.flat()).size).toBe(5);
  }
});

test('workflows of an event are measured once and read without steps, in pages by the size of their triggers', async () => {
  const { tenantId } = await hub.workspace();
  const trigger = {
    schemaVersion: 1,
    type: 'event',
    event: { type: 'message.created', filter: { a: 'z'.repeat(1_500_000) } },
  };
  await addWorkflows(hub.database, tenantId, { count: 5, trigger, steps: comparing(longText) });
  await using db = new Database({
    url: hub.database.url,
    maxConnections: 2,
    applicationName: 'test',
    onError: () => undefined,
  });
  const pages = await db.read(tenantId, async (tx) => {
    const found: string[] = [];
    const counted = {
      query: (name: string, text: string, values: unknown[]) => {
        found.push(name);
        return tx.query(name, text, values);
      },
    } as unknown as typeof tx;
    for await (const page of listEventWorkflows(counted, tenantId, 'message.created', 'live'))
      found.push(...page.map((row) => Object.keys(row).toSorted().join()));
    return found;
  });
  const columns = 'id,trigger';
  const nextPage = 'read_event_workflows';
  expect(pages).toEqual(['list_event_workflows', columns, columns, nextPage, columns, columns, nextPage, columns]);
});

test('a hook that starts several workflows starts each, with one definition in memory at a time', async () => {
  const token = 'a-token-of-several-workflows';
  const webhook = { triggerJson: { schemaVersion: 1, type: 'webhook', webhook: { token } } };
  const ids = [await largeWorkflow(webhook), await largeWorkflow(webhook)];
  const started = await send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
    headers: { 'x-service-automation-token': token },
    body: { event: 'e' },
  });
  expect(started).toMatchObject({ status: 200 });
  const { runIds } = started.body as { runIds: string[] };
  const rows = await hub.database.query<{ id: string }>('select workflow_id as id from runs where id = any($1)', [
    runIds,
  ]);
  expect(rows.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  await using db = new Database({
    url: hub.database.url,
    maxConnections: 2,
    applicationName: 'test',
    onError: () => undefined,
  });
  const opened = await findByWebhookToken(db, webhookTokenHash(token), undefined);
  expect(opened.map(({ steps }) => steps)).toEqual([[], []]);
});

test('a filter of an event trigger lists at most 1,000 values; a longer stored one stays while other fields change', async () => {
  const own = await hub.workspace();
  const listing = (length: number) => ({
    schemaVersion: 1 as const,
    type: 'event' as const,
    event: {
      type: 'message.created' as const,
      filter: { 'message.content': Array.from({ length }, (_, index) => `m${index}`) },
    },
  });
  const create = (length: number) =>
    send(hub.url, 'POST', '/v1/automations/workflows', {
      headers: { authorization: `Bearer ${own.key}` },
      body: { name: 'w', triggerJson: listing(length), stepsJson: [{ type: 'log', message: 'x' }] },
    });
  expect(await create(1_001)).toMatchObject({
    status: 400,
    body: {
      code: 'workflow_invalid',
      details: [
        {
          path: 'body.triggerJson.event.filter.message.content',
          message: 'lists 1001 values, and the limit is 1000',
        },
      ],
    },
  });
  const made = await create(1_000);
  expect(made.status).toBe(200);
  const { id } = made.body as { id: string };
  await storeTrigger(hub.database, id, listing(5_000));
  expect(await own.api.call('updateAutomationWorkflow', { params: { id }, body: { name: 'renamed' } })).toMatchObject({
    name: 'renamed',
  });
});

test('contacts of a campaign are listed without their attributes', async () => {
  const { tenantId, session } = await hub.workspace();
  const list = await session.call('createContactList', { body: { name: 'l' } });
  await session.call('addContacts', { params: { id: list.id }, body: { contacts: [{ email: 'a@example.org' }] } });
  await using db = new Database({
    url: hub.database.url,
    maxConnections: 2,
    applicationName: 'test',
    onError: () => undefined,
  });
  const { id } = await session.call('createCampaign', {
    body: { name: 'c', listId: list.id, subject: 's', text: 't' },
  });
  const unmailed = await db.read(tenantId, async (tx) => {
    const [campaign] = await readCampaigns(tx, tenantId, [id]);
    return listUnmailed(tx, campaign as CampaignRow, undefined, 100);
  });
  expect(unmailed).toEqual([{ id: expect.any(String) as string }]);
});
