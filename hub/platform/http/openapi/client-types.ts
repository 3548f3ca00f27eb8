import type { Json } from './components.ts';
import { openApiDocument } from './document.ts';

/** Generates TypeScript types for clients: an interface for each schema, and the input and response of each operation. */

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  schema: Json;
  description?: string;
}

/** Context of a generated type. */
interface TypeContext {
  indent: string;
  /** Type of any JSON: requests accept whatever serializes to JSON, responses contain JSON. */
  any: 'unknown' | 'JsonValue';
}
const indented = (context: TypeContext): TypeContext => ({ ...context, indent: `${context.indent}  ` });

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const nameOf = (reference: string) => reference.split('/').at(-1) as string;
const keyOf = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

function commentOf(text: unknown, indent: string): string {
  return typeof text === 'string' && text !== ''
    ? `${indent}/** ${text.replaceAll('*/', '*\u200b/').replaceAll(/(?<!\s)\s*\n\s*/g, ' ')} */\n`
    : '';
}

/** The TypeScript type of a schema. */
function typeOf(schema: Json, context: TypeContext): string {
  const type = plainTypeOf(schema, context);
  return schema['nullable'] === true && type !== context.any ? `${type} | null` : type;
}

function plainTypeOf(schema: Json, context: TypeContext): string {
  const { $ref, allOf, oneOf, anyOf, enum: values, type, items, additionalProperties, properties } = schema;
  if (typeof $ref === 'string') return nameOf($ref);
  if (Array.isArray(allOf)) return allOf.map((part) => typeOf(part as Json, context)).join(' & ');
  const options = oneOf ?? anyOf;
  if (Array.isArray(options)) return [...new Set(options.map((part) => typeOf(part as Json, context)))].join(' | ');
  if (Array.isArray(values))
    return values
      .filter((value) => value !== null)
      .map((value) => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value)))
      .join(' | ');
  if (type === 'array') {
    const item = typeOf((items ?? {}) as Json, context);
    return /[|&]/.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`;
  }
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'boolean';
  if (type === 'string') return 'string';
  if (isObject(properties)) return objectOf(schema, context);
  if (isObject(additionalProperties) && Object.keys(additionalProperties).length > 0)
    return `Record<string, ${typeOf(additionalProperties, context)}>`;
  if (type !== 'object') return context.any;
  return context.any === 'unknown' ? 'Record<string, unknown>' : 'JsonObject';
}

function objectOf({ properties, required = [] }: Json, context: TypeContext): string {
  const inner = indented(context);
  const fields = Object.entries(properties as Record<string, Json>).map(([name, property]) => {
    const isOptional = !(required as string[]).includes(name);
    return `${commentOf(property['description'], inner.indent)}${inner.indent}${keyOf(name)}${isOptional ? '?' : ''}: ${typeOf(property, inner)};\n`;
  });
  return fields.length === 0 ? 'Record<string, never>' : `{\n${fields.join('')}${context.indent}}`;
}

function declarationOf(name: string, schema: Json, any: TypeContext['any']): string {
  const comment = commentOf(schema['description'], '');
  return isObject(schema['properties']) && schema['nullable'] !== true
    ? `${comment}export interface ${name} ${objectOf(schema, { indent: '', any })}\n`
    : `${comment}export type ${name} = ${typeOf(schema, { indent: '', any })};\n`;
}

const jsonOf = (body: unknown) =>
  (body as { content?: Record<string, { schema: Json }> } | undefined)?.content?.['application/json']?.schema;

function inputOf(operation: Json, parameters: Parameter[], indent: string): { text: string; isOptional: boolean } {
  const context = indented({ indent, any: 'unknown' });
  const inner = context.indent;
  const group = (part: string) => parameters.filter((parameter) => parameter.in === part);
  const asObject = (list: Parameter[]) =>
    objectOf(
      {
        properties: Object.fromEntries(
          list.map(({ name, schema, description }) => [
            name,
            { ...schema, description: schema['description'] ?? description },
          ]),
        ),
        required: list.flatMap(({ name, required }) => (required ? [name] : [])),
      },
      context,
    );
  const [path, query] = [group('path'), group('query')];
  const body = jsonOf(operation['requestBody']);
  const isBodyRequired = (operation['requestBody'] as { required?: boolean } | undefined)?.required === true;
  const isQueryRequired = query.some(({ required }) => required);
  const fields = [
    ...(path.length === 0 ? [] : [`${inner}params: ${asObject(path)};\n`]),
    ...(query.length === 0 ? [] : [`${inner}query${isQueryRequired ? '' : '?'}: ${asObject(query)};\n`]),
    ...(body === undefined ? [] : [`${inner}body${isBodyRequired ? '' : '?'}: ${typeOf(body, context)};\n`]),
  ];
  return {
    text: fields.length === 0 ? 'Record<string, never>' : `{\n${fields.join('')}${indent}}`,
    isOptional: path.length === 0 && !isQueryRequired && !(body !== undefined && isBodyRequired),
  };
}

/** Names of the schemas that values refer to, directly or indirectly. */
function namesWithin(values: unknown[], schemas: Record<string, Json>): Set<string> {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (!isObject(value)) return;
    const { $ref, ...rest } = value;
    if (typeof $ref === 'string' && !names.has(nameOf($ref))) {
      names.add(nameOf($ref));
      visit(schemas[nameOf($ref)]);
    }
    Object.values(rest).forEach(visit);
  };
  visit(values);
  return names;
}

/** The source of `shared/client/operations.ts`. */
export function clientTypes(): string {
  const document = openApiDocument() as {
    paths: Record<string, Record<string, Json>>;
    components: { schemas: Record<string, Json>; parameters: Record<string, Parameter> };
  };
  const types: string[] = [];
  const table: string[] = [];
  const responses: unknown[] = [];
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const parameters = ((operation['parameters'] ?? []) as (Parameter | { $ref: string })[]).map((parameter) =>
        '$ref' in parameter ? (document.components.parameters[nameOf(parameter.$ref)] as Parameter) : parameter,
      );
      const id = operation['operationId'] as string;
      const { text, isOptional } = inputOf(operation, parameters, '    ');
      const response = jsonOf((operation['responses'] as Record<string, unknown>)['200']);
      responses.push(response);
      types.push(
        `${commentOf(operation['summary'], '  ')}  ${id}: {\n    input${isOptional ? '?' : ''}: ${text};\n    answer: ${response === undefined ? 'Bytes' : typeOf(response, { indent: '    ', any: 'JsonValue' })};\n  };\n`,
      );
      table.push(`  ${id}: ['${method.toUpperCase()}', '${path}'],\n`);
    }
  const responseNames = namesWithin(responses, document.components.schemas);
  return `// Generated from the contract by npm run openapi. Do not edit.

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** A response that is not JSON; read it with \`open\`. */
export interface Bytes {
  readonly bytes: unique symbol;
}

${Object.entries(document.components.schemas)
  .map(([name, schema]) => declarationOf(name, schema, responseNames.has(name) ? 'JsonValue' : 'unknown'))
  .join('\n')}
/** Input and answer of each operation. */
export interface Operations {
${types.join('')}}

export type OperationId = keyof Operations;

/** Method and path of each operation. */
export const operations: { readonly [Id in OperationId]: readonly [method: string, path: string] } = {
${table.join('')}};
`;
}
