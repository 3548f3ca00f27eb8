import type { ErrorDetail } from './errors.ts';
import type { InputSchema, ObjectSchema, WorkflowInputs } from './inputs-schema.ts';
import { jsonLength } from './json.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { LinearPattern } from './linear-pattern.ts';
import type { WorkBudget } from './linear-pattern.ts';

/** Maximum number of reported problems of one payload. */
const maxProblems = 20;
/** Budget of one check for matching patterns, in units of `WorkBudget`; takes less than 0.1 s. */
const maxPatternWork = 1_000_000;
/** Maximum number of characters of defaults that are filled into one payload. */
const maxFilledCharacters = 1024 * 1024;

export interface CheckedValue {
  /** The value with defaults filled in. */
  value: JsonValue;
  problems: ErrorDetail[];
}

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The length of a text in code points, as JSON Schema counts. */
function lengthOf(text: string): number {
  let length = 0;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1) length += 1;
  return length;
}

/** Budget and compiled patterns that several checks share. */
export class CheckWork {
  readonly patterns = new Map<string, LinearPattern>();
  readonly budget: WorkBudget = { left: maxPatternWork };
}

/**
 * Visits each part of a value once. Data that depends only on the schema is prepared once. The check stops after the
 * maximum number of problems.
 */
class Check {
  readonly problems: ErrorDetail[] = [];
  readonly #choices = new Map<readonly unknown[], Set<unknown>>();
  readonly #expected = new Map<ObjectSchema, { name: string; property: InputSchema }[]>();
  readonly #work: CheckWork;
  #filled = 0;

  constructor(work: CheckWork) {
    this.#work = work;
  }

  value(schema: InputSchema, value: JsonValue, path: string): JsonValue {
    if (this.problems.length >= maxProblems) return value;
    switch (schema.type) {
      case 'string':
        if (typeof value !== 'string') this.#add(path, 'must be a string');
        else if (this.#isChoice(schema.enum, value, path)) this.#string(schema, value, path);
        return value;
      case 'number':
      case 'integer':
        if (typeof value !== 'number')
          this.#add(path, `must be ${schema.type === 'integer' ? 'a whole number' : 'a number'}`);
        else if (schema.type === 'integer' && !Number.isInteger(value)) this.#add(path, 'must be a whole number');
        else if (this.#isChoice(schema.enum, value, path)) this.#number(schema, value, path);
        return value;
      case 'boolean':
        if (typeof value !== 'boolean') this.#add(path, 'must be true or false');
        else this.#isChoice(schema.enum, value, path);
        return value;
      case 'array':
        return this.#array(schema, value, path);
      case 'object':
        return this.#object(schema, value, path);
    }
  }

  #add(path: string, message: string): void {
    if (this.problems.length < maxProblems) this.problems.push({ path, message });
  }

  #isChoice(choices: readonly unknown[] | undefined, value: string | number | boolean, path: string): boolean {
    if (choices === undefined) return true;
    const known = this.#choices.get(choices) ?? new Set(choices);
    this.#choices.set(choices, known);
    if (known.has(value)) return true;
    this.#add(path, `must be one of ${choices.map(String).join(', ').slice(0, 500)}`);
    return false;
  }

  #string(schema: Extract<InputSchema, { type: 'string' }>, value: string, path: string): void {
    const { minLength, maxLength, pattern } = schema;
    const length = minLength === undefined && maxLength === undefined ? 0 : lengthOf(value);
    if (minLength !== undefined && length < minLength)
      return this.#add(path, minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters`);
    if (maxLength !== undefined && length > maxLength)
      return this.#add(path, `must have at most ${maxLength} characters`);
    if (pattern === undefined) return;
    const { patterns, budget } = this.#work;
    const compiled = patterns.get(pattern) ?? new LinearPattern(pattern);
    patterns.set(pattern, compiled);
    const isMatch = budget.left < 0 ? null : compiled.test(value, budget);
    if (isMatch === null) this.#add(path, 'is too long to be matched with its pattern; send less');
    else if (!isMatch) this.#add(path, `must match ${pattern}`);
  }

  #number({ minimum, maximum }: { minimum?: number; maximum?: number }, value: number, path: string): void {
    if (minimum !== undefined && value < minimum) this.#add(path, `must be at least ${minimum}`);
    else if (maximum !== undefined && value > maximum) this.#add(path, `must be at most ${maximum}`);
  }

  #array(schema: Extract<InputSchema, { type: 'array' }>, value: JsonValue, path: string): JsonValue {
    const { items, minItems, maxItems } = schema;
    if (!Array.isArray(value)) this.#add(path, 'must be an array');
    else if (minItems !== undefined && value.length < minItems) this.#add(path, `must have at least ${minItems} items`);
    else if (maxItems !== undefined && value.length > maxItems) this.#add(path, `must have at most ${maxItems} items`);
    else if (items !== undefined) {
      const checked = value.map((item, index) => this.value(items, item, `${path}[${index}]`));
      return checked.some((item, index) => item !== value[index]) ? checked : value;
    }
    return value;
  }

  #object(schema: ObjectSchema, value: JsonValue, path: string): JsonValue {
    if (!isObject(value)) {
      this.#add(path, 'must be an object');
      return value;
    }
    const { properties = {}, additionalProperties = true } = schema;
    const changed: [string, JsonValue][] = [];
    for (const name of Object.keys(value)) {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (property !== undefined) {
        const item = value[name] as JsonValue;
        const checked = this.value(property, item, `${path}.${name}`);
        if (checked !== item) changed.push([name, checked]);
      } else if (!additionalProperties) this.#add(`${path}.${name.slice(0, 100)}`, 'is not known here; leave it out');
    }
    for (const { name, property } of this.#expectedOf(schema)) {
      if (this.problems.length >= maxProblems) break;
      if (Object.hasOwn(value, name)) continue;
      if (property.default === undefined) this.#add(`${path}.${name}`, 'is required');
      else this.#fill(changed, name, property, property.default, `${path}.${name}`);
    }
    // Unlike an assignment, this creates an own property for every name, including __proto__.
    return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) };
  }

  /** The properties that are required or have a default, so that others cost nothing when omitted. */
  #expectedOf(schema: ObjectSchema): { name: string; property: InputSchema }[] {
    const known = this.#expected.get(schema);
    if (known !== undefined) return known;
    const required = new Set(schema.required);
    const expected = Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      property.default !== undefined || required.has(name) ? [{ name, property }] : [],
    );
    this.#expected.set(schema, expected);
    return expected;
  }

  #fill(entries: [string, JsonValue][], name: string, property: InputSchema, value: JsonValue, path: string): void {
    this.#filled += jsonLength(value, maxFilledCharacters) + name.length;
    if (this.#filled > maxFilledCharacters)
      this.#add(path, 'is missing so often that its default makes the payload too long');
    else entries.push([name, this.value(property, value, path)]);
  }
}

/**
 * Checks a value against a valid schema. The time grows only with the size of the value.
 * @param work shared budget of several checks; a new one when omitted.
 */
export function checkValue(
  schema: InputSchema,
  value: JsonValue,
  path: string,
  work: CheckWork = new CheckWork(),
): CheckedValue {
  const check = new Check(work);
  return { value: check.value(schema, value, path), problems: check.problems };
}

/**
 * Checks the payload of a caller against the inputs of a workflow, and fills in defaults.
 * @param path location of the payload, for the paths of problems.
 */
export function checkPayload(
  inputs: WorkflowInputs,
  payload: JsonObject | null,
  path: string,
): { payload: JsonObject | null; problems: ErrorDetail[] } {
  const { value, problems } = checkValue(inputs, payload ?? {}, path);
  const isEmpty = payload === null && Object.keys(value as JsonObject).length === 0;
  return { payload: isEmpty ? null : (value as JsonObject), problems };
}

/** Fills the defaults of the first level into a payload of a trigger. Given values are neither checked nor changed. */
export function fillPayload(inputs: WorkflowInputs, payload: JsonObject | null): JsonObject | null {
  const missing = Object.entries(inputs.properties ?? {}).flatMap(([name, schema]) => {
    const value = schema.default;
    return value === undefined || (payload !== null && Object.hasOwn(payload, name))
      ? []
      : [[name, checkValue(schema, value, '').value] as const];
  });
  return missing.length === 0 ? payload : { ...payload, ...Object.fromEntries(missing) };
}
