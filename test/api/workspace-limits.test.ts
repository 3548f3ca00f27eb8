import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import type { Answer } from '../fixtures/requests.ts';

const max = 2;
let hub: TestHub;
beforeAll(async () => {
  hub = await startHub({}, undefined, {
    workspaceLimits: {
      workflow: 4,
      schedule: max,
      sequence: max,
      agent: max,
      toolProfile: max,
      channel: max,
      contactList: max,
      contact: max,
      campaign: max,
      node: max,
      session: max,
      pack: max,
      invitation: max,
    },
  });
});
afterAll(() => hub[Symbol.asyncDispose]());

const steps = [{ type: 'log', message: 'x' }];
const schedule = { schemaVersion: 1, type: 'schedule', schedule: { kind: 'interval', everySeconds: 3600 } };
const pack = (index: number) => ({
  id: 'my-pack',
  version: `1.0.${index}`,
  name: 'Mine',
  summary: 'Says hello.',
  publisher: 'us',
  inputsSchema: { properties: {} },
  skills: ['log.write'],
  graph: { trigger: { type: 'manual' }, steps: [{ type: 'log', message: 'hello' }] },
});

interface Kind {
  kind: string;
  /** The name in the error message. */
  name: string;
  max?: number;
  /** Creates one more. */
  make(workspace: TestWorkspace, index: number): Promise<Answer>;
  /** Frees one; absent if that is not possible. */
  remove?: (workspace: TestWorkspace, made: Answer) => Promise<Answer>;
}

const automations = (path: string, bodyOf: (index: number) => object) => (workspace: TestWorkspace, index: number) =>
  send(hub.url, 'POST', `/v1/automations/${path}`, { headers: { 'x-api-key': workspace.key }, body: bodyOf(index) });
const removal = (path: string) => (workspace: TestWorkspace, made: Answer) =>
  send(hub.url, 'DELETE', `${path}/${String(made.body['nodeId'] ?? made.body['id'])}`, {
    headers: { authorization: `Bearer ${workspace.jwt}` },
  });
const growth = (workspace: TestWorkspace, method: string, path: string, body?: object) =>
  send(hub.url, method, `/growth/marketing/${path}`, {
    headers: { authorization: `Bearer ${workspace.jwt}` },
    ...(body === undefined ? {} : { body }),
  });
const listOf = async (workspace: TestWorkspace) => {
  const { data } = await workspace.session.call('listContactLists', { query: {} });
  return data[0]?.id ?? (await workspace.session.call('createContactList', { body: { name: 'list' } })).id;
};

const kinds: Kind[] = [
  {
    kind: 'workflow',
    name: 'workflows',
    max: 4,
    make: automations('workflows', (index) => ({ name: `w${index}`, stepsJson: steps })),
    remove: removal('/growth/automations/workflows'),
  },
  {
    kind: 'schedule',
    name: 'workflows with a schedule',
    make: automations('workflows', (index) => ({ name: `s${index}`, triggerJson: schedule, stepsJson: steps })),
    remove: removal('/growth/automations/workflows'),
  },
  {
    kind: 'sequence',
    name: 'sequences',
    make: automations('sequences', (index) => ({ name: `q${index}`, steps })),
    remove: removal('/growth/automations/sequences'),
  },
  {
    kind: 'agent',
    name: 'agents',
    make: automations('agents', (index) => ({ name: `a${index}`, systemPrompt: 'Be brief.' })),
    remove: removal('/growth/automations/agents'),
  },
  {
    kind: 'tool profile',
    name: 'tool profiles',
    make: automations('tool-profiles', (index) => ({ name: `t${index}`, allow: ['memory.*'] })),
    remove: removal('/growth/automations/tool-profiles'),
  },
  {
    kind: 'channel',
    name: 'channels',
    make: automations('channels', (index) => ({
      provider: 'webhook',
      name: `c${index}`,
      config: { inboundSecret: 'sixteen-characters' },
    })),
    remove: removal('/growth/automations/channels'),
  },
  {
    kind: 'node',
    name: 'nodes and pairing codes',
    make: automations('nodes', () => ({})),
    remove: removal('/growth/automations/nodes'),
  },
  {
    kind: 'session',
    name: 'sessions',
    make: automations('sessions', (index) => ({ scope: 'dm', key: `k${index}` })),
    remove: removal('/growth/automations/sessions'),
  },
  {
    kind: 'pack',
    name: 'published versions of packs',
    make: automations('skills/sdk', (index) => ({ manifest: pack(index), publish: true })),
  },
  {
    kind: 'contact list',
    name: 'contact lists',
    make: (workspace, index) => growth(workspace, 'POST', 'lists', { name: `l${index}` }),
    remove: removal('/growth/marketing/lists'),
  },
  {
    kind: 'contact',
    name: 'contacts',
    make: async (workspace, index) =>
      growth(workspace, 'POST', `lists/${await listOf(workspace)}/contacts`, {
        contacts: [{ email: `c${index}@example.org` }],
      }),
    remove: async (workspace) =>
      growth(
        workspace,
        'DELETE',
        `contacts/${(await workspace.session.call('listContacts', { params: { id: await listOf(workspace) }, query: {} })).data[0]?.id ?? ''}`,
      ),
  },
  {
    kind: 'invitation',
    name: 'open invitations',
    make: ({ jwt, tenantId }, index) =>
      send(hub.url, 'POST', `/tenants/${tenantId}/invitations`, {
        headers: { authorization: `Bearer ${jwt}` },
        body: { email: `guest${index}@example.org` },
      }),
    remove: (workspace, made) => removal(`/tenants/${workspace.tenantId}/invitations`)(workspace, made),
  },
  {
    kind: 'campaign',
    name: 'campaigns',
    make: async (workspace, index) =>
      growth(workspace, 'POST', 'campaigns', {
        name: `m${index}`,
        listId: await listOf(workspace),
        subject: 'Hello',
        text: 'Hello',
      }),
    remove: removal('/growth/marketing/campaigns'),
  },
];

test.each(kinds)(
  'a workspace has a limit of objects of each kind: $kind',
  async ({ make, remove, name, max: most = max }) => {
    const [workspace, other] = [await hub.workspace(), await hub.workspace()];
    const made: Answer[] = [];
    for (let index = 0; index < most; index += 1) made.push(await make(workspace, index));
    expect(made.map(({ status }) => status)).toEqual(Array.from({ length: most }, () => 200));
    const refused = await make(workspace, most);
    expect(refused.body).toMatchObject({
      statusCode: 409,
      code: 'workspace_limit_reached',
      message: expect.stringContaining(`may have ${most} ${name}`),
    });
    expect((await make(other, 0)).status).toBe(200);
    if (remove === undefined) return;
    expect((await remove(workspace, made[0] as Answer)).status).toBe(200);
    expect((await make(workspace, most)).status).toBe(200);
    expect((await make(workspace, most + 1)).status).toBe(409);
  },
);

test('existing objects can be changed at the limit, but a workflow cannot become one schedule too many', async () => {
  const workspace = await hub.workspace();
  const { api, session } = workspace;
  const workflow = (name: string, triggerJson?: object) =>
    api.call('createAutomationWorkflow', {
      body: { name, stepsJson: steps, ...(triggerJson === undefined ? {} : { triggerJson }) } as never,
    });
  const [first] = [await workflow('a', schedule), await workflow('b', schedule)];
  const { id } = await workflow('c');
  await expect(
    api.call('updateAutomationWorkflow', { params: { id }, body: { triggerJson: schedule } as never }),
  ).rejects.toMatchObject({ code: 'workspace_limit_reached' });
  await api.call('updateAutomationWorkflow', {
    params: { id: first.id },
    body: { triggerJson: { ...schedule, schedule: { kind: 'interval', everySeconds: 7200 } } } as never,
  });
  expect(
    await api.call('updateAutomationWorkflow', { params: { id }, body: { name: 'still as it was' } }),
  ).toMatchObject({ version: 2, triggerJson: { type: 'manual' } });

  const known = await api.call('createAutomationSession', { body: { scope: 'dm', key: 'k1' } });
  await api.call('createAutomationSession', { body: { scope: 'dm', key: 'k2' } });
  expect((await api.call('createAutomationSession', { body: { scope: 'dm', key: 'k1' } })).id).toBe(known.id);
  const list = await session.call('createContactList', { body: { name: 'l' } });
  const add = (...names: string[]) =>
    session.call('addContacts', {
      params: { id: list.id },
      body: { contacts: names.map((name) => ({ email: `${name}@example.org` })) },
    });
  await expect(add('a', 'b', 'c')).rejects.toMatchObject({ code: 'workspace_limit_reached' });
  expect(await add('a', 'b')).toEqual({ added: 2, updated: 0 });
  expect(await add('a', 'b')).toEqual({ added: 0, updated: 2 });
});

test('concurrent creations exceed the limit at most by those in progress at the same time', async () => {
  const workspace = await hub.workspace();
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_value, index) =>
      automations('agents', () => ({ name: `a${index}`, systemPrompt: 'x' }))(workspace, index),
    ),
  );
  const made = answers.filter(({ status }) => status === 200).length;
  // The connection pool of this hub has ten connections.
  expect(made).toBeGreaterThanOrEqual(max);
  expect(made).toBeLessThanOrEqual(max + 10);
  expect((await workspace.api.call('listAutomationAgents', { query: {} })).data).toHaveLength(made);
});
