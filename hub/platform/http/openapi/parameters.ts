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
  description: 'The same key within 24 hours answers what the first request was answered',
  schema: { type: 'string', maxLength: 255 },
};

const ifMatch: Json = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'The `ETag` of what is changed: refused when it was changed meanwhile',
  schema: { type: 'string', maxLength: 255 },
};

const lastEventId: Json = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The id of the last event that the reader had: what followed it comes first',
  schema: { type: 'string', maxLength: 200 },
};

/** Parameters that many operations have, by their names in the document. */
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

function parametersIn(place: 'path' | 'query', schema: z.ZodObject | undefined, operationPath = ''): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = new SchemaComponents().describe(schema, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description = parameterDescription(place, name, operationPath), ...rest } = property;
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: referring(rest),
    };
  });
}

/** A named schema of a parameter is one that some body has, too. */
function referring({ allOf, ...rest }: Json): Json {
  const [{ $ref } = {} as Json] = Array.isArray(allOf) ? (allOf as Json[]) : [];
  return typeof $ref === 'string' ? { $ref: $ref.replace('#/definitions/', '#/components/schemas/') } : rest;
}

/** Those whose caller has keys of its own: see `idempotentCallerOf`. */
export const takesIdempotencyKey = (operation: Operation) =>
  operation.method === 'POST' && allowsCaller(operation, 'token', 'hook', 'session');

export function parametersOf(operation: Operation): Json[] {
  const parameters = [
    ...parametersIn('path', operation.params, operation.path),
    ...parametersIn('query', operation.query, operation.path),
    ...(takesIdempotencyKey(operation) ? [idempotencyKey] : []),
    ...(operation.ifMatch === undefined ? [] : [ifMatch]),
    ...(operation.resumable === true ? [lastEventId] : []),
  ];
  return parameters.map((parameter) => {
    const shared = sharedParameterNames.get(JSON.stringify(parameter));
    return shared === undefined ? parameter : { $ref: `#/components/parameters/${shared}` };
  });
}
