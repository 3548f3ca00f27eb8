import { z } from 'zod';
import { id, listQuery } from '../../../../shared/contract/common.ts';
import { allowsCaller } from '../../../../shared/contract/define.ts';
import type { Operation } from '../../../../shared/contract/define.ts';
import { SchemaComponents } from './components.ts';
import type { Json } from './components.ts';
import { parameterDescription } from './parameter-descriptions.ts';

const idempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'A repeated key within 24 hours returns the response to the first request',
  schema: { type: 'string', maxLength: 255 },
};

const ifMatch: Json = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: '`ETag` of the resource; the request is refused if the resource has changed since',
  schema: { type: 'string', maxLength: 255 },
};

const lastEventId: Json = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'Id of the last received event; the stream starts with the event after it',
  schema: { type: 'string', maxLength: 200 },
};

/** Parameters that several operations share, by name in the document. */
export const sharedParameters: Record<string, Json> = {
  IdempotencyKey: idempotencyKey,
  IfMatch: ifMatch,
  TenantId: parametersIn('path', z.strictObject({ tenantId: id }))[0] as Json,
  ...Object.fromEntries(
    ['Limit', 'Cursor'].map((name) => [
      name,
      parametersIn('query', listQuery).find((parameter) => parameter['name'] === name.toLowerCase()) as Json,
    ]),
  ),
};
const sharedParameterNames = new Map(
  Object.entries(sharedParameters).map(([name, parameter]) => [JSON.stringify(parameter), name]),
);

function parametersIn(location: 'path' | 'query', schema: z.ZodObject | undefined, operationPath = ''): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = new SchemaComponents().describe(schema, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description = parameterDescription(location, name, operationPath), ...rest } = property;
    return {
      name,
      in: location,
      required: location === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: withComponentReference(rest),
    };
  });
}

/** Replaces a reference to a definition by a reference to the component. A named schema is also used in a body. */
function withComponentReference({ allOf, ...rest }: Json): Json {
  const [{ $ref } = {} as Json] = Array.isArray(allOf) ? (allOf as Json[]) : [];
  return typeof $ref === 'string' ? { $ref: $ref.replace('#/definitions/', '#/components/schemas/') } : rest;
}

/** Only for callers with their own scope of idempotency keys: see `idempotentCallerOf`. */
export const acceptsIdempotencyKey = (operation: Operation) =>
  operation.method === 'POST' && allowsCaller(operation, 'token', 'hook', 'session');

export function parametersOf(operation: Operation): Json[] {
  const parameters = [
    ...parametersIn('path', operation.params, operation.path),
    ...parametersIn('query', operation.query, operation.path),
    ...(acceptsIdempotencyKey(operation) ? [idempotencyKey] : []),
    ...(operation.ifMatch === undefined ? [] : [ifMatch]),
    ...(operation.resumable === true ? [lastEventId] : []),
  ];
  return parameters.map((parameter) => {
    const shared = sharedParameterNames.get(JSON.stringify(parameter));
    return shared === undefined ? parameter : { $ref: `#/components/parameters/${shared}` };
  });
}
