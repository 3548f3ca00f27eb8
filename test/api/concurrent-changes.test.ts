import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../shared/json.ts';
import { patientDatabase, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { duringWriteLock } from '../fixtures/write-lock.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({}, undefined, patientDatabase);
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

test('concurrent changes of different fields of a tool profile are both kept', async () => {
  const { id } = await workspace.api.call('putAutomationToolProfile', { body: { name: 'p', allow: ['*'], deny: [] } });
  const patch = (body: JsonObject) => () =>
    workspace.session.call('growthUpdateResource', { params: { resource: 'tool-profiles', id }, body });
  await duringWriteLock(hub.database, 'tool_profiles', [patch({ deny: ['webhook.*'] }), patch({ name: 'renamed' })]);
  expect(await workspace.api.call('getAutomationToolProfile', { params: { id } })).toMatchObject({
    name: 'renamed',
    allow: ['*'],
    deny: ['webhook.*'],
  });
});

test('concurrent changes of different fields of a channel are both kept', async () => {
  const { id } = await workspace.api.call('putAutomationChannel', {
    body: {
      provider: 'webhook',
      name: 'c',
      config: { inboundSecret: 'sixteen-characters', url: 'https://a.example/' },
    },
  });
  const patch = (body: JsonObject) => () =>
    workspace.session.call('growthUpdateResource', { params: { resource: 'channels', id }, body });
  await duringWriteLock(hub.database, 'channels', [
    patch({ active: false }),
    patch({ config: { url: 'https://b.example/' } }),
    patch({ name: 'renamed' }),
  ]);
  expect(await workspace.api.call('getAutomationChannel', { params: { id } })).toMatchObject({
    name: 'renamed',
    active: false,
    config: { url: 'https://b.example/' },
  });
});

test('concurrent changes of the allowed origins leave the list of one of them', async () => {
  const { tenantId } = workspace;
  const put = (origin: string) => () =>
    workspace.session.call('putAllowedOrigins', { params: { tenantId }, body: { origins: [origin] } });
  await duringWriteLock(hub.database, 'audit_log', [put('https://a.example'), put('https://b.example')]);
  expect(await workspace.session.call('getAllowedOrigins', { params: { tenantId } })).toEqual({
    origins: ['https://b.example'],
  });
});

const refused = (status: number) => ({ status });

test('a tool profile that is deleted while an agent takes it is refused in one of the requests', async () => {
  const { api, session } = workspace;
  const profile = async () =>
    (await api.call('putAutomationToolProfile', { body: { name: 'p', allow: ['*'], deny: [] } })).id;
  const other = await profile();
  const agent = async (toolProfileId: string) =>
    api.call('createAutomationAgent', { body: { name: 'a', toolProfileId } as never });
  const { id: present } = await agent(other);
  const take = (toolProfileId: string) => [
    () => agent(toolProfileId),
    () => session.call('updateAutomationAgent', { params: { id: present }, body: { toolProfileId } }),
  ];
  const remove = (id: string) => () => api.call('deleteAutomationToolProfile', { params: { id } });
  for (const index of [0, 1]) {
    const first = await profile();
    expect(
      await duringWriteLock(hub.database, 'audit_log', [remove(first), take(first)[index] as () => Promise<unknown>]),
    ).toEqual([{ id: first, deleted: true }, refused(400)]);
    const second = await profile();
    expect(
      await duringWriteLock(hub.database, 'audit_log', [take(second)[index] as () => Promise<unknown>, remove(second)]),
    ).toEqual([expect.objectContaining({ toolProfileId: second }), refused(409)]);
  }
});

test('a contact list that is deleted while a campaign or a contact is added is refused in one of the requests', async () => {
  const { session } = workspace;
  const list = async () => (await session.call('createContactList', { body: { name: 'l' } })).id;
  const campaign = (listId: string) => () =>
    session.call('createCampaign', { body: { name: 'c', listId, subject: 's', text: 't' } as never });
  const contact = (id: string) => () =>
    session.call('addContacts', { params: { id }, body: { contacts: [{ email: 'a@example.org' }] } });
  const remove = (id: string) => () => session.call('deleteContactList', { params: { id } });
  for (const use of [campaign, contact]) {
    const first = await list();
    expect(await duringWriteLock(hub.database, 'audit_log', [remove(first), use(first)])).toEqual([
      { id: first, deleted: true },
      refused(404),
    ]);
  }
  const second = await list();
  expect(await duringWriteLock(hub.database, 'audit_log', [campaign(second), remove(second)])).toEqual([
    expect.objectContaining({ listId: second }),
    refused(409),
  ]);
});
