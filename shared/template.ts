import { jsonLength, objectFrom } from './json.ts';
import type { JsonValue } from './json.ts';

/**
 * Templates: `{{ path }}` in a string, where a path is names and array indexes joined by dots. Templates evaluate no
 * code. A path reads only own properties of plain JSON and cannot reach prototypes, getters or functions.
 */

/** A reference cannot be resolved, or a template cannot be parsed. `reference` is its text. */
export class TemplateError extends Error {
  readonly reference: string;

  constructor(message: string, reference: string) {
    super(message);
    this.name = 'TemplateError';
    this.reference = reference;
  }
}

/** The first names of paths. */
export const templateRoots = ['context', 'payload', 'last', 'steps', 'trigger', 'run', 'now'] as const;

/** Values for templates while a step runs, by first name. */
export type TemplateScope = Record<(typeof templateRoots)[number], JsonValue>;

const segmentPattern = /^[A-Za-z0-9_$-]{1,128}$/;
/** Maximum length of one rendered text, in characters. */
export const maxRenderedLength = 4 * 1024 * 1024;
/** Maximum total length of one rendered value, such as the input of a step, in characters. */
export const maxRenderedTotal = 8 * 1024 * 1024;

/**
 * Remaining characters for rendering. Characters are spent before a text is created, so that no excessive text exists.
 */
export class RenderBudget {
  #left: number;
  readonly #limit: number;

  constructor(limit: number = maxRenderedTotal) {
    this.#limit = limit;
    this.#left = limit;
  }

  get left(): number {
    return this.#left;
  }

  /** @throws TemplateError that names the limit. */
  spend(characters: number, template: string): void {
    this.#left -= characters;
    if (this.#left < 0)
      throw new TemplateError(
        `the rendered values are longer than ${this.#limit} characters in total; refer to less data`,
        template.slice(0, 80),
      );
  }
}

/** Whether a string contains a template. */
export function hasTemplate(text: string): boolean {
  return text.includes('{{');
}

function parseReference(reference: string): string[] {
  const path = reference.trim();
  const segments = path.split('.');
  for (const segment of segments) {
    if (!segmentPattern.test(segment)) {
      throw new TemplateError(
        `{{${path.slice(0, 80)}}} is not a reference: use names joined by dots, such as {{payload.order.id}}`,
        path,
      );
    }
  }
  const root = segments[0] as string;
  if (!(templateRoots as readonly string[]).includes(root)) {
    throw new TemplateError(`{{${path}}} begins with an unknown name; use one of ${templateRoots.join(', ')}`, path);
  }
  return segments;
}

/** The methods of a string that the scanner uses. */
export type ScannedText = Pick<string, 'indexOf' | 'slice'>;

type TemplatePart = string | { reference: string; segments: string[] };

/** Splits a template into literal texts and references, in linear time. @throws TemplateError. */
export function splitTemplate(text: ScannedText): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let end = 0;
  for (;;) {
    const open = text.indexOf('{{', end);
    if (open === -1) break;
    const close = text.indexOf('}}', open + 2);
    if (close === -1) throw new TemplateError('a {{ has no closing }}', text.slice(open, open + 40));
    if (open > end) parts.push(text.slice(end, open));
    const reference = text.slice(open + 2, close);
    parts.push({ reference: reference.trim(), segments: parseReference(reference) });
    end = close + 2;
  }
  const rest = text.slice(end);
  if (rest !== '') parts.push(rest);
  return parts;
}

/** The value at a path, or the first missing name. */
function follow(segments: readonly string[], scope: KnownScope): { value: JsonValue } | { missing: string } {
  let value = scope as JsonValue | undefined;
  for (const segment of segments) {
    if (Array.isArray(value)) value = /^\d{1,9}$/.test(segment) ? value[Number(segment)] : undefined;
    else if (typeof value === 'object' && value !== null && Object.hasOwn(value, segment)) value = value[segment];
    else value = undefined;
    if (value === undefined) return { missing: segment };
  }
  return { value: value as JsonValue };
}

function lookUp(reference: string, segments: string[], scope: TemplateScope): JsonValue {
  const found = follow(segments, scope);
  if ('missing' in found)
    throw new TemplateError(`{{${reference}}} is unknown: there is no "${found.missing}" there`, reference);
  return found.value;
}

/** The text of a value inside other text; null, without creating the text, if it is longer than `maxLength`. */
function asText(value: JsonValue, maxLength: number): string | null {
  if (typeof value === 'string') return value.length > maxLength ? null : value;
  if (value === null) return '';
  if (typeof value !== 'object') return String(value);
  if (jsonLength(value, maxLength) > maxLength) return null;
  const text = JSON.stringify(value);
  return text.length > maxLength ? null : text;
}

const tooLong = (text: string) =>
  new TemplateError(
    `the rendered text is longer than ${maxRenderedLength} characters; refer to less data`,
    text.slice(0, 80),
  );

/**
 * Resolves the parts of one text. A single reference keeps the type of its value. `find` returns the value of a
 * reference.
 */
function fillParts(
  text: string,
  parts: readonly TemplatePart[],
  budget: RenderBudget,
  find: (part: Exclude<TemplatePart, string>) => JsonValue,
): JsonValue {
  const [first] = parts;
  if (parts.length === 1 && typeof first === 'object') {
    const found = find(first);
    budget.spend(jsonLength(found, budget.left), text);
    return found;
  }
  const texts: string[] = [];
  let length = 0;
  for (const part of parts) {
    const filled = typeof part === 'string' ? part : asText(find(part), maxRenderedLength - length);
    length += filled?.length ?? 0;
    if (filled === null || length > maxRenderedLength) throw tooLong(text);
    budget.spend(filled.length, text);
    texts.push(filled);
  }
  return texts.join('');
}

function renderString(text: string, scope: TemplateScope, budget: RenderBudget): JsonValue {
  if (!hasTemplate(text)) {
    budget.spend(text.length, text);
    return text;
  }
  return fillParts(text, splitTemplate(text), budget, ({ reference, segments }) => lookUp(reference, segments, scope));
}

/**
 * Renders every string inside a JSON value. A string that is a single reference keeps the type of its value. Inside
 * other text, objects become JSON and null becomes an empty text.
 * @param budget `maxRenderedTotal` characters when omitted.
 * @throws TemplateError for an unknown reference, and when the budget is used up.
 */
export function renderTemplates(value: JsonValue, scope: TemplateScope, budget = new RenderBudget()): JsonValue {
  if (typeof value === 'string') return renderString(value, scope, budget);
  if (Array.isArray(value)) return value.map((item) => renderTemplates(item, scope, budget));
  if (typeof value === 'object' && value !== null) {
    return objectFrom(Object.entries(value).map(([key, item]) => [key, renderTemplates(item, scope, budget)]));
  }
  return value;
}

/** The values that are known before a run. */
export type KnownScope = Partial<TemplateScope>;

/**
 * Renders references with known values and keeps the others unchanged. `unresolved` lists the kept references,
 * including those with a known first name.
 * @throws TemplateError when the budget is used up.
 */
export function renderKnownTemplates(
  value: JsonValue,
  known: KnownScope,
  budget = new RenderBudget(),
): { value: JsonValue; unresolved: string[] } {
  const unresolved = new Set<string>();
  // Unknown references do not throw, because a template can contain a hundred thousand of them.
  const keep = ({ reference, segments }: Exclude<TemplatePart, string>): JsonValue => {
    const found = follow(segments, known);
    if ('value' in found) return found.value;
    unresolved.add(reference);
    return `{{${reference}}}`;
  };
  const render = (item: JsonValue): JsonValue => {
    if (Array.isArray(item)) return item.map(render);
    if (typeof item === 'object' && item !== null)
      return objectFrom(Object.entries(item).map(([key, inner]) => [key, render(inner)]));
    if (typeof item === 'string' && hasTemplate(item)) return fillParts(item, splitTemplate(item), budget, keep);
    if (typeof item === 'string') budget.spend(item.length, item);
    return item;
  };
  return { value: render(value), unresolved: [...unresolved] };
}

/**
 * Whether a rendered `when` runs its step. False, null, 0, "", "0", "false", "no", "null", empty lists and objects do
 * not.
 */
export function isTruthy(value: JsonValue): boolean {
  if (typeof value === 'string') return !['', '0', 'false', 'no', 'null'].includes(value.trim().toLowerCase());
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** An invalid template, with the path of its string. */
export interface TemplateProblem {
  path: (string | number)[];
  message: string;
}

/**
 * Finds invalid templates before a run: wrong syntax, unknown first names, and steps that are not in `earlierStepIds`.
 */
export function findTemplateProblems(
  value: unknown,
  earlierStepIds: ReadonlySet<string>,
  path: (string | number)[] = [],
): TemplateProblem[] {
  if (typeof value === 'string') {
    if (!hasTemplate(value)) return [];
    try {
      return splitTemplate(value).flatMap((part) => {
        if (typeof part === 'string' || part.segments[0] !== 'steps') return [];
        const stepId = part.segments[1];
        if (stepId !== undefined && earlierStepIds.has(stepId)) return [];
        return [
          {
            path,
            message: `{{${part.reference}}} refers to a step that does not come earlier; give that step an "id" and refer to it as {{steps.<id>.output}}`,
          },
        ];
      });
    } catch (error) {
      if (error instanceof TemplateError) return [{ path, message: error.message }];
      throw error;
    }
  }
  if (Array.isArray(value))
    return value.flatMap((item, index) => findTemplateProblems(item, earlierStepIds, [...path, index]));
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([key, item]) => findTemplateProblems(item, earlierStepIds, [...path, key]));
  }
  return [];
}
