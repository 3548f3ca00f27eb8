import { z } from 'zod';

export type Json = Record<string, unknown>;
/** A request's schema is closed to what is not known; an answer's is open, because a later version of the hub may say more. */
export type Direction = 'input' | 'output';

const definitionsPath = '#/definitions/';
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Applies a change to every object of a JSON value, innermost first. */
function mapObjects(value: unknown, change: (object: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((item) => mapObjects(item, change));
  if (!isObject(value)) return value;
  return change(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapObjects(item, change)])));
}

/** Whole numbers carry the bounds of exact ones, which say nothing to a reader and make odd examples. */
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

/** Gathers the named schemas of a document: first every body is described, then `finish` names what they share. */
export class SchemaComponents {
  readonly #seen: Record<Direction, Map<string, Json>> = { input: new Map(), output: new Map() };

  /** The schema of a body; named schemas in it, and itself if it is named, stand as references that `finish` understands. */
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
        // A format says more to a reader than the pattern that checks it.
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

  /** The components, and what finishes a part of the document that `describe` answered. */
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

  /** Schemas that a request has otherwise than an answer; what refers to one of them is another. */
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

/** A reference stands alone where nothing is said beside it. */
function withoutNeedlessAllOf(object: Json): Json {
  const { allOf, ...rest } = object;
  return Array.isArray(allOf) && allOf.length === 1 && Object.keys(rest).length === 0 ? (allOf[0] as Json) : object;
}

/** `nullable` means nothing without a `type` beside it. */
function withNullableType(object: Json, find: (reference: unknown) => Json | undefined): Json {
  if (object['nullable'] !== true || 'type' in object) return object;
  const type = Array.isArray(object['allOf']) ? find(object['allOf'][0])?.['type'] : undefined;
  // Readers of the document would hold a default of null against the type.
  const { default: byDefault, ...rest } = object;
  return {
    type: type ?? 'object',
    ...rest,
    ...(byDefault === null || byDefault === undefined ? {} : { default: byDefault }),
  };
}

/** Says which value of the discriminator stands for which schema. */
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
