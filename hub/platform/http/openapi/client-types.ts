import type { Json } from './components.ts';
import { openApiDocument } from './document.ts';

/** TypeScript of the document for clients that need no validator: an interface for each schema, and what each operation takes and answers. */

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  schema: Json;
  description?: string;
}

/** Where a type is written. */
interface Place {
  indent: string;
  /** What any JSON is: a request may hold whatever becomes JSON, an answer is JSON. */
  any: 'unknown' | 'JsonValue';
}
const inside = (place: Place): Place => ({ ...place, indent: `${place.indent}  ` });

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const nameOf = (reference: string) => reference.split('/').at(-1) as string;
const keyOf = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

function commentOf(text: unknown, indent: string): string {
  return typeof text === 'string' && text !== ''
    ? `${indent}/** ${text.replaceAll('*/', '*\u200b/').replaceAll(/(?<!\s)\s*\n\s*/g, ' ')} */\n`
    : '';
}

/** The type of a schema. */
function typeOf(schema: Json, place: Place): string {
  const type = plainTypeOf(schema, place);
  return schema['nullable'] === true && type !== place.any ? `${type} | null` : type;
}

function plainTypeOf(schema: Json, place: Place): string {
  const { $ref, allOf, oneOf, anyOf, enum: values, type, items, additionalProperties, properties } = schema;
  if (typeof $ref === 'string') return nameOf($ref);
  if (Array.isArray(allOf)) return allOf.map((part) => typeOf(part as Json, place)).join(' & ');
  const options = oneOf ?? anyOf;
  if (Array.isArray(options)) return [...new Set(options.map((part) => typeOf(part as Json, place)))].join(' | ');
  if (Array.isArray(values))
    return values
      .filter((value) => value !== null)
      .map((value) => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value)))
      .join(' | ');
  if (type === 'array') {
    const item = typeOf((items ?? {}) as Json, place);
    return /[|&]/.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`;
  }
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'boolean';
  if (type === 'string') return 'string';
  if (isObject(properties)) return objectOf(schema, place);
  if (isObject(additionalProperties) && Object.keys(additionalProperties).length > 0)
    return `Record<string, ${typeOf(additionalProperties, place)}>`;
  if (type !== 'object') return place.any;
  return place.any === 'unknown' ? 'Record<string, unknown>' : 'JsonObject';
}

function objectOf({ properties, required = [] }: Json, place: Place): string {
  const inner = inside(place);
  const fields = Object.entries(properties as Record<string, Json>).map(([name, property]) => {
    const isOptional = !(required as string[]).includes(name);
    return `${commentOf(property['description'], inner.indent)}${inner.indent}${keyOf(name)}${isOptional ? '?' : ''}: ${typeOf(property, inner)};\n`;
  });
  return fields.length === 0 ? 'Record<string, never>' : `{\n${fields.join('')}${place.indent}}`;
}

function declarationOf(name: string, schema: Json, any: Place['any']): string {
  const comment = commentOf(schema['description'], '');
  return isObject(schema['properties']) && schema['nullable'] !== true
    ? `${comment}export interface ${name} ${objectOf(schema, { indent: '', any })}\n`
    : `${comment}export type ${name} = ${typeOf(schema, { indent: '', any })};\n`;
}

const jsonOf = (body: unknown) =>
  (body as { content?: Record<string, { schema: Json }> } | undefined)?.content?.['application/json']?.schema;

function inputOf(operation: Json, parameters: Parameter[], indent: string): { text: string; isOptional: boolean } {
  const place = inside({ indent, any: 'unknown' });
  const inner = place.indent;
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
      place,
    );
  const [path, query] = [group('path'), group('query')];
  const body = jsonOf(operation['requestBody']);
  const isBodyRequired = (operation['requestBody'] as { required?: boolean } | undefined)?.required === true;
  const isQueryRequired = query.some(({ required }) => required);
  const fields = [
    ...(path.length === 0 ? [] : [`${inner}params: ${asObject(path)};\n`]),
    ...(query.length === 0 ? [] : [`${inner}query${isQueryRequired ? '' : '?'}: ${asObject(query)};\n`]),
    ...(body === undefined ? [] : [`${inner}body${isBodyRequired ? '' : '?'}: ${typeOf(body, place)};\n`]),
  ];
  return {
    text: fields.length === 0 ? 'Record<string, never>' : `{\n${fields.join('')}${indent}}`,
    isOptional: path.length === 0 && !isQueryRequired && !(body !== undefined && isBodyRequired),
  };
}

/** The schemas that values refer to, directly or through others. */
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
  const answers: unknown[] = [];
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const parameters = ((operation['parameters'] ?? []) as (Parameter | { $ref: string })[]).map((parameter) =>
        '$ref' in parameter ? (document.components.parameters[nameOf(parameter.$ref)] as Parameter) : parameter,
      );
      const id = operation['operationId'] as string;
      const { text, isOptional } = inputOf(operation, parameters, '    ');
      const answer = jsonOf((operation['responses'] as Record<string, unknown>)['200']);
      answers.push(answer);
      types.push(
        `${commentOf(operation['summary'], '  ')}  ${id}: {\n    input${isOptional ? '?' : ''}: ${text};\n    answer: ${answer === undefined ? 'Bytes' : typeOf(answer, { indent: '    ', any: 'JsonValue' })};\n  };\n`,
      );
      table.push(`  ${id}: ['${method.toUpperCase()}', '${path}'],\n`);
    }
  const answered = namesWithin(answers, document.components.schemas);
  return `// Written by npm run openapi from the contract; change that instead.

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** An answer that is no JSON: to be read with \`open\`. */
export interface Bytes {
  readonly bytes: unique symbol;
}

${Object.entries(document.components.schemas)
  .map(([name, schema]) => declarationOf(name, schema, answered.has(name) ? 'JsonValue' : 'unknown'))
  .join('\n')}
/** What each operation takes and answers. */
export interface Operations {
${types.join('')}}

export type OperationId = keyof Operations;

/** Method and path of each operation. */
export const operations: { readonly [Id in OperationId]: readonly [method: string, path: string] } = {
${table.join('')}};
`;
}
