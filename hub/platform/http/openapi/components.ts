import { z } from 'zod';

export type Json = Record<string, unknown>;
/**
 * Schemas of requests forbid unknown fields. Schemas of responses allow them, because later versions can add fields.
 */
type Direction = 'input' | 'output';

/** The OpenAPI schema of each schema of the contract, and the components that these refer to. */
export interface DescribedSchemas {
  input: ReadonlyMap<z.ZodType, Json>;
  output: ReadonlyMap<z.ZodType, Json>;
  components: Record<string, Json>;
}

/** JSON Schemas in the order of the described schemas, and the named schemas that they refer to. */
interface JsonSchemas {
  properties: Record<number, Json>;
  definitions: Record<string, Json>;
}

/**
 * Describes schemas of requests and responses. Each named schema becomes a component. When it differs between requests
 * and responses, the name of the component for requests ends with `Input`.
 */
export function describeSchemas(inputs: readonly z.ZodType[], outputs: readonly z.ZodType[]): DescribedSchemas {
  const output = toJsonSchemas(outputs, 'output');
  const input = withInputNames(toJsonSchemas(inputs, 'input'), output.definitions);
  const definitions = { ...input.definitions, ...output.definitions };
  const [finishedInput, finishedOutput] = [finish(input, definitions), finish(output, definitions)];
  const components = { ...finishedInput.definitions, ...finishedOutput.definitions };
  return {
    input: new Map(inputs.map((schema, index) => [schema, finishedInput.properties[index] as Json])),
    output: new Map(outputs.map((schema, index) => [schema, finishedOutput.properties[index] as Json])),
    components: Object.fromEntries(Object.entries(components).toSorted(([left], [right]) => (left < right ? -1 : 1))),
  };
}

function toJsonSchemas(schemas: readonly z.ZodType[], direction: Direction): JsonSchemas {
  const { properties = {}, definitions = {} } = z.toJSONSchema(z.object(Object.fromEntries(schemas.entries())), {
    target: 'openapi-3.0',
    io: direction,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      delete jsonSchema.id;
      if (direction === 'output') delete jsonSchema.additionalProperties;
      // The format is clearer than the pattern that validates it.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      if (jsonSchema.contentEncoding === 'base64') {
        delete jsonSchema.contentEncoding;
        jsonSchema.format = 'byte';
      }
      // The bounds of safe integers add no information and lead to odd examples.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (zodSchema instanceof z.ZodDiscriminatedUnion)
        jsonSchema['discriminator'] = discriminatorOf(zodSchema, jsonSchema.oneOf as Json[]);
    },
  }) as Partial<JsonSchemas>;
  return { properties, definitions };
}

/** The name of the discriminator, and the mapping from its values to schemas. */
function discriminatorOf({ def: { discriminator, options } }: z.ZodDiscriminatedUnion, references: Json[]): Json {
  const mapping = options.flatMap((option, index) =>
    [...(option._zod.propValues?.[discriminator] ?? [])].map((value) => [value, references[index]?.['$ref']]),
  );
  return { propertyName: discriminator, mapping: Object.fromEntries(mapping) };
}

/** Appends `Input` to the names of definitions that differ from those of responses. */
function withInputNames(input: JsonSchemas, outputs: Record<string, Json>): JsonSchemas {
  const differing = Object.keys(input.definitions).filter(
    (name) => name in outputs && JSON.stringify(input.definitions[name]) !== JSON.stringify(outputs[name]),
  );
  if (differing.length === 0) return input;
  const newName = (name: string) => (differing.includes(name) ? `${name}Input` : name);
  const { properties, definitions } = JSON.parse(
    JSON.stringify(input).replaceAll(/(?<="#\/definitions\/)[^"]+/g, newName),
  ) as JsonSchemas;
  const renamed = Object.entries(definitions).map(([name, schema]) => [newName(name), schema]);
  // With the new references, more definitions can differ.
  return withInputNames({ properties, definitions: Object.fromEntries(renamed) }, outputs);
}

/** Adapts the references to the document and to the rules of OpenAPI 3.0. */
function finish(schemas: JsonSchemas, definitions: Record<string, Json>): JsonSchemas {
  return JSON.parse(JSON.stringify(schemas), (_key, value: unknown) => {
    if (typeof value === 'string') return value.replace(/^#\/definitions\//, '#/components/schemas/');
    const { allOf: [reference] = [], ...rest } = (value ?? {}) as { allOf?: [{ $ref: string }]; nullable?: boolean };
    if (reference !== undefined && Object.keys(rest).length === 0) return reference;
    if (rest.nullable !== true || 'type' in rest) return value;
    // `nullable` has no effect without a type, and tools report a default of null as a type error.
    const { default: byDefault = null, ...nullable } = value as Json;
    const { type = 'object' } = definitions[reference?.$ref.split('/').at(-1) ?? ''] ?? {};
    return { type, ...nullable, ...(byDefault === null ? {} : { default: byDefault }) };
  }) as JsonSchemas;
}
