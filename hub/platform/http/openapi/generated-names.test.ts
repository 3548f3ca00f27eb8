import { expect, test } from 'vitest';
import { openApiDocument } from './document.ts';

interface Schema {
  $ref?: string;
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
}
interface DescribedOperation {
  operationId: string;
  parameters?: { name?: string; schema?: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

/** Suffixes that code generators use for the types of an operation. */
const operationEndings = ['Result', 'Params', 'Body', 'Response', 'Responses', 'Error', 'Errors', 'Data', 'Variables'];

const pascal = (name: string) =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

test('no two parts of the document lead to the same generated type name', () => {
  const document = openApiDocument() as unknown as {
    paths: Record<string, Record<string, DescribedOperation>>;
    components: { schemas: Record<string, Schema> };
  };
  const sources = new Map<string, string[]>();
  const add = (name: string, source: string) => sources.set(name, [...(sources.get(name) ?? []), source]);
  /** Inline enums and objects have no name; generators join the names of the schema and of the fields. */
  const addInline = (schema: Schema | undefined, name: string, source: string): void => {
    if (schema === undefined || schema.$ref !== undefined) return;
    const parts = Object.entries(schema.properties ?? {}).map(([key, part]): [string, string, Schema] => [
      pascal(key),
      `.${key}`,
      part,
    ]);
    if (schema.items !== undefined) parts.push(['Item', '[]', schema.items]);
    for (const [suffix, path, part] of parts) {
      if (part.enum !== undefined || part.properties !== undefined) add(name + suffix, source + path);
      addInline(part, name + suffix, source + path);
    }
  };
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    add(pascal(name), name);
    addInline(schema, pascal(name), name);
  }
  for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
    const { operationId, parameters = [], requestBody, responses } = operation;
    const name = pascal(operationId);
    for (const ending of operationEndings) add(name + ending, `operation ${operationId}`);
    for (const parameter of parameters)
      if (parameter.name !== undefined && parameter.schema?.enum !== undefined)
        add(name + pascal(parameter.name), `parameter ${parameter.name} of ${operationId}`);
    const json = 'application/json';
    addInline(requestBody?.content[json]?.schema, `${name}Body`, `body of ${operationId}`);
    addInline(responses['200']?.content?.[json]?.schema, `${name}200`, `response of ${operationId}`);
  }
  expect([...sources].filter(([, from]) => from.length > 1)).toEqual([]);
  expect(sources.size).toBeGreaterThan(2_000);
});
