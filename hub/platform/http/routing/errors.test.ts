import { expect, test } from 'vitest';
import { z } from 'zod';
import { operations } from '../../../../shared/contract/api.ts';
import { runBody } from '../../../../shared/contract/automations/workflows.ts';
import { marketing } from '../../../../shared/contract/marketing/marketing.ts';
import { AppError } from '../../../../shared/errors.ts';
import { jsonObject } from '../../../../shared/json.ts';
import { parsePart } from './errors.ts';

/** An object that counts how often its values are read. */
function counting<Value extends object>(target: Value): { value: Value; reads: () => number } {
  let reads = 0;
  return {
    value: new Proxy(target, {
      get(of, key) {
        reads += 1;
        return Reflect.get(of, key) as unknown;
      },
    }),
    reads: () => reads,
  };
}

function refusalOf(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

const withKeys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_unused, index) => [`key${index}`, index]));

test('an object with too many keys is refused with its path before any of its values is read', () => {
  const many = counting(withKeys(80_000));
  const refusal = refusalOf(() => parsePart('body', runBody, { payload: { rows: [{ of: many.value }] } }));
  expect(refusal).toMatchObject({
    code: 'validation_failed',
    message: 'body.payload.rows[0].of has 80000 keys, and an object may have at most 10000.',
    details: [{ path: 'body.payload.rows[0].of' }],
  });
  expect(many.reads()).toBe(0);
  expect(parsePart('body', runBody, { payload: withKeys(10_000) }).payload).toEqual(withKeys(10_000));
});

test('validation reads each value of a JSON object once', () => {
  const object = counting(withKeys(1_000));
  expect(jsonObject.safeParse(object.value).success).toBe(true);
  expect(object.reads()).toBe(1_000);
  for (const other of [[], null, 'x', undefined])
    expect(jsonObject.safeParse(other)).toMatchObject({
      success: false,
      error: { issues: [{ code: 'invalid_type', message: 'must be an object' }] },
    });
});

test('a validation error counts all problems, describes 50 of them and does not read the input again for the others', () => {
  const { body } = marketing.addContacts;
  const input = counting({ contacts: Array.from({ length: 1_000 }, () => ({})) });
  const refusal = refusalOf(() => parsePart('body', body, input.value));
  expect(refusal.message).toBe('body.contacts[0].email is required (and 999 more).');
  expect(refusal.details).toHaveLength(50);
  // The parser and the check of the number of keys read the field as well.
  expect(input.reads()).toBeLessThan(60);
  const unknown = refusalOf(() =>
    parsePart('body', body, { contacts: [{ email: 'a@example.org' }], ...withKeys(5_000) }),
  );
  expect(unknown.message).toBe('body.key0 is not known here; leave it out (and 4999 more).');
  expect(unknown.details).toHaveLength(50);
});

test('a list with too many entries is refused with its path before any of its entries is read', () => {
  const { body } = marketing.addContacts;
  const entry = counting({});
  const contacts = Array.from({ length: 300_000 }, () => entry.value);
  const refusal = refusalOf(() => parsePart('body', z.object({ inner: body.optional() }), { inner: { contacts } }));
  expect(refusal).toMatchObject({
    code: 'validation_failed',
    message: 'body.inner.contacts must have at most 1000 contacts.',
    details: [{ path: 'body.inner.contacts' }],
  });
  expect(entry.reads()).toBe(0);
});

test('every list of a request body that is validated entry by entry has a maximum length', () => {
  const unbounded: string[] = [];
  const walk = (schema: z.core.$ZodType, path: string, seen: ReadonlySet<unknown>) => {
    if (seen.has(schema)) return;
    const inside = new Set([...seen, schema]);
    const {
      type,
      shape,
      element,
      innerType,
      in: input,
      checks,
    } = schema._zod.def as unknown as {
      type: string;
      shape?: Record<string, z.core.$ZodType>;
      element?: z.core.$ZodType;
      innerType?: z.core.$ZodType;
      in?: z.core.$ZodType;
      checks?: readonly { _zod: { def: { check: string } } }[];
    };
    if (
      type === 'array' &&
      !(checks ?? []).some(({ _zod }) => ['max_length', 'length_equals'].includes(_zod.def.check))
    )
      unbounded.push(path);
    for (const [key, part] of Object.entries(shape ?? {})) walk(part, `${path}.${key}`, inside);
    for (const part of [element, innerType, input]) if (part !== undefined) walk(part, path, inside);
  };
  for (const operation of operations) if (operation.body !== undefined) walk(operation.body, operation.id, new Set());
  expect(unbounded).toEqual([]);
});

test('a wrong enum value and a wrong type have messages in the common style', () => {
  const query = z.object({ status: z.enum(['on', 'off']), count: z.number() });
  expect(refusalOf(() => parsePart('query', query, { status: 'x', count: 'y' })).details).toEqual([
    { path: 'query.status', message: 'must be one of on, off' },
    { path: 'query.count', message: 'must be a number' },
  ]);
});

test.each(['', ' ', '0x1', '1e1', '1.0', '+1', '-0', '١'])(
  'a number in a path or query cannot be written as "%s"',
  (text) => {
    const schema = z.strictObject({
      limit: z.coerce.number('must be a whole number').int().min(0).max(100).default(50),
      from: z.coerce.number('must be a whole number').optional(),
    });
    for (const part of ['params', 'query'] as const) {
      expect(refusalOf(() => parsePart(part, schema, { limit: text, from: text })).details).toEqual([
        { path: `${part}.limit`, message: 'must be a whole number' },
        { path: `${part}.from`, message: 'must be a whole number' },
      ]);
      expect(parsePart(part, schema, { from: '10' })).toEqual({ limit: 50, from: 10 });
    }
  },
);

test('a number in a path has no leading zeros, so that a resource has one address', () => {
  const schema = z.strictObject({ index: z.coerce.number('must be a whole number').int() });
  expect(parsePart('params', schema, { index: '0' })).toEqual({ index: 0 });
  for (const index of ['01', '00'])
    expect(refusalOf(() => parsePart('params', schema, { index })).message).toBe(
      'params.index must be a whole number.',
    );
  expect(parsePart('query', schema, { index: '01' })).toEqual({ index: 1 });
});

test.each([
  ['inboundAutomationHook', {}, 'body.workflowId is required when event is missing.'],
  [
    'createCampaign',
    { name: 'n', listId: '01980000-0000-7000-8000-000000000004', subject: 's' },
    'body.text is required when html is missing.',
  ],
])('%s reports a missing alternative in a full sentence', (id, body, message) => {
  const schema = operations.find((operation) => operation.id === id)?.body as z.ZodType;
  expect(refusalOf(() => parsePart('body', schema, body)).message).toBe(message);
});
