import { z } from 'zod';
import type { PackManifest } from '../../../../shared/contract/automations/packs.ts';
import type { ErrorDetail } from '../../../../shared/errors.ts';
import { jsonLength } from '../../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { RenderBudget, TemplateError } from '../../../../shared/template.ts';
import { isTimeZone } from '../../../../shared/time-zone.ts';
import { isUuid } from '../../../../shared/uuid.ts';
import { cronProblem } from '../../../platform/calendar/calendar.ts';

type InputsSchema = PackManifest['inputsSchema'];
type Property = InputsSchema['properties'][string];

const reference = /\{\{\s*inputs\.([A-Za-z0-9_]+)\s*\}\}/g;
const wholeReference = /^\{\{\s*inputs\.([A-Za-z0-9_]+)\s*\}\}$/;
/** Every input reference of a graph, with its path. */
export function inputsIn(value: JsonValue, path: string): { name: string; path: string }[] {
  if (typeof value === 'string')
    return [...value.matchAll(reference)].map((match) => ({ name: match[1] as string, path }));
  if (Array.isArray(value)) return value.flatMap((item, index) => inputsIn(item, `${path}[${index}]`));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, item]) => inputsIn(item, `${path}.${key}`));
  return [];
}

/** Maximum length of a graph after its inputs are filled in, in characters. */
const maxFilledLength = 1024 * 1024;

/** The contents of `{{…}}` in a text, in order. An unclosed template extends to the end of the text. */
function templatesIn(text: string): string[] {
  const found: string[] = [];
  for (let open = text.indexOf('{{'); open !== -1;) {
    const close = text.indexOf('}}', open + 2);
    if (close === -1) return [...found, text.slice(open)];
    found.push(text.slice(open, close + 2));
    open = text.indexOf('{{', close + 2);
  }
  return found;
}

function fillText(text: string, inputs: JsonObject, budget: RenderBudget): string {
  const filled = text.replaceAll(reference, (_match, name: string) => {
    const input = inputs[name] ?? '';
    const shown = typeof input === 'string' ? input : JSON.stringify(input);
    budget.spend(shown.length, text);
    return shown;
  });
  // Any input value must leave the surrounding templates unchanged.
  const expected = templatesIn(text.replaceAll(reference, '_'));
  const templates = templatesIn(filled);
  if (templates.length !== expected.length || templates.some((template, index) => template !== expected[index])) {
    throw new TemplateError('an input would become part of a template here; remove its braces', text.slice(0, 80));
  }
  return filled;
}

/**
 * Replaces references by inputs. A string that is one whole reference keeps the type of the input. Workflow templates
 * stay unchanged, and the value of an input is never interpreted as a template.
 * @throws TemplateError for an input that would become a template, or inputs that exceed the length limit.
 */
export function fillInputs(
  value: JsonValue,
  inputs: JsonObject,
  budget = new RenderBudget(maxFilledLength),
): JsonValue {
  if (typeof value === 'string') {
    const whole = wholeReference.exec(value)?.[1];
    if (whole === undefined) return fillText(value, inputs, budget);
    const input = inputs[whole] ?? null;
    budget.spend(jsonLength(input, budget.left), value);
    return input;
  }
  if (Array.isArray(value)) return value.map((item) => fillInputs(item, inputs, budget));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillInputs(item, inputs, budget)]));
  return value;
}

function problemOf(property: Property, value: JsonValue): string | null {
  const { type, format, minimum, maximum, items } = property;
  const isType = {
    string: typeof value === 'string',
    number: typeof value === 'number',
    integer: Number.isInteger(value),
    boolean: typeof value === 'boolean',
    array: Array.isArray(value),
  }[type];
  if (!isType) return `must be of type ${type}`;
  if (property.enum !== undefined && !property.enum.includes(value as string | number))
    return `must be one of ${property.enum.join(', ')}`;
  if (typeof value === 'number' && minimum !== undefined && value < minimum) return `must be at least ${minimum}`;
  if (typeof value === 'number' && maximum !== undefined && value > maximum) return `must be at most ${maximum}`;
  if (Array.isArray(value) && items !== undefined && !value.every((item) => typeof item === items.type))
    return `must only contain values of type ${items.type}`;
  // A template in an input would be executed as part of the workflow.
  if (JSON.stringify(value).includes('{{')) return 'must not contain {{';
  if (typeof value !== 'string' || value === '') return null;
  switch (format) {
    case 'uri':
      return URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol)
        ? null
        : 'must be an http or https address';
    case 'email':
      return z.email().safeParse(value).success ? null : 'must be an email address';
    case 'uuid':
    case 'node':
      return isUuid(value) ? null : 'must be a UUID';
    case 'timezone':
      return isTimeZone(value) ? null : 'must be an IANA time zone, such as Europe/Berlin';
    case 'cron':
      return cronProblem(value);
    default:
      return null;
  }
}

/** The inputs of a new workflow with their defaults, or their problems. */
export function checkInputs(schema: InputsSchema, given: JsonObject): { inputs: JsonObject; problems: ErrorDetail[] } {
  const problems: ErrorDetail[] = [];
  const inputs: JsonObject = {};
  for (const name of Object.keys(given))
    if (!Object.hasOwn(schema.properties, name))
      problems.push({
        path: `body.inputs.${name}`,
        message: `is not an input of this pack; its inputs are ${Object.keys(schema.properties).join(', ')}`,
      });
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = Object.hasOwn(given, name) ? given[name] : property.default;
    if (value === undefined) {
      if (schema.required.includes(name)) problems.push({ path: `body.inputs.${name}`, message: 'is required' });
      else inputs[name] = '';
      continue;
    }
    const problem = problemOf(property, value as JsonValue);
    if (problem === null) inputs[name] = value as JsonValue;
    else problems.push({ path: `body.inputs.${name}`, message: problem });
  }
  return { inputs, problems };
}

/** Sample inputs for checking a graph. */
export function sampleInputs(schema: InputsSchema): JsonObject {
  const sample = (name: string, { type, format, minimum, default: value, enum: choices }: Property): JsonValue => {
    if (value !== undefined && value !== '') return value as JsonValue;
    if (choices !== undefined) return choices[0] as JsonValue;
    if (type === 'array') return ['sample'];
    if (type === 'boolean') return true;
    if (type !== 'string') return minimum ?? 60;
    const byFormat: Record<string, string> = {
      uri: `https://input-${name.toLowerCase().replaceAll('_', '-')}.invalid/`,
      email: 'someone@example.com',
      uuid: '01890000-0000-7000-8000-000000000000',
      node: '01890000-0000-7000-8000-000000000000',
      timezone: 'UTC',
      cron: '0 9 * * *',
    };
    return format === undefined ? 'sample' : (byFormat[format] as string);
  };
  return Object.fromEntries(
    Object.entries(schema.properties).map(([name, property]) => [name, sample(name, property)]),
  );
}

/** Whether an input is missing, null or empty. */
export function isEmpty(value: JsonValue | undefined): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    value === false ||
    (Array.isArray(value) && value.length === 0)
  );
}

/** Removes the pack-only condition from a step. */
export function withoutCondition({ ifInput: _condition, ...step }: JsonObject): JsonObject {
  return step;
}
