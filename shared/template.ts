import type { JsonValue } from './json.ts';

/**
 * Templates: `{{ path }}` in a string, where a path is names and array indexes joined by dots. Nothing is evaluated; a
 * path only reads own properties of plain JSON, so no prototype, getter or function can be reached.
 */

/** A reference that can't be resolved, or a template that can't be parsed; `reference` is its text. */
export class TemplateError extends Error {
  readonly reference: string;

  constructor(message: string, reference: string) {
    super(message);
    this.name = 'TemplateError';
    this.reference = reference;
  }
}

/** The names that a path may begin with. */
export const templateRoots = ['context', 'payload', 'last', 'steps', 'trigger', 'run', 'now'] as const;

/** What templates can read while a step runs; a key per name in `templateRoots`. */
export type TemplateScope = Record<(typeof templateRoots)[number], JsonValue>;

const segmentPattern = /^[A-Za-z0-9_$-]{1,128}$/;
const referencePattern = /\{\{(.*?)\}\}/gs;
const maxRenderedLength = 4 * 1024 * 1024;

/** Whether a string holds at least one `{{...}}`. */
export function hasTemplate(text: string): boolean {
  return text.includes('{{');
}

function parseReference(reference: string): string[] {
  const path = reference.trim();
  const segments = path.split('.');
  for (const segment of segments) {
    if (!segmentPattern.test(segment)) {
      throw new TemplateError(`{{${path.slice(0, 80)}}} is not a reference: use names joined by dots, such as {{payload.order.id}}`, path);
    }
  }
  const root = segments[0] as string;
  if (!(templateRoots as readonly string[]).includes(root)) {
    throw new TemplateError(`{{${path}}} begins with an unknown name; known are ${templateRoots.join(', ')}`, path);
  }
  return segments;
}

function splitTemplate(text: string): (string | { reference: string; segments: string[] })[] {
  const parts: (string | { reference: string; segments: string[] })[] = [];
  let end = 0;
  for (const match of text.matchAll(referencePattern)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    const reference = match[1] ?? '';
    parts.push({ reference: reference.trim(), segments: parseReference(reference) });
    end = match.index + match[0].length;
  }
  const rest = text.slice(end);
  if (rest.includes('{{')) throw new TemplateError('a {{ has no closing }}', rest.slice(rest.indexOf('{{'), rest.indexOf('{{') + 40));
  if (rest !== '') parts.push(rest);
  return parts;
}

function lookUp(reference: string, segments: string[], scope: TemplateScope): JsonValue {
  let value: JsonValue | undefined = scope as unknown as JsonValue;
  for (const segment of segments) {
    if (Array.isArray(value)) value = /^\d{1,9}$/.test(segment) ? value[Number(segment)] : undefined;
    else if (typeof value === 'object' && value !== null && Object.hasOwn(value, segment)) value = value[segment];
    else value = undefined;
    if (value === undefined) throw new TemplateError(`{{${reference}}} is unknown: there is no "${segment}" there`, reference);
  }
  return value;
}

function asText(value: JsonValue): string {
  if (typeof value === 'string') return value;
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function renderString(text: string, scope: TemplateScope): JsonValue {
  if (!hasTemplate(text)) return text;
  const parts = splitTemplate(text);
  const [first] = parts;
  if (parts.length === 1 && typeof first === 'object') return lookUp(first.reference, first.segments, scope);
  const rendered = parts
    .map((part) => (typeof part === 'string' ? part : asText(lookUp(part.reference, part.segments, scope))))
    .join('');
  if (rendered.length > maxRenderedLength) throw new TemplateError(`the rendered text is longer than ${maxRenderedLength} characters`, text.slice(0, 80));
  return rendered;
}

/**
 * Renders every string inside a JSON value. A string that is one whole reference keeps the type of what it refers to;
 * inside other text, objects become JSON and null becomes nothing.
 * @throws TemplateError on an unknown reference, naming it.
 */
export function renderTemplates(value: JsonValue, scope: TemplateScope): JsonValue {
  if (typeof value === 'string') return renderString(value, scope);
  if (Array.isArray(value)) return value.map((item) => renderTemplates(item, scope));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, renderTemplates(item, scope)]));
  }
  return value;
}

/** What is known before a run: some of the names that templates read. */
export type KnownScope = Partial<TemplateScope>;

/**
 * Renders what is known already, and leaves each other reference as it stands; `unresolved` names those, and those that are
 * unknown even though their first name is known.
 */
export function renderKnownTemplates(value: JsonValue, known: KnownScope): { value: JsonValue; unresolved: string[] } {
  const unresolved = new Set<string>();
  const render = (item: JsonValue): JsonValue => {
    if (Array.isArray(item)) return item.map(render);
    if (typeof item === 'object' && item !== null) return Object.fromEntries(Object.entries(item).map(([key, inner]) => [key, render(inner)]));
    if (typeof item !== 'string' || !hasTemplate(item)) return item;
    const parts = splitTemplate(item).map((part) => {
      if (typeof part === 'string') return part;
      try {
        return { found: lookUp(part.reference, part.segments, known as TemplateScope) };
      } catch {
        unresolved.add(part.reference);
        return `{{${part.reference}}}`;
      }
    });
    const [first] = parts;
    if (parts.length === 1 && typeof first === 'object') return first.found;
    return parts.map((part) => (typeof part === 'string' ? part : asText(part.found))).join('');
  };
  return { value: render(value), unresolved: [...unresolved] };
}

/** Whether a rendered `when` lets its step run: false, null, 0, "", "0", "false", "no" and empty lists or objects do not. */
export function isTruthy(value: JsonValue): boolean {
  if (typeof value === 'string') return !['', '0', 'false', 'no', 'null'].includes(value.trim().toLowerCase());
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** A template in a value that can't work, with the path of the string that holds it. */
export interface TemplateProblem {
  path: (string | number)[];
  message: string;
}

/**
 * What is wrong with the templates of a value before anything runs: syntax, unknown first names, and steps that are not
 * among `earlierStepIds`.
 */
export function findTemplateProblems(value: unknown, earlierStepIds: ReadonlySet<string>, path: (string | number)[] = []): TemplateProblem[] {
  if (typeof value === 'string') {
    if (!hasTemplate(value)) return [];
    try {
      return splitTemplate(value).flatMap((part) => {
        if (typeof part === 'string' || part.segments[0] !== 'steps') return [];
        const stepId = part.segments[1];
        if (stepId !== undefined && earlierStepIds.has(stepId)) return [];
        return [{ path, message: `{{${part.reference}}} refers to a step that does not come earlier; give that step an "id" and refer to it as {{steps.<id>.output}}` }];
      });
    } catch (error) {
      if (error instanceof TemplateError) return [{ path, message: error.message }];
      throw error;
    }
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => findTemplateProblems(item, earlierStepIds, [...path, index]));
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([key, item]) => findTemplateProblems(item, earlierStepIds, [...path, key]));
  }
  return [];
}
