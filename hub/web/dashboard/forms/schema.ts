/** The part of JSON Schema that the skills of a hub use. */
export interface JsonSchema {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  items?: JsonSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
}

export type FieldKind =
  | 'choice'
  | 'constant'
  | 'boolean'
  | 'number'
  | 'text'
  | 'object'
  | 'list'
  | 'map'
  | 'variants'
  | 'json';

/** The kind of field that edits values of a schema. Schemas of other forms are edited as JSON. */
export function kindOf(schema: JsonSchema): FieldKind {
  if (schema.enum !== undefined) return 'choice';
  if (schema.const !== undefined) return 'constant';
  if (schema.anyOf !== undefined) return schema.anyOf.every(({ type }) => type !== undefined) ? 'variants' : 'json';
  if (schema.type === 'boolean') return 'boolean';
  if (schema.type === 'number' || schema.type === 'integer') return 'number';
  if (schema.type === 'string') return 'text';
  if (schema.type === 'array' && schema.items !== undefined) return 'list';
  if (schema.type === 'object' && schema.properties !== undefined) return 'object';
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object')
    return kindOf(schema.additionalProperties) === 'text' ? 'map' : 'json';
  return 'json';
}

export type JsonRecord = Record<string, unknown>;
export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Paths are written as in the details of API errors: `target.selector`, `argv[0]`. */
export const propertyPath = (path: string, name: string) => (path === '' ? name : `${path}.${name}`);
export const itemPath = (path: string, index: number) => `${path}[${index}]`;

/** The value of a new field: the default, or an empty value. Optional properties without a default are left out. */
export function initialValue(schema: JsonSchema): unknown {
  if (schema.default !== undefined) return structuredClone(schema.default);
  const { properties = {}, required = [], anyOf, items, minItems = 0 } = schema;
  switch (kindOf(schema)) {
    case 'choice':
      return schema.enum?.[0];
    case 'constant':
      return schema.const;
    case 'boolean':
      return false;
    case 'text':
      return '';
    case 'list':
      return Array.from({ length: minItems }, () => initialValue(items ?? {}));
    case 'object':
      return Object.fromEntries(
        Object.entries(properties)
          .filter(([name, property]) => required.includes(name) || property.default !== undefined)
          .map(([name, property]) => [name, initialValue(property)]),
      );
    case 'map':
      return {};
    case 'variants':
      return initialValue(anyOf?.[0] ?? {});
    case 'number':
    case 'json':
      return undefined;
  }
}

function matchesVariant(schema: JsonSchema, value: unknown): boolean {
  if (schema.type === 'null') return value === null;
  if (schema.type === 'string') return typeof value === 'string';
  if (schema.type === 'number' || schema.type === 'integer') return typeof value === 'number';
  if (schema.type === 'boolean') return typeof value === 'boolean';
  if (schema.type === 'array') return Array.isArray(value);
  if (!isRecord(value)) return false;
  const names = Object.keys(schema.properties ?? {});
  return (
    (schema.required ?? []).every((name) => name in value) && Object.keys(value).every((name) => names.includes(name))
  );
}

/** Index of the variant of `anyOf` to which a value belongs. */
export function variantOf({ anyOf = [] }: JsonSchema, value: unknown): number {
  return Math.max(
    0,
    anyOf.findIndex((variant) => matchesVariant(variant, value)),
  );
}

export interface Problem {
  path: string;
  /** Key of the message in the texts of forms. */
  kind: 'required' | 'pattern' | 'tooShort' | 'tooLong' | 'tooSmall' | 'tooLarge' | 'tooFew' | 'tooMany' | 'badName';
  limit: number;
}

const matches = (pattern: string, text: string): boolean => {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    // The hub checks it with its own engine.
    return true;
  }
};

function checkText(
  { pattern, minLength = 0, maxLength = Infinity }: JsonSchema,
  text: string,
  path: string,
): Problem[] {
  if (text === '' && minLength > 0) return [{ path, kind: 'required', limit: 0 }];
  if (text.length < minLength) return [{ path, kind: 'tooShort', limit: minLength }];
  if (text.length > maxLength) return [{ path, kind: 'tooLong', limit: maxLength }];
  return pattern === undefined || matches(pattern, text) ? [] : [{ path, kind: 'pattern', limit: 0 }];
}

/** What is wrong with a value, field by field. The hub checks more; this finds common mistakes before a request. */
export function checkValue(schema: JsonSchema, value: unknown, path = ''): Problem[] {
  const kind = kindOf(schema);
  if (kind === 'text' && typeof value === 'string') return checkText(schema, value, path);
  if (kind === 'number' && typeof value === 'number') {
    const { minimum = -Infinity, maximum = Infinity } = schema;
    if (value < minimum) return [{ path, kind: 'tooSmall', limit: minimum }];
    return value > maximum ? [{ path, kind: 'tooLarge', limit: maximum }] : [];
  }
  if (kind === 'list') {
    const list = listOf(value);
    const { items = {}, minItems = 0, maxItems = Infinity } = schema;
    if (list.length < minItems) return [{ path, kind: 'tooFew', limit: minItems }];
    if (list.length > maxItems) return [{ path, kind: 'tooMany', limit: maxItems }];
    return list.flatMap((item, index) => checkValue(items, item, itemPath(path, index)));
  }
  if (kind === 'variants') return checkValue(schema.anyOf?.[variantOf(schema, value)] ?? {}, value, path);
  if (kind === 'map') {
    const { propertyNames = {}, additionalProperties } = schema;
    return Object.entries(isRecord(value) ? value : {}).flatMap(([name, item]): Problem[] => {
      const itsPath = propertyPath(path, name);
      if (checkText({ minLength: 1, ...propertyNames }, name, itsPath).length > 0)
        return [{ path: itsPath, kind: 'badName', limit: 0 }];
      return checkValue(additionalProperties as JsonSchema, item, itsPath);
    });
  }
  if (kind === 'object') {
    const record = isRecord(value) ? value : {};
    return Object.entries(schema.properties ?? {}).flatMap(([name, property]): Problem[] => {
      const itsPath = propertyPath(path, name);
      if (record[name] !== undefined) return checkValue(property, record[name], itsPath);
      return schema.required?.includes(name) === true ? [{ path: itsPath, kind: 'required', limit: 0 }] : [];
    });
  }
  return [];
}

/** The paths of the fields that a form shows for a value. */
function shownPaths(schema: JsonSchema, value: unknown, path: string): string[] {
  switch (kindOf(schema)) {
    case 'list':
      return [
        path,
        ...listOf(value).flatMap((item, index) => shownPaths(schema.items ?? {}, item, itemPath(path, index))),
      ];
    case 'variants':
      return [path, ...shownPaths(schema.anyOf?.[variantOf(schema, value)] ?? {}, value, path)];
    case 'map':
      return [path, ...Object.keys(isRecord(value) ? value : {}).map((name) => propertyPath(path, name))];
    case 'object':
      return [
        path,
        ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
          shownPaths(property, isRecord(value) ? value[name] : undefined, propertyPath(path, name)),
        ),
      ];
    default:
      return [path];
  }
}

/** Messages by the path of their field. */
export type Messages = Readonly<Record<string, string>>;

/**
 * Assigns each message to the field that it belongs to: the field of its path, or the nearest one around it. The
 * messages of no field are under the empty path.
 */
export function messagesByField(
  schema: JsonSchema,
  value: unknown,
  messages: readonly { path: string; message: string }[],
): Messages {
  const paths = shownPaths(schema, value, '');
  const isWithin = (path: string, field: string) =>
    path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);
  const byField: Record<string, string> = {};
  for (const { path, message } of messages) {
    const field = paths
      .filter((shown) => shown !== '' && isWithin(path, shown))
      .reduce((longest, shown) => (shown.length > longest.length ? shown : longest), '');
    byField[field] = byField[field] === undefined ? message : `${byField[field]} ${message}`;
  }
  return byField;
}
