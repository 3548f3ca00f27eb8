/** The parts of JSON Schema that the contract uses. */
export interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  additionalProperties?: JsonSchema | boolean;
  oneOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  allOf?: JsonSchema[];
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  format?: string;
}

/** Nested objects are shown to this depth; the API validates deeper ones as well. */
const maxDepth = 3;

/** Text for a cell of a Markdown table. */
export const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim();

function typeOf(schema: JsonSchema): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return [...new Set(choices.map(typeOf))].join(' or ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`;
  if (Array.isArray(schema.type)) return schema.type.join(' or ');
  return schema.type ?? 'any JSON';
}

/** A range as text. The largest safe integer is the implicit bound of every whole number and is omitted. */
function range(minimum: number | undefined, maximum: number | undefined, unit: string): string | null {
  const isUseful = (bound: number | undefined) => bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  const format = (bound: number | undefined) => bound?.toLocaleString('en-US') ?? '';
  if (isUseful(minimum) && isUseful(maximum)) return `${format(minimum)} to ${format(maximum)}${unit}`;
  if (isUseful(maximum)) return `at most ${format(maximum)}${unit}`;
  return isUseful(minimum) && minimum !== 0 ? `at least ${format(minimum)}${unit}` : null;
}

function notesOf(schema: JsonSchema): string {
  const bounds = [
    range(schema.minimum, schema.maximum, ''),
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' items'),
  ].filter((bound) => bound !== null);
  const isListed = schema.default !== undefined && JSON.stringify(schema.default).length < 60;
  return [
    schema.description ?? '',
    bounds.length > 0 ? `(${bounds.join(', ')})` : '',
    isListed ? `Default: \`${JSON.stringify(schema.default)}\`.` : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function rowsOf(schema: JsonSchema, prefix: string, depth: number, definitions: Record<string, JsonSchema>): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, declared]) => {
    const property =
      declared.$ref === undefined
        ? declared
        : { ...definitions[declared.$ref.split('/').at(-1) as string], ...declared };
    const path = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) === true;
    const row = `| \`${path}\` | ${cell(typeOf(property))} | ${isRequired ? 'yes' : ''} | ${cell(notesOf(property))} |`;
    if (depth >= maxDepth) return [row];
    const inner = property.properties !== undefined ? rowsOf(property, `${path}.`, depth + 1, definitions) : [];
    const items =
      property.items?.properties !== undefined ? rowsOf(property.items, `${path}[].`, depth + 1, definitions) : [];
    return [row, ...inner, ...items];
  });
}

/** A table of the fields of an object; `none` when it has no fields. */
export function fieldTable({ $ref, ...declared }: JsonSchema, none: string): string {
  const named = $ref === undefined ? undefined : declared.$defs?.[$ref.split('/').at(-1) as string];
  const schema: JsonSchema = { ...named, ...declared };
  const choices = schema.oneOf ?? schema.anyOf;
  if (schema.properties === undefined && choices !== undefined)
    return choices.map((choice) => fieldTable({ ...choice, $defs: schema.$defs ?? {} }, none)).join('\n\nor\n\n');
  const rows = rowsOf(schema, '', 1, schema.$defs ?? {});
  return rows.length === 0 ? none : ['| field | type | required | meaning |', '|---|---|---|---|', ...rows].join('\n');
}
