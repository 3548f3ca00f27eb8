import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

/** Times before the first year that ids support, or with a five-digit year in UTC. */
const unusable = [
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '1969-12-31T23:59:59.999Z',
  '1970-01-01T00:00:00+00:01',
  '10000-01-01T00:00:00Z',
  '9999-12-31T23:59:59-00:01',
];
const usable = ['1970-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59+14:00'];

const post = (path: string, body: unknown) =>
  send(hub.url, 'POST', path, { headers: { 'x-api-key': workspace.key }, body });
const places: [string, (at: string) => Promise<{ status: number }>][] = [
  ...['runs', 'logs', 'messages'].flatMap((list) =>
    ['from', 'to'].map((name): [string, (at: string) => Promise<{ status: number }>] => [
      `${name} of ${list}`,
      (at) =>
        send(hub.url, 'GET', `/v1/automations/${list}?${name}=${encodeURIComponent(at)}`, {
          headers: { 'x-api-key': workspace.key },
        }),
    ]),
  ),
  [
    'at of a schedule',
    (at) =>
      post('/v1/automations/workflows', {
        name: 'w',
        stepsJson: [{ type: 'log', message: 'x' }],
        triggerJson: { schemaVersion: 1, type: 'schedule', schedule: { kind: 'at', at } },
      }),
  ],
  [
    'after of a preview',
    (after) =>
      post('/v1/automations/schedules/preview', {
        schedule: { kind: 'cron', cron: '0 0 29 2 *', timezone: 'Europe/Berlin' },
        after,
      }),
  ],
  [
    'after of a preview of an interval',
    (after) => post('/v1/automations/schedules/preview', { schedule: { kind: 'interval', everySeconds: 3600 }, after }),
  ],
  [
    'expiresAt of a key',
    (expiresAt) =>
      send(hub.url, 'POST', `/tenants/${workspace.tenantId}/tokens`, {
        headers: { authorization: `Bearer ${workspace.jwt}` },
        body: { name: 'k', product: 'automations', permissions: ['automations:manage'], expiresAt },
      }),
  ],
];

test.each(places)('an unusable time is rejected as %s, and a usable one causes no error', async (_place, use) => {
  for (const at of unusable) expect([at, (await use(at)).status]).toEqual([at, 400]);
  for (const at of usable) expect([at, [200, 400].includes((await use(at)).status)]).toEqual([at, true]);
});

test.each(['ai/usage', 'usage-totals'])(
  'an unusable day is rejected by the report %s, and a usable one causes no error',
  async (report) => {
    const get = async (query: string) =>
      (
        await send(hub.url, 'GET', `/tenants/${workspace.tenantId}/${report}?${query}`, {
          headers: { authorization: `Bearer ${workspace.jwt}` },
        })
      ).status;
    for (const day of ['0000-01-01', '0001-01-01', '1969-12-31'])
      for (const query of [`from=${day}&to=${day}`, `to=${day}`])
        expect([query, await get(query)]).toEqual([query, 400]);
    for (const day of ['1970-01-01', '9999-12-31'])
      for (const query of [`from=${day}&to=${day}`, `to=${day}`])
        expect([query, await get(query)]).toEqual([query, 200]);
  },
);
