import { z } from 'zod';
import { id, listQuery } from '../../../../shared/contract/common.ts';
import { allowsCaller } from '../../../../shared/contract/define.ts';
import type { Operation } from '../../../../shared/contract/define.ts';
import { describeSchemas } from './components.ts';
import type { DescribedSchemas, Json } from './components.ts';
import { parameterDescription } from './parameter-descriptions.ts';

const idempotencyKey: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A repeated key within 24 hours returns the response to the first request. It has 1 to 255 visible ASCII characters, without spaces.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
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

const tenant = z.strictObject({ tenantId: id });
const described = describeSchemas([tenant, listQuery], []).input;
const [tenantId] = parametersIn('path', tenant, described);
const pages = parametersIn('query', listQuery, described);

/** Parameters that several operations share, by name in the document. */
export const sharedParameters: Record<string, Json> = {
  IdempotencyKey: idempotencyKey,
  IfMatch: ifMatch,
  TenantId: tenantId as Json,
  Limit: pages.find(({ name }) => name === 'limit') as Json,
  Cursor: pages.find(({ name }) => name === 'cursor') as Json,
};
const sharedParameterNames = new Map(
  Object.entries(sharedParameters).map(([name, parameter]) => [JSON.stringify(parameter), name]),
);

function parametersIn(
  location: 'path' | 'query',
  schema: z.ZodObject | undefined,
  schemas: DescribedSchemas['input'],
  operationPath = '',
): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schemas.get(schema) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description = parameterDescription(location, name, operationPath), allOf, ...rest } = property;
    return {
      name,
      in: location,
      required: location === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      // A reference has no description of its own.
      schema: Array.isArray(allOf) ? allOf[0] : rest,
    };
  });
}

/** Only for callers with their own scope of idempotency keys: see `idempotentCallerOf`. */
export const acceptsIdempotencyKey = (operation: Operation) =>
  operation.method === 'POST' && allowsCaller(operation, 'token', 'hook', 'session');

export function parametersOf(operation: Operation, schemas: DescribedSchemas['input']): Json[] {
  const parameters = [
    ...parametersIn('path', operation.params, schemas, operation.path),
    ...parametersIn('query', operation.query, schemas, operation.path),
    ...(acceptsIdempotencyKey(operation) ? [idempotencyKey] : []),
    ...(operation.ifMatch === undefined ? [] : [ifMatch]),
    ...(operation.resumable === true ? [lastEventId] : []),
  ];
  return parameters.map((parameter) => {
    const shared = sharedParameterNames.get(JSON.stringify(parameter));
    return shared === undefined ? parameter : { $ref: `#/components/parameters/${shared}` };
  });
}
