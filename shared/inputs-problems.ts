import { checkValue, CheckWork } from './inputs-check.ts';
import type { InputSchema } from './inputs-schema.ts';
import { jsonLength } from './json.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { LinearPattern, PatternError } from './linear-pattern.ts';

/** A problem at a location of a schema. */
export interface SchemaProblem {
  path: (string | number)[];
  message: string;
}

const maxSchemaLength = 64 * 1024;
const maxDepth = 8;
const maxSchemas = 500;
const maxProperties = 100;
const maxNameLength = 100;
const maxEnum = 100;
/** Maximum value of a bound. Higher bounds would have no effect, because no request is that long. */
const maxBound = 10_000_000;
const maxProblems = 50;

const common = ['type', 'title', 'description', 'default'];
const keywords: Record<InputSchema['type'], readonly string[]> = {
  string: [...common, 'enum', 'minLength', 'maxLength', 'pattern'],
  number: [...common, 'enum', 'minimum', 'maximum'],
  integer: [...common, 'enum', 'minimum', 'maximum'],
  boolean: [...common, 'enum'],
  array: [...common, 'items', 'minItems', 'maxItems'],
  object: [...common, 'properties', 'required', 'additionalProperties'],
};
const types = Object.keys(keywords);

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

class SchemaReader {
  /** Shared budget for checking all `enum` and `default` values of the schema. */
  readonly #work = new CheckWork();
  readonly problems: SchemaProblem[] = [];
  #schemas = 0;

  read(schema: JsonValue, path: (string | number)[]): void {
    if (this.problems.length >= maxProblems) return;
    if (!isObject(schema)) return this.#add(path, 'must be an object');
    this.#schemas += 1;
    if (this.#schemas > maxSchemas) {
      // Reported once.
      if (this.#schemas === maxSchemas + 1) this.#add(path, `exceeds the maximum of ${maxSchemas} schemas`);
      return;
    }
    if (path.length > 2 * maxDepth) return this.#add(path, `nests more than ${maxDepth} levels`);
    const type = schema['type'];
    if (typeof type !== 'string' || !types.includes(type))
      return this.#add([...path, 'type'], type === undefined ? 'is required' : `must be one of ${types.join(', ')}`);
    if (path.length === 0 && type !== 'object')
      return this.#add(['type'], 'must be object, because a payload is an object');
    const known = keywords[type as InputSchema['type']].filter((key) => path.length > 0 || key !== 'default');
    for (const key of Object.keys(schema))
      if (!known.includes(key))
        this.#add(
          [...path, key.slice(0, 100)],
          `is not known here; a schema of type ${type} may have ${known.join(', ')}`,
        );
    this.#text(schema, path, 'title', 200);
    this.#text(schema, path, 'description', 1000);
    const before = this.problems.length;
    this.#ofType(schema, type, path);
    // The values of an invalid schema cannot be checked.
    if (this.problems.length === before) this.#values(schema as unknown as InputSchema, path);
  }

  #add(path: (string | number)[], message: string): void {
    if (this.problems.length < maxProblems) this.problems.push({ path, message });
  }

  #text(schema: JsonObject, path: (string | number)[], key: string, max: number): void {
    const value = schema[key];
    if (value === undefined) return;
    if (typeof value !== 'string' || value.length > max)
      this.#add([...path, key], `must be a text of at most ${max} characters`);
  }

  #ofType(schema: JsonObject, type: string, path: (string | number)[]): void {
    switch (type) {
      case 'string':
        this.#bounds(schema, path, 'minLength', 'maxLength', true);
        this.#pattern(schema, path);
        break;
      case 'number':
      case 'integer':
        this.#bounds(schema, path, 'minimum', 'maximum', false);
        break;
      case 'array':
        this.#bounds(schema, path, 'minItems', 'maxItems', true);
        if (schema['items'] !== undefined) this.read(schema['items'], [...path, 'items']);
        break;
      case 'object':
        this.#object(schema, path);
        break;
      default:
    }
  }

  #bounds(schema: JsonObject, path: (string | number)[], minKey: string, maxKey: string, isCount: boolean): void {
    for (const key of [minKey, maxKey]) {
      const value = schema[key];
      if (value === undefined) continue;
      const isBound =
        typeof value === 'number' && (!isCount || (Number.isInteger(value) && value >= 0 && value <= maxBound));
      if (!isBound)
        this.#add([...path, key], isCount ? `must be a whole number from 0 to ${maxBound}` : 'must be a number');
    }
    const [from, to] = [schema[minKey], schema[maxKey]];
    if (typeof from === 'number' && typeof to === 'number' && from > to)
      this.#add([...path, minKey], `must not be more than ${maxKey}`);
  }

  #pattern(schema: JsonObject, path: (string | number)[]): void {
    const pattern = schema['pattern'];
    if (pattern === undefined) return;
    if (typeof pattern !== 'string') return this.#add([...path, 'pattern'], 'must be a regular expression');
    try {
      // oxlint-disable-next-line no-new -- The constructor checks the pattern.
      new LinearPattern(pattern);
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      this.#add([...path, 'pattern'], error.message);
    }
  }

  #object(schema: JsonObject, path: (string | number)[]): void {
    const { properties = {}, required = [], additionalProperties } = schema;
    if (additionalProperties !== undefined && typeof additionalProperties !== 'boolean')
      this.#add([...path, 'additionalProperties'], 'must be true or false');
    if (!isObject(properties)) return this.#add([...path, 'properties'], 'must be an object');
    const names = Object.keys(properties);
    if (names.length > maxProperties)
      return this.#add([...path, 'properties'], `must have at most ${maxProperties} properties`);
    for (const name of names) {
      const at = [...path, 'properties', name.slice(0, maxNameLength)];
      if (name === '' || name.length > maxNameLength)
        this.#add(at, `must have a name of 1 to ${maxNameLength} characters`);
      else this.read(properties[name] as JsonValue, at);
    }
    if (!Array.isArray(required) || required.length > maxProperties)
      return this.#add([...path, 'required'], `must be a list of at most ${maxProperties} names`);
    required.forEach((name, index) => {
      if (typeof name !== 'string' || !Object.hasOwn(properties, name))
        this.#add([...path, 'required', index], 'must be the name of one of the properties');
      else if (required.indexOf(name) < index) this.#add([...path, 'required', index], 'is a duplicate');
    });
  }

  /** The `enum` and `default` values must match the schema. */
  #values(schema: InputSchema, path: (string | number)[]): void {
    if ('enum' in schema && schema.enum !== undefined) {
      const { enum: choices, ...bare } = schema;
      if (!Array.isArray(choices) || choices.length === 0 || choices.length > maxEnum)
        return this.#add([...path, 'enum'], `must be a list of 1 to ${maxEnum} values`);
      choices.forEach((choice, index) => {
        const [problem] = checkValue(bare as InputSchema, choice, '', this.#work).problems;
        if (problem !== undefined) this.#add([...path, 'enum', index], problem.message);
      });
    }
    if (schema.default === undefined) return;
    const [problem] = checkValue(schema, schema.default, '', this.#work).problems;
    if (problem !== undefined) this.#add([...path, 'default'], `${problem.path} ${problem.message}`.trim());
  }
}

/** The problems of the inputs of a workflow; empty for valid inputs. */
export function problemsOfInputs(schema: JsonObject): SchemaProblem[] {
  if (jsonLength(schema, maxSchemaLength) > maxSchemaLength)
    return [{ path: [], message: `must have at most ${maxSchemaLength} characters as JSON` }];
  const reader = new SchemaReader();
  reader.read(schema, []);
  return reader.problems;
}
