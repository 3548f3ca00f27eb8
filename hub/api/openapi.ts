import { z } from 'zod';
import { operations } from '../../shared/contract/api.ts';
import { errorBody } from '../../shared/contract/common.ts';
import type { Caller, Operation } from '../../shared/contract/define.ts';
import { errorCodes, reasonPhrase } from '../../shared/errors.ts';
import type { ErrorCode } from '../../shared/errors.ts';

type Json = Record<string, unknown>;

const securitySchemes: Record<string, Json> = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'An API token: `Authorization: Bearer key_live_automations_…`' },
  apiKeyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The same token in a header of its own' },
  workspaceJwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'What /auth/login answers' },
  webhookToken: { type: 'apiKey', in: 'header', name: 'X-Service-Automation-Token', description: 'The webhook.token of a workflow\'s trigger' },
  deviceSecret: { type: 'http', scheme: 'bearer', description: 'What a claim answers, once' },
  platformKey: { type: 'http', scheme: 'bearer', description: 'PLATFORM_ADMIN_KEY' },
};

const callerSecurity: Record<Caller, Json[]> = {
  public: [],
  pairing: [],
  token: [{ apiKey: [] }, { apiKeyHeader: [] }],
  session: [{ workspaceJwt: [] }],
  hook: [{ apiKey: [] }, { apiKeyHeader: [] }, { webhookToken: [] }],
  channel: [{ webhookToken: [] }, { apiKey: [] }, { apiKeyHeader: [] }],
  device: [{ deviceSecret: [] }],
  platform: [{ platformKey: [] }],
};

/** Error codes that a caller's kind and the inputs of an operation bring along. */
export function errorCodesOf(operation: Operation): ErrorCode[] {
  const codes = new Set<ErrorCode>(operation.errors ?? []);
  const add = (...more: ErrorCode[]) => more.forEach((code) => codes.add(code));
  if (operation.params !== undefined || operation.query !== undefined || operation.body !== undefined) add('validation_failed');
  if (operation.body !== undefined) add('invalid_json', 'payload_too_large', 'unsupported_media_type');
  if (operation.params !== undefined) add('not_found');
  if (operation.query !== undefined && 'cursor' in operation.query.shape) add('invalid_cursor');
  if (operation.caller === 'token' || operation.caller === 'hook' || operation.caller === 'channel') {
    add('unauthenticated', 'invalid_token', 'token_expired', 'token_revoked', 'missing_permission', 'wrong_product', 'product_not_entitled', 'ip_not_allowed', 'rate_limited');
    if (operation.method === 'POST') add('idempotency_key_invalid', 'idempotency_key_reused', 'idempotency_in_progress');
  }
  if (operation.caller === 'session') add('unauthenticated', 'rate_limited');
  if (operation.entitlement !== undefined) add('product_not_entitled');
  if (operation.role === 'admin') add('role_required');
  if (operation.caller === 'device') add('unauthenticated', 'device_secret_invalid', 'rate_limited');
  if (operation.caller === 'platform') add('unauthenticated');
  if (operation.ipLimit !== undefined) add('rate_limited');
  if (operation.caller !== 'public' || operation.body !== undefined) add('unavailable');
  return [...codes].toSorted();
}

/** Whole numbers carry the bounds of exact ones, which say nothing to a reader and make odd examples. */
function withoutSafeBounds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSafeBounds);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key, bound]) => !((key === 'minimum' && bound === Number.MIN_SAFE_INTEGER) || (key === 'maximum' && bound === Number.MAX_SAFE_INTEGER)));
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutSafeBounds(item)]));
}

/** Requests are closed to what is not known; answers are open, because a later version of the hub may say more. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (io === 'output' && jsonSchema.additionalProperties === false) jsonSchema.additionalProperties = true;
    },
  }) as Json;
  return withoutSafeBounds(json) as Json;
}

function parametersOf(operation: Operation): Json[] {
  const of = (place: 'path' | 'query', schema: z.ZodObject | undefined): Json[] => {
    if (schema === undefined) return [];
    const { properties = {}, required = [] } = schemaOf(schema, 'input') as { properties?: Record<string, Json>; required?: string[] };
    return Object.entries(properties).map(([name, property]) => {
      const { description, ...rest } = property;
      return { name, in: place, required: place === 'path' || required.includes(name), ...(description === undefined ? {} : { description }), schema: rest };
    });
  };
  const idempotency: Json[] =
    operation.method === 'POST' && (operation.caller === 'token' || operation.caller === 'hook')
      ? [{ name: 'Idempotency-Key', in: 'header', required: false, description: 'The same key within 24 hours answers what the first request was answered', schema: { type: 'string', maxLength: 255 } }]
      : [];
  return [...of('path', operation.params), ...of('query', operation.query), ...idempotency];
}

function responsesOf(operation: Operation): Json {
  const responses: Json = {
    200:
      operation.binaryResponse === undefined
        ? { description: 'OK', content: { 'application/json': { schema: schemaOf(operation.response, 'output') } } }
        : { description: 'The bytes', content: { [operation.binaryResponse]: { schema: { type: 'string', format: 'binary' } } } },
  };
  const byStatus = Map.groupBy(errorCodesOf(operation), (code) => errorCodes[code].status);
  for (const [status, codes] of [...byStatus].toSorted(([left], [right]) => left - right)) {
    responses[status] = { description: `${reasonPhrase(status)}: ${codes.map((code) => `\`${code}\``).join(', ')}`, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } };
  }
  return responses;
}

function describeOperation(operation: Operation): Json {
  const needs = operation.permission === undefined ? operation.role === undefined ? '' : `Needs the role ${operation.role === 'admin' ? '`admin`' : '`agent` or `admin`'}.` : `Needs the permission \`${operation.permission}\`.`;
  const description = [operation.description, needs].filter((part) => part !== undefined && part !== '').join('\n\n');
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(description === '' ? {} : { description }),
    security: callerSecurity[operation.caller],
    parameters: parametersOf(operation),
    ...(operation.upload === true ? { requestBody: { required: false, content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } } } } : {}),
    ...(operation.body === undefined
      ? {}
      : {
          requestBody: {
            required: operation.bodyOptional !== true,
            content: {
              'application/json': { schema: schemaOf(operation.body, 'input') },
              ...(operation.multipart === true
                ? { 'multipart/form-data': { schema: { type: 'object', required: ['result'], properties: { result: { type: 'string', description: 'The JSON body, without artifacts' } }, additionalProperties: { type: 'string', format: 'binary' } } } }
                : {}),
            },
          },
        }),
    responses: responsesOf(operation),
  };
}

/** The OpenAPI 3.0.3 document of every operation. */
export function openApiDocument(): Json {
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    paths[operation.path] ??= {};
    (paths[operation.path] as Json)[operation.method.toLowerCase()] = describeOperation(operation);
  }
  return {
    openapi: '3.0.3',
    info: {
      title: 'Outrigger',
      version: '1.6.0',
      description: 'Durable workflows that reach real machines. Every error has the same body; `code` is stable, `message` says what to do. Every response carries `X-Request-ID`.',
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [
      { url: '/', description: 'This hub' },
      { url: 'https://{host}', description: 'Production', variables: { host: { default: 'hub.example.com' } } },
      { url: 'https://{host}', description: 'Staging', variables: { host: { default: 'staging.hub.example.com' } } },
    ],
    tags: [...new Set(operations.map((operation) => operation.tag))].map((name) => ({ name })),
    paths,
    components: { securitySchemes, schemas: { Error: schemaOf(errorBody, 'output') } },
  };
}
