import canonicalize from 'canonicalize';
import { z } from 'zod';

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

/** How deep a JSON value from outside may nest: far beyond real use, far below a stack overflow. */
export const maxJsonDepth = 64;

/** Keys that one object of a request may have. */
export const maxJsonKeys = 10_000;

/** Whether PostgreSQL can hold a text: no NUL character, no half of a surrogate pair. */
export function isStorableText(value: string): boolean {
  return !value.includes('\u0000') && value.isWellFormed();
}

const indexKey = /^(?:0|[1-9]\d{0,9})$/;

/**
 * An object of these entries. V8 gives an object with the key "1000" an array of 12 KB for its elements, unless JSON.parse made the object; so small JSON
 * with such keys could use a thousand times its length.
 */
export function objectFrom<Value>(entries: [string, Value][]): { [key: string]: Value } {
  if (!entries.some(([key]) => indexKey.test(key))) return Object.fromEntries(entries);
  const object = JSON.parse(`{${entries.map(([key]) => `${JSON.stringify(key)}:0`).join(',')}}`) as {
    [key: string]: Value;
  };
  for (const [key, value] of entries) object[key] = value;
  return object;
}

/** A value that can't be stored: it nests too deeply, or is no JSON. */
export class UnstorableError extends TypeError {
  constructor(message: string) {
    super(message);
    this.name = 'UnstorableError';
  }
}

/**
 * Makes what a machine or a stranger's server answered fit to be stored: what PostgreSQL can't hold becomes U+FFFD.
 * @param maxDepth how deep it may nest: less for what is stored inside other JSON.
 * @throws UnstorableError when it nests too deeply or is not JSON.
 */
export function toStorableJson(value: unknown, maxDepth = maxJsonDepth): JsonValue {
  const store = (inner: unknown, depth: number): JsonValue => {
    if (depth > maxDepth) throw new UnstorableError(`nests more than ${maxDepth} levels`);
    if (inner === null || inner === undefined) return null;
    if (typeof inner === 'boolean') return inner;
    if (typeof inner === 'number') return Number.isFinite(inner) ? inner : null;
    if (typeof inner === 'string') return toStorableText(inner);
    if (Array.isArray(inner)) return inner.map((item) => store(item, depth + 1));
    if (typeof inner !== 'object') throw new UnstorableError(`not JSON: ${typeof inner}`);
    return objectFrom(Object.entries(inner).map(([key, item]) => [toStorableText(key), store(item, depth + 1)]));
  };
  return store(value, 0);
}

/** How many characters a JSON value has as text, escapes aside; counts little further than `atMost`. A property without a value is none, as in JSON. */
export function jsonLength(value: JsonValue, atMost: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (value === null || typeof value === 'boolean') return 4;
  if (typeof value === 'number') return String(value).length;
  let length = 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      length += 1 + jsonLength(item, atMost - length);
      if (length > atMost) break;
    }
    return length;
  }
  for (const [key, item] of Object.entries(value) as [string, JsonValue | undefined][]) {
    if (item === undefined) continue;
    length += key.length + 4 + jsonLength(item, atMost - length);
    if (length > atMost) break;
  }
  return length;
}

/** A text with what PostgreSQL can't hold replaced by U+FFFD. */
export function toStorableText(value: string): string {
  return value.replaceAll('\u0000', '\uFFFD').toWellFormed();
}

function isJsonValue(value: unknown, depth: number): boolean {
  if (depth > maxJsonDepth) return false;
  if (value === null || typeof value === 'boolean') return true;
  // PostgreSQL's jsonb holds neither; refusing them here keeps the error at the field that has them.
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every((item) => isJsonValue(item, depth + 1));
  if (typeof value !== 'object') return false;
  return Object.entries(value).every(([key, item]) => isStorableText(key) && isJsonValue(item, depth + 1));
}

const jsonMessage = `must be JSON that nests at most ${maxJsonDepth} levels and holds no NUL character and no half of a surrogate pair`;

/** Any JSON value, with its nesting bounded. */
export const jsonValue = z
  .unknown()
  .refine((value) => isJsonValue(value, 0), jsonMessage)
  .transform((value) => value as JsonValue);

/** A JSON object, with its nesting bounded. No record: that would parse each key and each value one by one, for nothing. */
export const jsonObject = z
  .custom<Record<string, unknown>>()
  .check(({ value, issues }) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      issues.push({ code: 'invalid_type', expected: 'record', input: value, message: 'must be an object' });
    else if (!isJsonValue(value, 0)) issues.push({ code: 'custom', input: value, message: jsonMessage });
  })
  .transform((value) => value as JsonObject)
  .meta({ type: 'object', additionalProperties: {} });

/**
 * The one text form of a JSON value (RFC 8785): two parties that hash it agree on what was hashed.
 * @throws Error when the value is not JSON, or holds half of a surrogate pair.
 */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError(`not JSON: ${typeof value}`);
  return text;
}
