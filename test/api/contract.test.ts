import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { z } from 'zod';
import { openApiDocument } from '../../hub/platform/http/openapi/document.ts';
import { voiceSockets } from '../../shared/contract/ai/voice.ts';
import { operations } from '../../shared/contract/api.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { sipSockets } from '../../shared/contract/calls/sip-socket.ts';
import { chatSockets } from '../../shared/contract/chat/live.ts';
import { allowsCaller, productPermissions } from '../../shared/contract/define.ts';
import type { Operation } from '../../shared/contract/define.ts';
import { nodeChannel } from '../../shared/contract/nodes/channel.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { authorization, missingId, pathOf, send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { queryAsWorkspace, removeRowsOfOtherWorkspaces } from '../fixtures/stage/core.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let other: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', SIGN_IN_RATE_LIMIT_PER_MINUTE: '100000' });
  workspace = await hub.workspace();
  other = await hub.workspace();
  const { visitorToken: token, siteKey } = await hub
    .client(workspace.keys.chat)
    .call('createChatSession', { body: { externalId: 'somebody' } });
  workspace.visitorToken = (await hub.client().call('openVisitorSession', { body: { siteKey, token } })).token;
});
afterAll(() => hub[Symbol.asyncDispose]());

const document = openApiDocument() as {
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
};
const named = (list: readonly Operation[]) =>
  list.map((operation) => [`${operation.method} ${operation.path}`, operation] as const);
const params = () => ({ tenantId: workspace.tenantId });
const sockets: Operation[] = Object.values({ ...voiceSockets, ...sipSockets, ...nodeChannel, ...chatSockets });
const guarded = operations.filter((operation) => !allowsCaller(operation, 'public', 'pairing'));
const tokened = operations.filter(
  (operation) => allowsCaller(operation, 'token', 'hook') && operation.permission !== undefined,
);

function expectError(answer: Awaited<ReturnType<typeof send>>, status: number, code?: string): void {
  expect(answer.body).toMatchObject({
    statusCode: status,
    error: expect.any(String) as string,
    message: expect.any(String) as string,
    requestId: answer.headers.get('x-request-id') as string,
    code: code ?? (expect.any(String) as string),
  });
  expect(answer.status).toBe(status);
}

describe('every operation', () => {
  test.each(named(guarded))('%s answers 401 without credentials', async (_name, operation) => {
    expectError(await send(hub.url, operation.method, pathOf(operation, params())), 401);
  });

  test.each(named(guarded))('%s answers 401 to invalid credentials', async (_name, operation) => {
    for (const token of [
      'nonsense',
      'key_live_automations_abcdefgh_'.padEnd(79, 'A'),
      'eyJhbGciOiJub25lIn0.eyJqdGkiOiJ4In0.',
    ]) {
      expectError(
        await send(hub.url, operation.method, pathOf(operation, params()), {
          headers: { authorization: `Bearer ${token}` },
        }),
        401,
      );
    }
  });

  test.each(named(tokened))(
    '%s answers 403 to a key of another product or without the permission',
    async (_name, operation) => {
      const isOfVoice = productPermissions.voice.some((permission) => permission === operation.permission);
      const product = isOfVoice ? 'automations' : 'voice';
      const wrong = await workspace.createKey({ product });
      expectError(
        await send(hub.url, operation.method, pathOf(operation), { headers: { 'x-api-key': wrong.key } }),
        403,
        'wrong_product',
      );
    },
  );

  test.each(named(operations))('%s answers 405 with Allow for another method', async (_name, operation) => {
    const declared = operations.filter(({ path }) => path === operation.path).map(({ method }) => method as string);
    const method = ['PUT', 'DELETE', 'PATCH', 'POST'].find((candidate) => !declared.includes(candidate)) as string;
    const answer = await send(hub.url, method, pathOf(operation, params()));
    expectError(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('allow')?.split(', ').toSorted()).toEqual(declared.toSorted());
  });

  test.each(named(operations.filter(({ query }) => query !== undefined && 'limit' in query.shape)))(
    '%s rejects limits out of range, unknown and repeated query fields',
    async (_name, operation) => {
      const headers = authorization(operation, workspace);
      const needed = Object.entries((operation.query as z.ZodObject).shape)
        .filter(([, schema]) => !(schema as z.ZodType).safeParse(undefined).success)
        .map(([name]) => `&${name}=x`)
        .join('');
      for (const [query, path] of [
        ['limit=0', 'query.limit'],
        ['limit=101', 'query.limit'],
        ['limit=abc', 'query.limit'],
        ['limit=1&limit=2', 'query.limit'],
        ['no_such=1', 'query.no_such'],
        ['cursor=made-up', 'query.cursor'],
      ] as const) {
        const answer = await send(hub.url, operation.method, `${pathOf(operation, params())}?${query}${needed}`, {
          headers,
        });
        expectError(answer, 400);
        expect(answer.body.details?.map((detail) => detail.path)).toEqual([path]);
      }
    },
  );

  test.each(
    named(operations.filter((operation) => operation.body !== undefined && !allowsCaller(operation, 'device'))),
  )('%s rejects bodies that are not JSON, too large or of the wrong shape', async (_name, operation) => {
    const headers = authorization(operation, workspace);
    const path = pathOf(operation, params());
    const json = { ...headers, 'content-type': 'application/json' };
    expectError(await send(hub.url, operation.method, path, { headers: json, raw: '{"a":' }), 400, 'invalid_json');
    expectError(
      await send(hub.url, operation.method, path, { headers: json, raw: Buffer.from([0x22, 0xff, 0xfe, 0x22]) }),
      400,
      'invalid_json',
    );
    expectError(
      await send(hub.url, operation.method, path, { headers: json, raw: '{"__proto__":{"x":1}}' }),
      400,
      'invalid_json',
    );
    expectError(
      await send(hub.url, operation.method, path, {
        headers: { ...headers, 'content-type': 'text/plain' },
        raw: 'x',
      }),
      415,
      'unsupported_media_type',
    );
    expectError(
      await send(hub.url, operation.method, path, {
        headers: json,
        raw: `"${'x'.repeat((operation.bodyLimitBytes ?? 1024 * 1024) + 1)}"`,
      }),
      413,
      'payload_too_large',
    );
    // The message of a provider has any shape.
    const isOpen = operation.id === 'receiveAutomationChannelMessage';
    for (const body of [[], 'text', 5, true, ...(isOpen ? [] : [{ no_such_field: 1 }])]) {
      const answer = await send(hub.url, operation.method, path, { headers, body });
      expectError(answer, 400, 'validation_failed');
      expect(answer.body.details?.length).toBeGreaterThan(0);
    }
  });

  test.each(named(operations.filter(({ params: shape }) => shape !== undefined)))(
    '%s answers 400 for an invalid id',
    async (_name, operation) => {
      const answer = await send(
        hub.url,
        operation.method,
        pathOf(operation, {
          id: 'x',
          commandId: 'x',
          tenantId: 'x',
          packId: 'Not a pack',
          modelId: 'Not a model',
          resource: 'x',
        }),
        { headers: authorization(operation, workspace) },
      );
      expectError(answer, 400, 'validation_failed');
    },
  );

  test.each(named(operations))('%s documents its errors', (_name, operation) => {
    const described = document.paths[operation.path]?.[operation.method.toLowerCase()];
    expect(described?.operationId).toBe(operation.id);
    if (!allowsCaller(operation, 'public', 'pairing')) expect(described?.responses).toHaveProperty('401');
  });
});

describe('an API key of another workspace', () => {
  /** A valid body for each operation, so that only the id is invalid. */
  const bodies: Record<string, unknown> = {
    updateAutomationWorkflow: { name: 'x' },
    runAutomationWorkflow: {},
    decideAutomationApproval: { decision: 'approved' },
    appendAutomationSessionMessage: { role: 'user', content: 'x' },
    updateAutomationNode: { name: 'x' },
    updateAutomationSequence: { name: 'x' },
    updateAutomationAgent: { name: 'x' },
    sendChatMessage: { content: 'x' },
    updateWebhook: { description: 'x' },
    replayWebhook: { since: '2026-01-01T00:00:00Z' },
  };

  async function ids(): Promise<Record<string, string>> {
    const workflow = await other.api.call('createAutomationWorkflow', {
      body: { name: 'theirs', stepsJson: [{ type: 'approval', title: 'ok?' }] },
    });
    const { runId } = startedRun(await other.api.call('runAutomationWorkflow', { params: { id: workflow.id } }));
    await settledRun(other.api, runId);
    const { data } = await other.api.call('listAutomationApprovals', {});
    const node = await other.api.call('createAutomationNode', { body: {} });
    const steps = [{ type: 'log' as const, message: 'x' }];
    const sequence = await other.api.call('createAutomationSequence', { body: { name: 'theirs', steps } });
    const session = await other.api.call('createAutomationSession', { body: { scope: 'dm', key: 'theirs' } });
    const agent = await other.api.call('createAutomationAgent', { body: { name: 'theirs' } });
    const theirChat = hub.client(other.keys.chat as string);
    const conversation = await theirChat.call('createChatConversation', { body: { name: 'theirs' } });
    const webhook = await theirChat.call('createWebhook', {
      params: { tenantId: other.tenantId },
      body: { url: 'https://example.org/hook', events: ['message.created'] },
    });
    const { flowId } = await other.api.call('getAutomationRun', { params: { id: runId } });
    return {
      sequences: sequence.id,
      sessions: session.id,
      agents: agent.id,
      conversations: conversation.id,
      webhooks: webhook.id,
      flows: flowId,
      workflows: workflow.id,
      runs: runId,
      approvals: data[0]?.id as string,
      nodes: node.nodeId,
      artifacts: missingId,
    };
  }

  test('finds no resource of this workspace by id, and the response reveals nothing', async () => {
    const theirs = await ids();
    // Planned operations look up nothing.
    const probed = operations.filter(
      ({ errors = [], ...operation }) =>
        allowsCaller(operation, 'token') && operation.path.includes('{id}') && !errors.includes('not_available'),
    );
    expect(probed.length).toBeGreaterThan(8);
    for (const operation of probed) {
      const kind = /(\w+)\/\{id\}/.exec(operation.path)?.[1] as string;
      for (const caller of operation.callers) {
        const headers = authorization(operation, workspace, 'none', caller);
        const probe = (id: string) =>
          send(hub.url, operation.method, pathOf(operation, { tenantId: workspace.tenantId, id }), {
            headers,
            ...(operation.body === undefined ? {} : { body: bodies[operation.id] ?? {} }),
          });
        const [foreign, unknown] = await Promise.all([probe(theirs[kind] as string), probe(missingId)]);
        expectError(foreign, 404, 'not_found');
        expect(foreign.body.message?.replaceAll(theirs[kind] as string, 'ID').replaceAll(missingId, 'ID')).toBe(
          unknown.body.message?.replaceAll(missingId, 'ID'),
        );
      }
    }
    for (const operation of operations.filter(
      (each) => allowsCaller(each, 'session') && each.path.includes('{tenantId}'),
    )) {
      const body =
        operation.id === 'createApiToken'
          ? { name: 'x', product: 'chat', permissions: ['chat:read'] }
          : { email: 'a@b.co', password: '0123456789ab' };
      expectError(
        await send(hub.url, operation.method, pathOf(operation, { tenantId: other.tenantId }), {
          headers: authorization(operation, workspace),
          ...(operation.body === undefined ? {} : { body }),
        }),
        404,
        'not_found',
      );
    }
  });

  test('receives no row from a query without a workspace filter', async () => {
    await ids();
    const tables = await hub.database.query<{ name: string; secured: boolean; is_part: boolean }>(
      `select c.relname as name, c.relrowsecurity as secured, c.relispartition as is_part from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
       where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace`,
    );
    expect(tables.length).toBeGreaterThan(15);
    expect(tables.filter(({ secured }) => !secured)).toEqual([]);
    const counts: Record<string, number> = {};
    for (const { name, is_part: isPart } of tables) {
      if (isPart) {
        await expect(asWorkspace(`select tenant_id from ${name}`)).rejects.toThrow(/permission denied/);
        continue;
      }
      const [all] = await hub.database.query<{ count: number }>(
        `select count(*)::int as count from ${name} where tenant_id <> $1`,
        [workspace.tenantId],
      );
      counts[name] = all?.count ?? 0;
      const seen = await asWorkspace(`select tenant_id from ${name}`);
      expect(seen.filter((row) => row.tenant_id !== workspace.tenantId)).toEqual([]);
      // A role without the right to delete also passes. The rows are not counted again: the hub itself removes rows.
      const removed = await removeRowsOfOtherWorkspaces(hub.database, workspace.tenantId, name).catch(
        (error: Error) => {
          expect(error.message).toMatch(/permission denied/);
          return 0;
        },
      );
      expect(removed).toBe(0);
    }
    // Otherwise the test could not detect a leak.
    expect(
      ['workflows', 'runs', 'run_steps', 'approvals', 'nodes', 'users', 'api_tokens', 'audit_log'].filter(
        (name) => counts[name] === 0,
      ),
    ).toEqual([]);
    expect(await asWorkspace('select id from tenants')).toEqual([{ id: workspace.tenantId }]);
    await expect(asWorkspace('select * from rate_limits')).rejects.toThrow(/permission denied/);
  });

  const asWorkspace = (query: string) =>
    queryAsWorkspace<{ tenant_id?: string; id?: string }>(hub.database, workspace.tenantId, query);
});

describe('the HTTP layer', () => {
  test('keeps a valid request id and replaces an invalid one', async () => {
    const kept = await send(hub.url, 'GET', '/healthz', { headers: { 'x-request-id': 'abc.DEF-1_2' } });
    expect(kept.headers.get('x-request-id')).toBe('abc.DEF-1_2');
    const replaced = await send(hub.url, 'GET', '/nowhere', { headers: { 'x-request-id': 'a b<script>' } });
    expect(replaced.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expectError(replaced, 404, 'not_found');
  });

  test.each(named(sockets))('%s returns the request id when the WebSocket opens', async (_name, operation) => {
    const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
    const device = { name: 'd', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] };
    const { deviceSecret } = await hub.client().call('claimAutomationNode', { body: { pairingCode, device } });
    const path = pathOf(operation, { ...params(), id: nodeId });
    const socket = new WebSocket(`${hub.url.replace('http', 'ws')}${path}`, operation.socket?.protocol, {
      headers: { ...authorization(operation, workspace, deviceSecret), 'x-request-id': 'my-own.id_1' },
    });
    const [response] = (await once(socket, 'upgrade')) as [IncomingMessage];
    socket.terminate();
    expect([response.statusCode, response.headers['x-request-id']]).toEqual([101, 'my-own.id_1']);
  });

  test('sends security headers and does not reveal the server software', async () => {
    const { headers } = await send(hub.url, 'GET', '/');
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("default-src 'self'");
  });

  test('returns the OpenAPI document of its version', async () => {
    expect((await send(hub.url, 'GET', '/openapi.json')).body).toEqual(JSON.parse(JSON.stringify(document)));
  });

  test('lists its public address as the first server, then production and staging with a host variable', async () => {
    await using addressed = await startHub({ PUBLIC_URL: 'https://hub.example.org' }, hub.database);
    const { servers } = (await send(addressed.url, 'GET', '/openapi.json')).body as unknown as {
      servers: { url: string; description: string; variables?: object }[];
    };
    expect(servers.map(({ url, description, variables }) => [url, description, Object.keys(variables ?? {})])).toEqual([
      ['https://hub.example.org', 'This hub', []],
      ['https://{host}', 'Production', ['host']],
      ['https://{host}', 'Staging', ['host']],
    ]);
  });

  test('reports health, readiness and metrics', async () => {
    expect((await send(hub.url, 'GET', '/healthz')).body).toMatchObject({ status: 'ok' });
    // A part that takes longer than 2 s counts as unavailable, which happens on a busy machine.
    await expect
      .poll(async () => (await send(hub.url, 'GET', '/readyz')).body)
      .toEqual({
        status: 'ready',
        parts: { database: { ok: true }, queue: { ok: true }, artifacts: { ok: true }, pages: { ok: true } },
      });
    expect((await send(hub.url, 'GET', '/metrics')).text).toContain('outrigger_http_request_seconds_bucket');
  });

  test('answers 400 for a path that cannot be decoded, and continues', async () => {
    expectError(await send(hub.url, 'GET', '/v1/automations/runs/%E0%A4%A'), 400);
    expect((await send(hub.url, 'GET', '/healthz')).status).toBe(200);
  });
});
