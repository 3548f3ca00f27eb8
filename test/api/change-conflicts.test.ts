import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import type { Answer } from '../fixtures/requests.ts';

/** Resources with versions: a change with an outdated `If-Match` is refused. */

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const call = (method: string, path: string, body?: object, ifMatch?: string): Promise<Answer> =>
  send(hub.url, method, path, {
    headers: {
      authorization: `Bearer ${workspace.jwt}`,
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
    },
    ...(body === undefined ? {} : { body }),
  });
const steps = [{ type: 'log', message: 'x' }];
const model = { id: 'main', provider: 'openai', model: 'gpt-5', apiKey: 'k' };

interface Versioned {
  name: string;
  /** The version before the first change. */
  first: number;
  /** Creates the resource if it does not exist always, and returns its path. */
  make: () => Promise<string>;
  change: (path: string, value: string, ifMatch?: string) => Promise<Answer>;
  valueOf: (body: Answer['body']) => unknown;
}
const created = async (path: string, body: object) => `${path}/${String((await call('POST', path, body)).body['id'])}`;
const channel = { provider: 'webhook', config: { inboundSecret: 'sixteen-characters' } };

const resources: Versioned[] = [
  {
    name: 'agent',
    first: 1,
    make: () => created('/v1/automations/agents', { name: 'a' }),
    change: (path, name, ifMatch) => call('PATCH', path, { name }, ifMatch),
    valueOf: ({ name }) => name,
  },
  {
    name: 'sequence',
    first: 1,
    make: () => created('/v1/automations/sequences', { name: 's', steps }),
    change: (path, name, ifMatch) => call('PATCH', path, { name }, ifMatch),
    valueOf: ({ name }) => name,
  },
  {
    name: 'channel',
    first: 1,
    make: () => created('/v1/automations/channels', { ...channel, name: 'c' }),
    change: (path, name, ifMatch) =>
      call('POST', '/v1/automations/channels', { id: path.split('/').at(-1), provider: 'webhook', name }, ifMatch),
    valueOf: ({ name }) => name,
  },
  {
    name: 'channel of the dashboard API',
    first: 1,
    make: () => created('/v1/automations/channels', { ...channel, name: 'c' }),
    change: (path, name, ifMatch) =>
      call('PATCH', path.replace('/v1/automations/channels', '/growth/automations/channels'), { name }, ifMatch),
    valueOf: ({ name }) => name,
  },
  {
    name: 'policy',
    first: 0,
    make: async () => '/v1/automations/policies',
    change: (path, standingOrders, ifMatch) => call('PUT', path, { standingOrders }, ifMatch),
    valueOf: (body) => body['standingOrders'],
  },
  {
    name: 'list of models',
    first: 0,
    make: async () => '/v1/automations/models',
    change: (path, name, ifMatch) =>
      call('PUT', path, { models: [{ ...model, model: name }], order: ['main'] }, ifMatch),
    valueOf: (body) => (body['models'] as { model: string }[])[0]?.model,
  },
];

test.each(resources)('an outdated change of the $name is refused and changes nothing', async (resource) => {
  const path = await resource.make();
  const read = await call('GET', path);
  expect([read.headers.get('etag'), read.body['version']]).toEqual([`"${resource.first}"`, resource.first]);
  const accepted = await resource.change(path, 'mine', `"${resource.first}"`);
  expect([accepted.status, accepted.headers.get('etag'), accepted.body['version']]).toEqual([
    200,
    `"${resource.first + 1}"`,
    resource.first + 1,
  ]);
  const refused = await resource.change(path, 'theirs', `"${resource.first}"`);
  expect([refused.status, refused.body.code, refused.headers.get('etag')]).toEqual([
    409,
    'version_conflict',
    `"${resource.first + 1}"`,
  ]);
  expect(resource.valueOf((await call('GET', path)).body)).toBe('mine');
  // Without the header, or with `*`, every version is replaced.
  for (const ifMatch of [undefined, '*']) expect((await resource.change(path, 'other', ifMatch)).status).toBe(200);
  const last = await call('GET', path);
  expect([resource.valueOf(last.body), last.body['version']]).toEqual(['other', resource.first + 3]);
  expect((await resource.change(path, 'x', 'one')).body.code).toBe('validation_failed');
});

test.each(resources)(
  'of two changes of one version of the $name at the same time, one is refused',
  async (resource) => {
    workspace = await hub.workspace();
    const path = await resource.make();
    const answers = await Promise.all(
      ['one', 'two'].map((value) => resource.change(path, value, `"${resource.first}"`)),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    const won = answers.find(({ status }) => status === 200) as Answer;
    expect(resource.valueOf((await call('GET', path)).body)).toBe(resource.valueOf(won.body));
  },
);
