import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations } from '../../shared/contract/api.ts';
import {
  acceptedPermissions,
  permissionSummaries,
  productPermissions,
  allowsCaller,
} from '../../shared/contract/define.ts';
import type { Operation, Permission } from '../../shared/contract/define.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { pathOf, send } from '../fixtures/requests.ts';

let hub: TestHub;
let workspace: TestWorkspace;
const keys = {} as Record<Permission, string>;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  workspace = await hub.workspace();
  for (const permission of productPermissions.automations)
    keys[permission] = (await workspace.createKey({ permissions: [permission] })).key;
});
afterAll(() => hub[Symbol.asyncDispose]());

const ofAutomations = operations.filter(
  ({ permission }) => permission !== undefined && productPermissions.automations.includes(permission),
);
const named = (list: readonly Operation[]) => list.map((operation) => [operation.id, operation] as const);

/**
 * The permission of an operation without an exception: `automations:read` for reads, `automations:manage` for changes.
 */
const running = [
  'runAutomationWorkflow',
  'runAutomationSequence',
  'runAutomationSkill',
  'cancelAutomationRun',
  'cancelAutomationRuns',
  'retryAutomationRun',
  'retryAutomationRuns',
  'replayAutomationRun',
  'inboundAutomationHook',
  'receiveAutomationChannelMessage',
];
function expected({ id, method }: Operation): Permission[] {
  if (id === 'decideAutomationApproval') return ['automations:manage', 'approvals:decide'];
  if (['listAutomationApprovals', 'listAutomationApprovalSummaries', 'getAutomationApproval'].includes(id))
    return ['automations:manage', 'automations:read', 'approvals:decide'];
  if (running.includes(id)) return ['automations:manage', 'automations:run'];
  // A preview computes the next fires and changes nothing.
  if (method === 'GET' || id === 'previewAutomationSchedule') return ['automations:manage', 'automations:read'];
  return ['automations:manage'];
}

describe('a key of Automations', () => {
  test.each(named(ofAutomations))(
    '%s accepts the permissions that contain it, and no others',
    async (_id, operation) => {
      expect(acceptedPermissions(operation)).toEqual(expected(operation));
      for (const permission of productPermissions.automations) {
        const { body } = await send(hub.url, operation.method, pathOf(operation), {
          headers: { 'x-api-key': keys[permission] },
          ...(operation.body === undefined ? {} : { body: { nonsense: true } }),
        });
        expect([permission, body.code === 'missing_permission']).toEqual([
          permission,
          !expected(operation).includes(permission),
        ]);
      }
    },
  );

  test('reads its permissions from GET /v1/me', async () => {
    const { key } = await workspace.createKey({ permissions: ['automations:read', 'approvals:decide'] });
    expect(await hub.client(key).call('readToken')).toMatchObject({
      permissions: ['automations:read', 'approvals:decide'],
    });
  });

  test('finds the permissions of an operation in the OpenAPI document', async () => {
    const { body } = await send(hub.url, 'GET', '/openapi.json');
    const paths = body['paths'] as Record<string, Record<string, { description: string }>>;
    const description = paths['/v1/automations/approvals']?.['get']?.description;
    for (const permission of ['automations:manage', 'automations:read', 'approvals:decide'])
      expect(description).toContain(`\`${permission}\``);
  });

  test('every permission has a summary for the command line', () => {
    expect(Object.keys(permissionSummaries)).toEqual(Object.values(productPermissions).flat());
  });
});

test('every operation of API keys that users can also call names a permission', () => {
  const unnamed = operations.filter(
    (operation) => allowsCaller(operation, 'token') && operation.permission === undefined,
  );
  expect(unnamed.map(({ id }) => id)).toEqual(['readToken']);
});

describe('a webhook token, which starts runs', () => {
  const token = 'a-secret-token-of-a-webhook';
  const triggerJson = { type: 'webhook', webhook: { token } } as never;
  const member = async () => {
    const person = { email: `agent.${process.hrtime.bigint()}@example.org`, password: 'correct horse battery' };
    await workspace.session.call('addMember', {
      params: { tenantId: workspace.tenantId },
      body: { ...person, role: 'agent' },
    });
    return hub.client((await hub.client().call('logIn', { body: person })).token);
  };

  test('is shown to admins and to keys that may change workflows, and to no other caller', async () => {
    const created = await workspace.api.call('createAutomationWorkflow', {
      body: { name: 'w', triggerJson, stepsJson: [{ type: 'log', message: 'x' }] as never },
    });
    expect(created.triggerJson).toMatchObject({ webhook: { token } });
    const params = { id: created.id };
    const tokenOf = ({ triggerJson: shown }: typeof created) =>
      shown.type === 'webhook' ? (shown.webhook.token ?? null) : 'none';
    for (const [client, isShown] of [
      [workspace.api, true],
      [workspace.session, true],
      [await member(), false],
      [hub.client(keys['automations:read']), false],
    ] as const) {
      expect(tokenOf(await client.call('getAutomationWorkflow', { params }))).toBe(isShown ? token : null);
      const { data } = await client.call('listAutomationWorkflows');
      expect(data.filter(({ id }) => id === created.id).map(tokenOf)).toEqual([isShown ? token : null]);
    }
    const agent = await member();
    const renamed = await agent.call('updateAutomationWorkflow', { params, body: { name: 'renamed' } });
    expect(tokenOf(renamed)).toBeNull();
    // A workflow that was read without its token can be sent back. The token does not change.
    const { triggerJson: shown } = renamed;
    expect(tokenOf(await agent.call('updateAutomationWorkflow', { params, body: { triggerJson: shown } }))).toBeNull();
    expect(tokenOf(await workspace.session.call('getAutomationWorkflow', { params }))).toBe(token);
  });

  test('is created for a trigger without one, and shown to the member who saved the trigger', async () => {
    const agent = await member();
    const created = await agent.call('createAutomationWorkflow', {
      body: {
        name: 'w',
        triggerJson: { type: 'webhook', webhook: {} } as never,
        stepsJson: [{ type: 'log', message: 'x' }] as never,
      },
    });
    const made = (created.triggerJson as { webhook: { token: string } }).webhook.token;
    expect(made).toMatch(/^[\w-]{32}$/);
    const answer = await send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
      headers: { 'x-service-automation-token': made },
      body: { workflowId: created.id },
    });
    expect(answer.status).toBe(200);
  });
});
