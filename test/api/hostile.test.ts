import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../hub/platform/http/openapi/document.ts';
import { operations } from '../../shared/contract/api.ts';
import type { Operation } from '../../shared/contract/define.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { authorization, missingId, pathOf, send } from '../fixtures/requests.ts';
import { startSpeechServer } from '../fixtures/speech-server.ts';
import type { SpeechServer } from '../fixtures/speech-server.ts';
import { removeRateLimits } from '../fixtures/stage/core.ts';

interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  format?: string;
  minimum?: number;
  maximum?: number;
}

let model: ModelServer;
let speech: SpeechServer;
let hub: TestHub;
let workspace: TestWorkspace;
let device: { nodeId: string; deviceSecret: string };
beforeAll(async () => {
  [model, speech] = [await startModelServer(), await startSpeechServer()];
  hub = await startHub({
    AI_BASE_URL: model.baseUrl,
    AI_MODEL: 'alpha',
    STT_BASE_URL: speech.baseUrl,
    STT_MODEL: 'ears',
    TTS_BASE_URL: speech.baseUrl,
    TTS_MODEL: 'voice',
    RATE_LIMIT_PER_MINUTE: '1000000',
    SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000',
    HOOK_RATE_LIMIT_PER_MINUTE: '1000000',
  });
  workspace = await hub.workspace();
  device = await pair();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  await speech[Symbol.asyncDispose]();
});

async function pair(): Promise<{ nodeId: string; deviceSecret: string }> {
  const { pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
  return hub.client().call('claimAutomationNode', {
    body: {
      pairingCode,
      device: { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] },
    },
  });
}

/** Texts that often cause failures in servers. */
const nastyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    ' ',
    '\u0000',
    '\uD800',
    '{{',
    '}}',
    '{{payload}}',
    '{{constructor.constructor}}',
    '../../etc/passwd',
    "'; drop table runs; --",
    '<script>alert(1)</script>',
    '${7*7}',
    '%00',
    '١٢٣',
    '🚣'.repeat(50),
    'a'.repeat(12_000),
    missingId,
    '2026-01-01T00:00:00Z',
    'NaN',
    '1e999',
    '-0',
    'https://[::1]/',
  ),
);
const nastyValue = fc.oneof(
  { weight: 4, arbitrary: nastyText },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      null,
      true,
      false,
      0,
      -1,
      1.5,
      2 ** 53,
      -(2 ** 53),
      1e308,
      [],
      {},
      [[[[]]]],
      { length: 1e9 },
      { toString: 1 },
      { constructor: 1 },
    ),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 1, max: 120 })
      .map((depth) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown),
  },
);

/** Values that mostly fit a schema, so that invalid parts are reached deep in the validation. */
function fitting(schema: Schema, depth = 0): fc.Arbitrary<unknown> {
  const right = (): fc.Arbitrary<unknown> => {
    if (schema.$ref !== undefined)
      return fitting(document.components.schemas[schema.$ref.split('/').at(-1) as string] as Schema, depth);
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    const choices = schema.oneOf ?? schema.anyOf;
    if (choices !== undefined) return fc.oneof(...choices.map((choice) => fitting(choice, depth + 1)));
    if (schema.allOf !== undefined) return fitting(schema.allOf[0] as Schema, depth + 1);
    switch (schema.type) {
      case 'object': {
        const { properties = {}, required = [] } = schema;
        const fields = Object.fromEntries(
          Object.entries(properties).map(([name, property]) => [name, fitting(property, depth + 1)]),
        );
        if (Object.keys(fields).length === 0) return fc.dictionary(nastyText, nastyValue, { maxKeys: 4 });
        return fc.record(fields, {
          requiredKeys:
            fc.sample(fc.boolean(), { numRuns: 1, seed: depth })[0] === true
              ? required
              : Object.keys(fields).slice(0, 1),
        });
      }
      case 'array':
        return fc.array(fitting(schema.items ?? {}, depth + 1), { maxLength: 3 });
      case 'integer':
      case 'number':
        return fc.integer({
          min: Math.floor(Math.max(schema.minimum ?? 0, -1000)) - 1,
          max: Math.ceil(Math.min(schema.maximum ?? 1000, 100_000)) + 1,
        });
      case 'boolean':
        return fc.boolean();
      case 'string':
        if (schema.format === 'uuid') return fc.uuid();
        if (schema.format === 'byte' || schema.format === 'base64')
          return fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes).toString('base64'));
        if (schema.format === 'date-time')
          return fc
            .date({ noInvalidDate: true, min: new Date('1900-01-01'), max: new Date('2200-01-01') })
            .map((date) => date.toISOString());
        return nastyText;
      default:
        return nastyValue;
    }
  };
  return depth > 8 ? nastyValue : fc.oneof({ weight: 6, arbitrary: right() }, { weight: 1, arbitrary: nastyValue });
}

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  schema: Schema;
}
type Described = { requestBody?: { content: Record<string, { schema: Schema }> }; parameters?: Parameter[] };
const document = openApiDocument() as unknown as {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
};
const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
/** Overrides for operations that would otherwise block the test. */
const safeInputs: Record<string, Record<string, unknown>> = {
  getAutomationRun: { waitSeconds: 0 },
  pollAutomationNodeCommands: { wait: 0 },
};

test.each(operations.map((operation) => [operation.id, operation] as const))(
  `%s never answers 5xx to hostile input (seed ${seed})`,
  async (_id, operation: Operation) => {
    const described = document.paths[operation.path]?.[operation.method.toLowerCase()] as Described;
    const body = described.requestBody?.content['application/json']?.schema;
    const takesBytes = described.requestBody?.content['application/octet-stream'] !== undefined;
    const parameters = (described.parameters ?? []).map((parameter) =>
      parameter.$ref === undefined
        ? parameter
        : (document.components.parameters[parameter.$ref.split('/').at(-1) as string] as Parameter),
    );
    const queryFields = parameters.filter(
      (parameter) => parameter.in === 'query' && safeInputs[operation.id]?.[parameter.name] === undefined,
    );
    const input = fc.record({
      body: body === undefined ? fc.constant(undefined) : fitting(body),
      bytes: nastyText,
      query: fc.record(Object.fromEntries(queryFields.map(({ name, schema }) => [name, fitting(schema)])), {
        requiredKeys: [],
      }),
      id: fc.oneof(
        fc.uuid(),
        fc.constant(device.nodeId),
        nastyText.filter((text) => text !== '' && text.isWellFormed() && text !== '.' && text !== '..'),
      ),
    });
    const headers = authorization(operation, workspace, device.deviceSecret);
    let hasChanged = false;
    await fc.assert(
      fc.asyncProperty(input, async ({ body: content, bytes, query, id }) => {
        const search = new URLSearchParams(
          Object.entries(query).map(
            ([name, value]) =>
              [name, (typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed()] as [string, string],
          ),
        );
        const path = `${pathOf(operation, { id, tenantId: workspace.tenantId, commandId: missingId })}${search.size === 0 ? '' : `?${search.toString()}`}`;
        const raw = { headers: { ...headers, 'content-type': 'application/octet-stream' }, raw: bytes };
        const answer = await send(
          hub.url,
          operation.method,
          path,
          takesBytes ? raw : { headers, ...(content === undefined ? {} : { body: content }) },
        );
        if (operation.method !== 'GET' && answer.status < 400) hasChanged = true;
        // A planned operation responds with `not_available` to every request.
        const isPlanned = operation.errors?.includes('not_available') === true && answer.status === 501;
        // On a busy machine, a part of the hub may not answer in time. This is what the operation reports.
        const isNotReady = operation.id === 'readReadiness' && answer.body['status'] === 'not_ready';
        if (isNotReady) return;
        if (answer.status >= 500 && !isPlanned) throw new Error(`${answer.status}: ${answer.text}`);
        if (answer.status >= 400) {
          expect(answer.body).toMatchObject({
            statusCode: answer.status,
            code: expect.stringMatching(/^[a-z_]+$/) as string,
            message: expect.any(String) as string,
          });
          expect(answer.text).not.toMatch(/node_modules|\bat [A-Za-z]+ \(|\.ts:\d+/);
        }
      }),
      { seed, numRuns: ['logOut', 'logIn', 'signUp', 'addMember'].includes(operation.id) ? 6 : 25, endOnFailure: true },
    );
    // Reads and refused requests change nothing. Some operations sign out or revoke a key, so the callers are restored.
    if (!hasChanged) return;
    workspace = await hub.workspace();
    // Invalid claims of an earlier operation reached the limit of this address.
    await removeRateLimits(hub.database, '%claim%');
    device = await pair();
  },
);
