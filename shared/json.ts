import canonicalize from 'canonicalize';
import { z } from 'zod';

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

/** Maximum nesting of a JSON value from outside: far above real use, far below a stack overflow. */
export const maxJsonDepth = 64;

/** Maximum number of keys of one object in a request. */
export const maxJsonKeys = 10_000;

/** Whether PostgreSQL can store a text: it has no NUL character and no unpaired surrogate. */
export function isStorableText(value: string): boolean {
  return !value.includes('\u0000') && value.isWellFormed();
}

const indexKey = /^(?:0|[1-9]\d{0,9})$/;

/**
 * Creates an object from entries. V8 allocates an array of 12 KB for the elements of an object with the key "1000",
 * unless JSON.parse created the object. Small JSON with numeric keys could otherwise use a thousand times its size.
 */
export function objectFrom<Value>(entries: [string, Value][]): { [key: string]: Value } {
  if (!entries.some(([key]) => indexKey.test(key))) return Object.fromEntries(entries);
  const object = JSON.parse(`{${entries.map(([key]) => `${JSON.stringify(key)}:0`).join(',')}}`) as {
    [key: string]: Value;
  };
  for (const [key, value] of entries) object[key] = value;
  return object;
}

/** A value cannot be stored, because it nests too deeply or is not JSON. */
export class UnstorableError extends TypeError {
  constructor(message: string) {
    super(message);
    this.name = 'UnstorableError';
  }
}

/**
 * Converts a value from a device or a third-party server so that it can be stored. Characters that PostgreSQL cannot
 * store become U+FFFD.
 * @param maxDepth maximum nesting; lower for a value that is stored inside other JSON.
 * @throws UnstorableError when the value nests too deeply or is not JSON.
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

/**
 * The approximate length of a value as JSON, without escapes. Counting stops soon after `atMost`. Undefined properties
 * are ignored, as in JSON.
 */
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

/** Replaces characters that PostgreSQL cannot store by U+FFFD. */
export function toStorableText(value: string): string {
  return value.replaceAll('\u0000', '\uFFFD').toWellFormed();
}

function isJsonValue(value: unknown, depth: number): boolean {
  if (depth > maxJsonDepth) return false;
  if (value === null || typeof value === 'boolean') return true;
  // jsonb of PostgreSQL cannot store such texts. Refusing them here reports the field.
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every((item) => isJsonValue(item, depth + 1));
  if (typeof value !== 'object') return false;
  return Object.entries(value).every(([key, item]) => isStorableText(key) && isJsonValue(item, depth + 1));
}

const jsonMessage = `must be JSON that nests at most ${maxJsonDepth} levels and contains no NUL character and no unpaired surrogate`;

/** Any JSON value with limited nesting. */
export const jsonValue = z
  .unknown()
  .refine((value) => isJsonValue(value, 0), jsonMessage)
  .transform((value) => value as JsonValue);

/** A JSON object with limited nesting. `z.record` would needlessly parse each key and value. */
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
 * The canonical text of a JSON value (RFC 8785), so that two parties compute the same hash.
 * @throws Error when the value is not JSON, or contains an unpaired surrogate.
 */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError(`not JSON: ${typeof value}`);
  return text;
}
