import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../shared/json.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { duringWriteLock } from '../fixtures/write-lock.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
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
