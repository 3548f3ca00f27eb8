import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { removePackGrants } from '../fixtures/stage/automations.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const request = (method: string, path: string, body?: unknown, on = workspace) =>
  send(hub.url, method, path, { headers: { 'x-api-key': on.key }, ...(body === undefined ? {} : { body }) });

const manifest = (extra: Record<string, unknown> = {}, graph: Record<string, unknown> = {}) => ({
  id: 'hello-pack',
  name: 'Hello',
  version: '1.0.0',
  publisher: 'Us',
  summary: 'Says hello.',
  inputsSchema: {
    properties: { who: { type: 'string', title: 'Who' }, url: { type: 'string', format: 'uri', title: 'Where' } },
    required: ['who'],
  },
  skills: ['log.write'],
  graph: { trigger: { type: 'manual' }, steps: [{ type: 'log', message: 'Hello {{inputs.who}}' }], ...graph },
  ...extra,
});

/** Addresses that look like a declared host, or match it only for some inputs. */
const hostile: readonly (readonly [string, string, string[]?])[] = [
  ['a user name with a port in it', 'http://good.example:80@127.0.0.1:4591/'],
  ['a user name', 'https://good.example@evil.example/'],
  ['a user name and password', 'https://good.example:x@evil.example/'],
  ['a user name behind an encoded character', 'https://good.example%40evil.example/'],
  ['a port that a template names', 'http://good.example:{{payload.h}}'],
  ['a host that a template ends', 'https://good.example{{payload.rest}}'],
  ['a host that a template begins', 'https://{{payload.sub}}.good.example/'],
  ['a host that a template names', 'https://{{payload.host}}/'],
  ['a scheme that a template names', '{{payload.scheme}}://good.example/'],
  ['an address that a template names', '{{payload.url}}'],
  ['an address behind an input', '{{inputs.url}}/more', ['good.example', 'inputs.url']],
  ['an address behind an input and a user name', '{{inputs.url}}@evil.example/', ['good.example', 'inputs.url']],
  ['a host that ends in a declared one', 'https://evilgood.example/'],
  ['a host under a declared one', 'https://evil.good.example/'],
  ['a host that begins with a declared one', 'https://good.example.evil.example/'],
  ['a host behind a backslash', 'https:\\\\evil.example\\good.example/'],
  ['a host behind a backslash in the path', 'https://evil.example\\@good.example/'],
  ['another port', 'https://good.example:8443/'],
  ['another scheme', 'ftp://good.example/'],
  ['a host behind white space', ' https://evil.example/ https://good.example/'],
  ['a line break within the host', 'https://good.example\n.evil.example/'],
  ['a number that is an address', 'http://2130706433/'],
  ['no scheme at all', '//good.example/'],
];

describe('the shipped packs', () => {
  test('number seven, can each be installed unchanged, and show their powers', async () => {
    const { data } = await workspace.api.call('listAutomationSkills', {});
    expect(data.map(({ id }) => id)).toEqual([
      'daily-screen-report',
      'file-drop-watcher',
      'inbound-message-triage',
      'live-chat-triage',
      'maintenance-command',
      'site-uptime-watch',
      'weekly-run-digest',
    ]);
    const shown = await workspace.api.call('installAutomationSkill', {
      body: { packId: 'maintenance-command', dryRun: true },
    });
    expect(shown).toMatchObject({
      installed: false,
      pack: { installedVersion: null },
      grants: {
        nodePowers: ['ping', 'system'],
        approvals: true,
        hosts: [],
        skills: [{ id: 'log.write' }, { id: 'node.ping' }, { id: 'system.run' }],
      },
    });
    for (const { id } of data)
      expect(await workspace.api.call('installAutomationSkill', { body: { packId: id } })).toMatchObject({
        installed: true,
        pack: { id, installedVersion: '1.0.0' },
      });
    const paged = await workspace.api.call('listAutomationSkills', { query: { limit: 4 } });
    expect(
      (
        await workspace.api.call('listAutomationSkills', {
          query: { limit: 4, cursor: paged.meta.nextCursor as string },
        })
      ).data.map(({ id }) => id),
    ).toEqual(['maintenance-command', 'site-uptime-watch', 'weekly-run-digest']);
  });

  test('create a workflow from their inputs, and reject invalid inputs with their names', async () => {
    const node = '01890000-0000-7000-8000-000000000001';
    const make = (packId: string, inputs: Record<string, unknown>) =>
      request('POST', `/v1/automations/skills/${packId}/workflow`, { inputs });
    const digest = await make('weekly-run-digest', { timezone: 'Europe/Berlin' });
    expect(digest.body).toMatchObject({
      name: 'Weekly run digest',
      triggerJson: { schedule: { cron: '0 8 * * MON', timezone: 'Europe/Berlin' } },
    });
    // A step whose input is empty is omitted. With the input, the step exists.
    expect((digest.body['stepsJson'] as unknown[]).length).toBe(3);
    expect(
      ((await make('weekly-run-digest', { email: 'ann@example.org' })).body['stepsJson'] as unknown[]).length,
    ).toBe(4);
    expect((await make('maintenance-command', { nodeId: node, argv: ['df', '-h'] })).body).toMatchObject({
      stepsJson: [{}, { input: { nodeId: node, argv: ['df', '-h'] } }, {}],
    });
    expect((await make('file-drop-watcher', { path: '/tmp', everySeconds: 5 })).body).toMatchObject({
      statusCode: 400,
      details: expect.arrayContaining([
        { path: 'body.inputs.nodeId', message: 'is required' },
        { path: 'body.inputs.everySeconds', message: 'must be at least 10' },
      ]) as unknown,
    });
    expect(
      (await make('weekly-run-digest', { cron: '99 * * * *', other: 1, timezone: 'Nowhere' })).body.details?.map(
        ({ path }) => path,
      ),
    ).toEqual(['body.inputs.other', 'body.inputs.cron', 'body.inputs.timezone']);
    // An input is used as a value, never as a template.
    expect(
      (await make('site-uptime-watch', { nodeId: node, url: 'https://a.example/{{context}}' })).body,
    ).toMatchObject({ details: [{ path: 'body.inputs.url', message: 'must not contain {{' }] });
  });

  test('can be used only after they are installed', async () => {
    const own = await hub.workspace();
    expect((await request('POST', '/v1/automations/skills/weekly-run-digest/workflow', {}, own)).body).toMatchObject({
      statusCode: 409,
      code: 'pack_not_installed',
    });
    expect((await request('POST', '/v1/automations/skills/no-such-pack/workflow', {}, own)).status).toBe(404);
    expect(
      (await request('POST', '/v1/automations/skills/install', { packId: 'weekly-run-digest', version: '9.9.9' }, own))
        .status,
    ).toBe(404);
  });
});

describe('a pack of a workspace', () => {
  test('is checked, published once per version, visible in its own workspace only, and used', async () => {
    const check = await workspace.api.call('postAutomationSkillSdk', { body: { manifest: manifest() as never } });
    expect(check).toMatchObject({
      valid: true,
      errors: [],
      published: null,
      grants: { skills: [{ id: 'log.write' }] },
    });
    expect((await workspace.api.call('listAutomationSkills', {})).data.length).toBe(7);
    expect(
      await workspace.api.call('postAutomationSkillSdk', { body: { manifest: manifest() as never, publish: true } }),
    ).toMatchObject({ published: { packId: 'hello-pack', version: '1.0.0' } });
    expect(
      (await request('POST', '/v1/automations/skills/sdk', { manifest: manifest(), publish: true })).body,
    ).toMatchObject({ statusCode: 409, code: 'conflict' });
    expect(
      (
        await request('POST', '/v1/automations/skills/sdk', {
          manifest: manifest({ id: 'weekly-run-digest' }),
          publish: true,
        })
      ).body,
    ).toMatchObject({ statusCode: 409 });
    await workspace.api.call('postAutomationSkillSdk', {
      body: { manifest: manifest({ version: '1.10.0', name: 'Newer' }) as never, publish: true },
    });
    await workspace.api.call('postAutomationSkillSdk', {
      body: { manifest: manifest({ version: '1.9.0' }) as never, publish: true },
    });
    const listed = (await workspace.api.call('listAutomationSkills', {})).data.find(({ id }) => id === 'hello-pack');
    expect(listed).toMatchObject({ version: '1.10.0', source: 'published', installedVersion: null });
    await workspace.api.call('installAutomationSkill', { body: { packId: 'hello-pack', version: '1.9.0' } });
    const workflow = await workspace.api.call('createAutomationSkillWorkflow', {
      params: { packId: 'hello-pack' },
      body: { name: 'Mine', inputs: { who: 'Ann' } },
    });
    expect(workflow).toMatchObject({ name: 'Mine', stepsJson: [{ message: 'Hello Ann' }] });
    const params = { packId: 'hello-pack' };
    expect(await workspace.api.call('getAutomationSkillPack', { params })).toMatchObject({
      name: 'Newer',
      version: '1.10.0',
      installedVersion: '1.9.0',
      grants: { skills: [{ id: 'log.write' }], hosts: [] },
      versions: ['1.10.0', '1.9.0', '1.0.0'].map((version) => ({ version, withdrawn: false })),
    });
    const madeFrom = async (pack: string) =>
      (await workspace.api.call('listAutomationWorkflowSummaries', { query: { pack } })).data.map(({ id }) => id);
    expect(await madeFrom('hello-pack')).toEqual([workflow.id]);
    expect(await madeFrom('no-such-pack')).toEqual([]);
    const otherWorkspace = await hub.workspace();
    expect(
      (await request('POST', '/v1/automations/skills/install', { packId: 'hello-pack' }, otherWorkspace)).status,
    ).toBe(404);
    expect((await request('GET', '/v1/automations/packs/hello-pack', undefined, otherWorkspace)).status).toBe(404);
  });

  test.each([
    ['a skill that it does not declare', manifest({ skills: [] }), 'skills'],
    ['a skill that it declares and does not use', manifest({ skills: ['log.write', 'memory.read'] }), 'skills[1]'],
    [
      'a skill that packs may not use',
      manifest(
        { skills: ['log.write', 'subagent.spawn'] },
        {
          steps: [
            { type: 'log', message: 'x' },
            { type: 'skill', skillId: 'subagent.spawn', input: { workflowId: '01890000-0000-7000-8000-000000000000' } },
          ],
        },
      ),
      'skills[1]',
    ],
    [
      'a skill that there is not',
      manifest({}, { steps: [{ type: 'skill', skillId: 'no.such' }] }),
      'graph.steps[0].skillId',
    ],
    [
      'a host that it does not declare',
      manifest(
        { skills: ['webhook.deliver'] },
        { steps: [{ type: 'skill', skillId: 'webhook.deliver', input: { url: 'https://evil.example/x' } }] },
      ),
      'graph.steps[0].input.url',
    ],
    [
      'a host that hides in a user name',
      manifest(
        { skills: ['webhook.deliver'], hosts: ['good.example'] },
        {
          steps: [{ type: 'skill', skillId: 'webhook.deliver', input: { url: 'https://good.example@evil.example/' } }],
        },
      ),
      'graph.steps[0].input.url',
    ],
    [
      'a host that the payload names',
      manifest(
        { skills: ['webhook.deliver'], hosts: ['good.example'] },
        { steps: [{ type: 'skill', skillId: 'webhook.deliver', input: { url: '{{payload.url}}' } }] },
      ),
      'graph.steps[0].input.url',
    ],
    [
      'a host that follows an input',
      manifest(
        { skills: ['webhook.deliver'], hosts: ['inputs.url'] },
        { steps: [{ type: 'skill', skillId: 'webhook.deliver', input: { url: '{{inputs.url}}.evil.example/' } }] },
      ),
      'graph.steps[0].input.url',
    ],
    [
      'a script in a page',
      manifest(
        { skills: ['browser.evaluate'], nodePowers: ['browser'] },
        {
          steps: [
            {
              type: 'skill',
              skillId: 'browser.evaluate',
              input: { nodeId: '01890000-0000-7000-8000-000000000000', expression: '1' },
            },
          ],
        },
      ),
      'skills[0]',
    ],
    [
      'a host that is put together',
      manifest(
        { skills: ['webhook.deliver'], hosts: ['good.example'] },
        {
          steps: [
            { type: 'skill', skillId: 'webhook.deliver', input: { url: 'https://good.example{{payload.rest}}' } },
          ],
        },
      ),
      'graph.steps[0].input.url',
    ],
    [
      'a power over nodes that it does not declare',
      manifest(
        { skills: ['node.ping'] },
        { steps: [{ type: 'skill', skillId: 'node.ping', input: { nodeId: '01890000-0000-7000-8000-000000000000' } }] },
      ),
      'graph.steps[0].skillId',
    ],
    [
      'an agent of the workspace',
      manifest(
        { skills: ['ai.invoke'] },
        { steps: [{ type: 'agent', prompt: 'x', toolProfileId: '01890000-0000-7000-8000-000000000000' }] },
      ),
      'graph.steps[0].toolProfileId',
    ],
    [
      'an input that it does not have',
      manifest({}, { steps: [{ type: 'log', message: '{{inputs.other}}' }] }),
      'graph.steps[0].message',
    ],
    ['a trigger that there is not', manifest({}, { trigger: { type: 'moon' } }), 'graph.trigger.type'],
    ['a version that is none', manifest({ version: 'new' }), 'version'],
    ['an unknown field', manifest({ sudo: true }), ''],
    ...hostile.map(
      ([what, url, hosts = ['good.example']]) =>
        [
          `a call to ${what}`,
          manifest(
            { skills: ['webhook.deliver'], hosts },
            { steps: [{ type: 'skill', skillId: 'webhook.deliver', input: { url } }] },
          ),
          'graph.steps[0].input.url',
        ] as [string, Record<string, unknown>, string],
    ),
    [
      'a picture of a host that it does not declare',
      manifest(
        { skills: ['channel.deliver'], hosts: ['good.example'] },
        {
          steps: [
            {
              type: 'deliver',
              provider: 'slack',
              to: 'x',
              text: 'x',
              mediaUrl: 'https://good.example:80@evil.example/',
            },
          ],
        },
      ),
      'graph.steps[0].mediaUrl',
    ],
    [
      'a skill that an input names',
      manifest(
        {
          inputsSchema: { properties: { mode: { type: 'string', title: 'Mode', default: 'node.ping' } } },
          skills: ['node.ping'],
          nodePowers: ['ping'],
        },
        {
          steps: [
            { type: 'skill', skillId: '{{inputs.mode}}', input: { nodeId: '01890000-0000-7000-8000-000000000000' } },
          ],
        },
      ),
      'graph.steps[0].skillId',
    ],
    [
      'a kind of step that an input names',
      manifest(
        { inputsSchema: { properties: { kind: { type: 'string', title: 'Kind', default: 'log' } } } },
        { steps: [{ type: '{{inputs.kind}}', message: 'x' }] },
      ),
      'graph.steps[0].type',
    ],
    ['a host that is none', manifest({ hosts: ['https://good.example/'] }), 'hosts[0]'],
    [
      'a webhook token that everybody can read',
      manifest({}, { trigger: { type: 'webhook', webhook: { token: 'known-to-its-publisher' } } }),
      'graph.trigger.webhook.token',
    ],
  ] as [string, Record<string, unknown>, string][])('with %s is rejected with the path', async (_name, wrong, path) => {
    const check = await workspace.api.call('postAutomationSkillSdk', { body: { manifest: wrong as never } });
    expect(check.valid).toBe(false);
    expect(check.errors.map((error) => error.path)).toContain(path);
    const publish = await request('POST', '/v1/automations/skills/sdk', { manifest: wrong, publish: true });
    expect(publish.body).toMatchObject({ statusCode: 400, code: 'pack_invalid' });
    expect(publish.body.details?.map((detail) => detail.path)).toContain(`body.manifest.${path}`);
  });

  test.each([
    'https://good.example',
    'https://good.example/',
    'HTTPS://GOOD.example/a?b=c#d',
    'http://good.example:80/',
    'https://good.example/{{payload.path}}',
    'https://good.example?q={{payload.q}}',
    'https://other.example:8443/',
  ])('can call %s of a declared host', async (url) => {
    const fitting = manifest(
      { skills: ['webhook.deliver'], hosts: ['good.example', 'other.example:8443'] },
      { steps: [{ type: 'skill', skillId: 'webhook.deliver', input: { url } }] },
    );
    expect(await workspace.api.call('postAutomationSkillSdk', { body: { manifest: fitting as never } })).toMatchObject({
      valid: true,
      errors: [],
    });
  });

  async function install(id: string, more: Record<string, unknown>, graph: Record<string, unknown>): Promise<string> {
    await workspace.api.call('postAutomationSkillSdk', {
      body: { manifest: manifest({ id, ...more }, graph) as never, publish: true },
    });
    await workspace.api.call('installAutomationSkill', { body: { packId: id } });
    return id;
  }

  test('treats its inputs as values in every combination', async () => {
    const inputs = { properties: { a: { type: 'string', title: 'A' }, b: { type: 'string', title: 'B' } } };
    const id = await install(
      'breaking-pack',
      { inputsSchema: inputs },
      { steps: [{ type: 'log', message: 'x {{{inputs.a}} {{inputs.a}}{{inputs.b}} {{payload.x}}' }] },
    );
    const make = (given: { a: string; b?: string }) =>
      request('POST', `/v1/automations/skills/${id}/workflow`, { inputs: given });
    for (const given of [{ a: '{context}}' }, { a: '{', b: '{context}}' }, { a: 'x}} {', b: '{context}}' }])
      expect((await make(given)).body).toMatchObject({
        statusCode: 400,
        code: 'validation_failed',
        details: [{ path: 'body.inputs' }],
      });
    expect((await make({ a: '[]', b: '}' })).body).toMatchObject({
      stepsJson: [{ message: 'x {[] []} {{payload.x}}' }],
    });
  });

  test('has size limits that include its inputs', async () => {
    const id = await install(
      'growing-pack',
      { inputsSchema: { properties: { a: { type: 'string', title: 'A' } } } },
      { steps: [{ type: 'log', message: '{{inputs.a}}'.repeat(800) }] },
    );
    expect(
      (await request('POST', `/v1/automations/skills/${id}/workflow`, { inputs: { a: 'x'.repeat(100_000) } })).body,
    ).toMatchObject({ statusCode: 400, details: [{ message: expect.stringContaining('longer than') as string }] });
  });

  test('calls the host of its input and no other, also after its workflow is edited', async () => {
    const id = await install(
      'calling-pack',
      { skills: ['webhook.deliver'], hosts: ['inputs.url'] },
      {
        steps: [
          { type: 'skill', skillId: 'webhook.deliver', input: { url: '{{inputs.url}}' }, retry: { maxAttempts: 1 } },
        ],
      },
    );
    const made = await workspace.api.call('createAutomationSkillWorkflow', {
      params: { packId: id },
      body: { inputs: { who: 'x', url: 'http://127.0.0.1:9/in' } },
    });
    const run = async (payload: Record<string, unknown> = {}) => {
      const { runId } = startedRun(
        await workspace.api.call('runAutomationWorkflow', { params: { id: made.id }, body: { payload } }),
      );
      return (await settledRun(workspace.api, runId)).error?.code;
    };
    // The egress guard of the hub refuses this request.
    expect(await run()).toBe('egress_refused');
    const edit = (steps: unknown[]) =>
      workspace.api.call('updateAutomationWorkflow', { params: { id: made.id }, body: { stepsJson: steps as never } });
    await edit([{ type: 'skill', skillId: 'webhook.deliver', input: { url: 'http://127.0.0.1:{{payload.port}}/' } }]);
    expect(await run({ port: 9 })).toBe('egress_refused');
    expect(await run({ port: 10 })).toBe('pack_grant_exceeded');
    expect(await run({ port: '9@evil.example' })).toBe('pack_grant_exceeded');
    await edit([{ type: 'log', message: 'more than it was granted' }]);
    expect(await run()).toBe('pack_grant_exceeded');
    await edit([{ type: 'agent', prompt: 'more' }]);
    expect(await run()).toBe('pack_grant_exceeded');
  });

  test('that created a workflow before grants existed gives it no powers, and the error says to create it again', async () => {
    const id = await install('older-pack', {}, {});
    const make = async () =>
      (
        await workspace.api.call('createAutomationSkillWorkflow', {
          params: { packId: id },
          body: { inputs: { who: 'x' } },
        })
      ).id;
    const run = async (workflowId: string) => {
      const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id: workflowId } }));
      const { status, error } = await settledRun(workspace.api, runId);
      return { status, error };
    };
    const older = await make();
    await removePackGrants(hub.database, older);
    expect(await run(older)).toMatchObject({
      status: 'failed',
      error: {
        code: 'pack_not_granted',
        message: expect.stringContaining('POST /v1/automations/skills/older-pack/workflow') as string,
      },
    });
    expect(await run(await make())).toMatchObject({ status: 'succeeded' });
  });

  test('is validated by the schema of the SDK, with every skill', async () => {
    const sdk = await workspace.api.call('getAutomationSkillSdk', {});
    expect(sdk.manifest).toMatchObject({
      type: 'object',
      required: expect.arrayContaining(['id', 'version', 'skills', 'graph']) as unknown,
    });
    expect(sdk.skills.find(({ id }) => id === 'email.send')).toMatchObject({
      requires: ['business_email'],
      allowedInPacks: true,
      input: { required: expect.arrayContaining(['to', 'subject']) as unknown },
    });
    expect(sdk.skills.find(({ id }) => id === 'subagent.spawn')?.allowedInPacks).toBe(false);
  });
});
