import { z } from 'zod';

export type Json = Record<string, unknown>;
/**
 * Schemas of requests forbid unknown fields. Schemas of responses allow them, because later versions can add fields.
 */
export type Direction = 'input' | 'output';

const definitionsPath = '#/definitions/';
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Applies a change to every object in a JSON value, innermost first. */
function mapObjects(value: unknown, change: (object: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((item) => mapObjects(item, change));
  if (!isObject(value)) return value;
  return change(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapObjects(item, change)])));
}

/** Removes the bounds of safe integers, which add no information and lead to odd examples. */
function withoutSafeBounds(schema: Json): Json {
  const isSafeBound = (key: string, bound: unknown) =>
    (key === 'minimum' && bound === Number.MIN_SAFE_INTEGER) ||
    (key === 'maximum' && bound === Number.MAX_SAFE_INTEGER);
  return mapObjects(schema, (object) =>
    Object.fromEntries(Object.entries(object).filter(([key, bound]) => !isSafeBound(key, bound))),
  ) as Json;
}

function namesIn(schema: unknown): string[] {
  const names: string[] = [];
  mapObjects(schema, (object) => {
    if (typeof object['$ref'] === 'string') names.push(object['$ref'].slice(definitionsPath.length));
    return object;
  });
  return names;
}

/** Collects the named schemas of a document: first `describe` each body, then `finish` resolves the shared names. */
export class SchemaComponents {
  readonly #seen: Record<Direction, Map<string, Json>> = { input: new Map(), output: new Map() };

  /** The JSON Schema of a body. Named schemas, including the body itself, are references that `finish` resolves. */
  describe(schema: z.ZodType, direction: Direction): Json {
    const {
      $schema: _dialect,
      definitions = {},
      id: _id,
      ...json
    } = z.toJSONSchema(schema, {
      target: 'openapi-3.0',
      io: direction,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        if (direction === 'output') delete jsonSchema.additionalProperties;
        // The format is clearer than the pattern that validates it.
        if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
        if (jsonSchema.contentEncoding === 'base64') {
          delete jsonSchema.contentEncoding;
          jsonSchema.format = 'byte';
        }
        const { discriminator } = zodSchema._zod.def as { discriminator?: string };
        if (discriminator !== undefined) jsonSchema['discriminator'] = { propertyName: discriminator };
      },
    }) as Json & { definitions?: Record<string, Json> };
    for (const [name, { id: _innerId, ...definition }] of Object.entries(definitions))
      this.#seen[direction].set(name, withoutSafeBounds(definition));
    return withoutSafeBounds(json);
  }

  /** The components, and a function that resolves the references in results of `describe`. */
  finish(): { schemas: Record<string, Json>; refer: (part: Json, direction: Direction) => Json } {
    const { input, output } = this.#seen;
    const differing = this.#differing();
    const finalName = (name: string, direction: Direction) =>
      direction === 'input' && differing.has(name) ? `${name}Input` : name;
    const refer = (part: Json, direction: Direction) =>
      mapObjects(part, (object) => {
        const { $ref } = object;
        const shape =
          typeof $ref === 'string' ? this.#seen[direction].get($ref.slice(definitionsPath.length)) : undefined;
        if (shape !== undefined)
          return {
            $ref: `#/components/schemas/${finalName(($ref as string).slice(definitionsPath.length), direction)}`,
          };
        return withMapping(withNullableType(withoutNeedlessAllOf(object), finished), finished);
      }) as Json;
    const finished = (reference: unknown): Json | undefined => {
      const name =
        isObject(reference) && typeof reference['$ref'] === 'string' ? reference['$ref'].split('/').at(-1) : undefined;
      if (name === undefined) return undefined;
      return output.get(name) ?? input.get(name) ?? input.get(name.replace(/Input$/, ''));
    };
    const schemas = [
      ...[...output].map(([name, schema]) => [name, refer(schema, 'output')] as const),
      ...[...input]
        .filter(([name]) => !output.has(name) || differing.has(name))
        .map(([name, schema]) => [finalName(name, 'input'), refer(schema, 'input')] as const),
    ];
    return { schemas: Object.fromEntries(schemas.toSorted(([left], [right]) => (left < right ? -1 : 1))), refer };
  }

  /** Names of schemas that differ between requests and responses, directly or through a reference. */
  #differing(): Set<string> {
    const { input, output } = this.#seen;
    const both = [...input].filter(([name]) => output.has(name));
    const differing = new Set(
      both
        .filter(([name, schema]) => JSON.stringify(schema) !== JSON.stringify(output.get(name)))
        .map(([name]) => name),
    );
    for (let before = -1; before !== differing.size;) {
      before = differing.size;
      for (const [name, schema] of both) if (namesIn(schema).some((inner) => differing.has(inner))) differing.add(name);
    }
    return differing;
  }
}

/** Replaces an `allOf` with a single reference by the reference. */
function withoutNeedlessAllOf(object: Json): Json {
  const { allOf, ...rest } = object;
  return Array.isArray(allOf) && allOf.length === 1 && Object.keys(rest).length === 0 ? (allOf[0] as Json) : object;
}

/** Adds a `type` to a nullable schema, because `nullable` has no effect without one. */
function withNullableType(object: Json, find: (reference: unknown) => Json | undefined): Json {
  if (object['nullable'] !== true || 'type' in object) return object;
  const type = Array.isArray(object['allOf']) ? find(object['allOf'][0])?.['type'] : undefined;
  // Tools report a default of null as a type error.
  const { default: byDefault, ...rest } = object;
  return {
    type: type ?? 'object',
    ...rest,
    ...(byDefault === null || byDefault === undefined ? {} : { default: byDefault }),
  };
}

/** Adds the mapping from discriminator values to schemas. */
function withMapping(object: Json, find: (reference: unknown) => Json | undefined): Json {
  const { discriminator, oneOf } = object;
  if (!isObject(discriminator) || !Array.isArray(oneOf)) return object;
  const property = discriminator['propertyName'] as string;
  const pairs = (oneOf as Json[]).map((option) => {
    const values =
      (find(option)?.['properties'] as Record<string, { enum?: string[] }> | undefined)?.[property]?.enum ?? [];
    return values.map((value) => [value, option['$ref']] as const);
  });
  return { ...object, discriminator: { propertyName: property, mapping: Object.fromEntries(pairs.flat()) } };
}
