import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { operations } from '../../../../shared/contract/api.ts';
import type { Operation } from '../../../../shared/contract/define.ts';
import { openApiDocument } from './document.ts';
import { Examples } from './examples.ts';

const source = readFileSync(new URL('openapi.json', import.meta.url), 'utf8');

interface Schema {
  [key: string]: unknown;
  $ref?: string;
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
}
interface Body {
  content: Record<string, { schema: Schema; example?: unknown }>;
}
const document = JSON.parse(source) as {
  tags: { name: string; description?: string }[];
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string;
        description: string;
        parameters?: { $ref?: string; name?: string; description?: string }[];
        requestBody?: Body;
        responses: Record<string, Body>;
      }
    >
  >;
  'x-websockets': { operationId: string; description: string }[];
  components: { schemas: Record<string, Schema> };
};
const described = Object.values(document.paths).flatMap((methods) => Object.values(methods));

/** Calls `look` with every object in a JSON value. */
function visit(value: unknown, look: (object: Schema) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) look(value as Schema);
  for (const item of Object.values(value)) visit(item, look);
}

describe('the OpenAPI document', () => {
  test('matches the contract', () => {
    expect(document).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
    expect(described.map(({ operationId }) => operationId).toSorted()).toEqual(
      operations.map(({ id }) => id).toSorted(),
    );
  });

  test('contains no enum parameter whose name code generators use for the response', () => {
    for (const methods of Object.values(document.paths))
      for (const { operationId, parameters = [] } of Object.values(methods) as {
        operationId: string;
        parameters?: { name?: string; schema?: { enum?: unknown } }[];
      }[])
        expect([
          operationId,
          parameters.filter(({ name, schema }) => name === 'result' && schema?.enum !== undefined),
        ]).toEqual([operationId, []]);
    // `result` is a text. With additional properties, generators would also type files as texts.
    visit(document, ({ properties, additionalProperties }) => {
      if (Object.hasOwn((properties as object | undefined) ?? {}, 'result'))
        expect(additionalProperties ?? false).toBe(false);
    });
  });

  test('describes the headers of every response, and the WebSockets', () => {
    const {
      paths,
      components,
      'x-websockets': sockets,
    } = openApiDocument() as unknown as {
      paths: Record<string, Record<string, { responses: { 200: { headers: object } } }>>;
      components: { responses: Record<string, { headers: object }> };
      'x-websockets': { path: string; subprotocol: string | null }[];
    };
    for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods)))
      expect(operation.responses[200].headers).toHaveProperty('X-Request-ID');
    const limit = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
    const ofRuns = paths['/v1/automations/runs']?.['get']?.responses[200].headers ?? {};
    expect(Object.keys(ofRuns)).toEqual(['X-Request-ID', ...limit]);
    expect(Object.keys(components.responses['TooManyRequests']?.headers ?? {})).toEqual([
      'X-Request-ID',
      ...limit,
      'Retry-After',
    ]);
    expect(sockets.map(({ path }) => path).toSorted()).toEqual([
      '/ai/voice/ws',
      '/sip/ws',
      '/tenants/{tenantId}/chat/live',
      '/v1/automations/nodes/{id}/channel',
      '/widget/v1/live',
    ]);
  });

  test('describes artifact downloads with any content type, complete and by range', () => {
    const responses = described.find(({ operationId }) => operationId === 'getAutomationArtifact')?.responses ?? {};
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '206', '416']));
    for (const status of ['200', '206']) expect(Object.keys(responses[status]?.content ?? {})).toEqual(['*/*']);
    expect(responses['206']).toHaveProperty('headers.Content-Range');
  });

  test.each([
    ['putMyPicture', '400'],
    ['createCampaign', '404'],
  ])('lists for the operation %s the error status %s', (operation, status) => {
    expect(described.find(({ operationId }) => operationId === operation)?.responses).toHaveProperty(status);
  });

  test('describes every property of every schema', () => {
    const { schemas } = document.components;
    const bare: string[] = [];
    const look = (schema: unknown, at: string): void => {
      if (Array.isArray(schema)) return schema.forEach((item, index) => look(item, `${at}[${index}]`));
      if (typeof schema !== 'object' || schema === null) return;
      const { properties = {}, example: _example, default: _default, ...rest } = schema as Schema;
      for (const [name, property] of Object.entries(properties as Record<string, Schema>)) {
        // OpenAPI 3.0 ignores siblings of a reference, so the description is that of the schema.
        const { description } =
          property.$ref === undefined ? property : (schemas[property.$ref.split('/').at(-1) ?? ''] ?? {});
        if (typeof description !== 'string' || description === '') bare.push(`${at}.${name}`);
        look(property, `${at}.${name}`);
      }
      for (const item of Object.values(rest)) look(item, at);
    };
    for (const [name, schema] of Object.entries(schemas)) look(schema, name);
    for (const { operationId, requestBody, responses } of described) look([requestBody, responses['200']], operationId);
    expect(bare).toEqual([]);
  });

  test('contains for each operation and WebSocket a description besides the permissions and errors', () => {
    // The generated paragraphs follow the description of the contract, so a bare operation starts with one of them.
    const generated = /^(?:Requires .*\((?:API keys|users)\)\.|Errors: `|$)/;
    const bare = [...described, ...document['x-websockets']].filter(({ description }) => generated.test(description));
    expect(bare.map(({ operationId }) => operationId)).toEqual([]);
  });

  test('has no findings of the OpenAPI linter', async () => {
    const config = await createConfig({
      extends: ['recommended'],
      rules: { 'operation-description': 'error', 'operation-tag-defined': 'error', 'parameter-description': 'error' },
    });
    const findings = await lintFromString({ source, absoluteRef: '/openapi.json', config });
    expect(findings.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });

  test.each(operations.map((operation) => [operation.id, operation] as const))(
    'describes the operation %s with examples that match the schemas of the contract',
    (_id, operation: Operation) => {
      const { description, requestBody, responses } = described.find(
        ({ operationId }) => operationId === operation.id,
      ) as (typeof described)[number];
      expect(description).not.toBe('');
      const exampleIn = (body: Body | undefined) => body?.content['application/json']?.example;
      if (operation.body !== undefined)
        expect(operation.body.safeParse(exampleIn(requestBody)).error?.issues).toBeUndefined();
      if (operation.binaryResponse === undefined)
        expect(operation.response.safeParse(exampleIn(responses['200'])).error?.issues).toBeUndefined();
    },
  );

  test('describes the JSON export of calls as an array, and the responses to updates under /growth', () => {
    const answerOf = (id: string, type: string) =>
      described.find(({ operationId }) => operationId === id)?.responses['200']?.content[type]?.schema;
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    expect(answerOf('exportCalls', 'application/json')).toEqual({ type: 'array', items: ref('CallRecord') });
    expect(answerOf('exportCalls', 'text/csv')).toEqual({ type: 'string', format: 'binary' });
    expect(answerOf('growthUpdateResource', 'application/json')).toEqual(ref('GrowthResource'));
    expect(document.components.schemas['GrowthResource']?.['anyOf']).toEqual(
      ['Workflow', 'Sequence', 'Agent', 'ToolProfile', 'Channel', 'Node', 'Session'].map(ref),
    );
  });

  test('contains no example that repeats the name of its field, and generating one throws', () => {
    const echoes: string[] = [];
    const look = (value: unknown, name: string): void => {
      if (Array.isArray(value)) for (const item of value) look(item, name.replace(/s$/, ''));
      else if (typeof value === 'object' && value !== null)
        for (const [key, item] of Object.entries(value)) look(item, key);
      else if (value === name && name !== '') echoes.push(name);
    };
    for (const { requestBody, responses } of described)
      for (const body of [requestBody, responses['200']])
        for (const { example } of Object.values(body?.content ?? {})) look(example, '');
    expect(echoes).toEqual([]);
    expect(() => new Examples(() => undefined).of({ type: 'string' }, 'ofTomorrow')).toThrow('"ofTomorrow"');
  });

  test('lists every accepted and returned content type, and every error status', () => {
    const of = (id: string) => described.find(({ operationId }) => operationId === id) as (typeof described)[number];
    const typesOf = (body: Body | undefined) => Object.keys(body?.content ?? {});
    expect(typesOf(of('exportCalls').responses['200'])).toEqual(['application/json', 'text/csv']);
    expect(typesOf(of('receiveCarrierEvent').requestBody)).toEqual([
      'application/json',
      'application/x-www-form-urlencoded',
    ]);
    expect(Object.keys(of('removeOwnTrunk').responses)).toContain('404');
  });

  test('uses named schemas, defines each once, and stays within its size limit', () => {
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining([
        'Workflow',
        'Run',
        'RunSummary',
        'Step',
        'StepInput',
        'Trigger',
        'Schedule',
        'Approval',
        'Node',
        'Error',
      ]),
    );
    const inline = described.flatMap(({ operationId, requestBody, responses }) =>
      [requestBody, responses['200']].flatMap((body) =>
        Object.values(body?.content ?? {}).map(({ schema }) => [operationId, JSON.stringify(schema).length] as const),
      ),
    );
    expect(inline.filter(([, length]) => length > 2_000)).toEqual([]);
    // Descriptions are the largest part. The gzip response is about a ninth of this size.
    expect(source.length).toBeLessThan(1_300_000);
    expect(gzipSync(source).length).toBeLessThan(150_000);
  });

  test('allows unknown fields in responses and forbids them in requests', () => {
    const reached = new Set<string>();
    const reach = (value: unknown): void =>
      visit(value, ({ $ref }) => {
        const name = $ref?.split('/').at(-1);
        if (name === undefined || reached.has(name)) return;
        reached.add(name);
        reach(document.components.schemas[name]);
      });
    const allResponses = described.map(({ responses }) => responses);
    reach(allResponses);
    const responseSchemas = Object.entries(document.components.schemas).filter(([name]) => reached.has(name));
    expect(responseSchemas.length).toBeGreaterThan(60);
    expect(JSON.stringify([allResponses, responseSchemas])).not.toContain('"additionalProperties":false');
    for (const name of ['CreateWorkflow', 'StepInput', 'SkillStepInput'])
      expect(JSON.stringify(document.components.schemas[name]), name).toMatch(/"additionalProperties":false|"oneOf"/);
  });

  test('has schemas that a JSON Schema validator compiles, and that their defaults match', () => {
    const ajv = new Ajv({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: '/openapi.json', components: document.components });
    for (const name of Object.keys(document.components.schemas))
      expect(() => ajv.compile({ $ref: `/openapi.json#/components/schemas/${name}` }), name).not.toThrow();
    const wrong: Schema[] = [];
    visit(
      JSON.parse(source.replaceAll('"#/components/', '"/openapi.json#/components/')),
      ({ default: value, ...schema }) => {
        if (value !== undefined && !ajv.validate(schema, value)) wrong.push({ ...schema, default: value });
      },
    );
    expect(wrong).toEqual([]);
  });

  test('describes `Last-Event-ID` only for streams whose events have ids', () => {
    const promised = Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .filter((operation) => /"Last-Event-ID"|`Last-Event-ID`, /.test(JSON.stringify(operation)))
      .map(({ operationId }) => operationId);
    expect(promised.toSorted()).toEqual([
      'streamAutomationLogs',
      'streamAutomationMessages',
      'streamCalls',
      'streamVisitorEvents',
      'streamWorkspaceEvents',
    ]);
  });

  test('maps every discriminator value to a schema', () => {
    const choices = Object.entries(document.components.schemas).filter(
      ([, { discriminator }]) => discriminator !== undefined,
    );
    expect(choices.map(([name]) => name)).toEqual(
      expect.arrayContaining(['Step', 'StepInput', 'Trigger', 'TriggerInput', 'Schedule', 'ScheduleInput']),
    );
    for (const [name, { discriminator, oneOf = [] }] of choices) {
      expect([name, Object.values(discriminator?.mapping ?? {})]).toEqual([name, oneOf.map(({ $ref }) => $ref)]);
    }
  });
});
