import { expect, test } from 'vitest';
import { checkPayload, checkValue, fillPayload } from './inputs-check.ts';
import { problemsOfInputs } from './inputs-problems.ts';
import type { InputSchema, WorkflowInputs } from './inputs-schema.ts';
import type { JsonObject, JsonValue } from './json.ts';

const problemsOf = (schema: InputSchema, value: JsonValue) =>
  checkValue(schema, value, 'p').problems.map(({ path, message }) => `${path} ${message}`);

test.each<[InputSchema, JsonValue, string[]]>([
  [{ type: 'string' }, 'x', []],
  [{ type: 'string' }, null, ['p must be a string']],
  [{ type: 'string', minLength: 2, maxLength: 3 }, '😀', ['p must have at least 2 characters']],
  [{ type: 'string', maxLength: 3 }, '😀😀😀', []],
  [{ type: 'string', maxLength: 3 }, 'four', ['p must have at most 3 characters']],
  [{ type: 'string', enum: ['a', 'b'] }, 'c', ['p must be one of a, b']],
  [{ type: 'string', pattern: '^a+$' }, 'ab', ['p must match ^a+$']],
  [{ type: 'integer' }, 1.5, ['p must be a whole number']],
  [{ type: 'integer' }, '1', ['p must be a whole number']],
  [{ type: 'number', minimum: 0 }, -0.5, ['p must be at least 0']],
  [{ type: 'number', enum: [1, 2] }, 3, ['p must be one of 1, 2']],
  [{ type: 'boolean' }, 'true', ['p must be true or false']],
  [{ type: 'array' }, {}, ['p must be an array']],
  [{ type: 'array', maxItems: 1 }, [1, 2], ['p must have at most 1 items']],
  [{ type: 'array', items: { type: 'string' } }, ['a', 1, 'b', 2], ['p[1] must be a string', 'p[3] must be a string']],
  [{ type: 'object' }, [], ['p must be an object']],
  [
    { type: 'object', properties: { a: { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] } } },
    { a: {} },
    ['p.a.b is required'],
  ],
  [{ type: 'object', additionalProperties: false }, { a: 1 }, ['p.a is not known here; leave it out']],
  [
    { type: 'object', properties: { a: { type: 'string' } } },
    JSON.parse('{"__proto__":1,"constructor":2}') as JsonObject,
    [],
  ],
])('the schema %j checks %j with the problems %j', (schema, value, problems) => {
  expect(problemsOf(schema, value)).toEqual(problems);
});

test('defaults fill in omitted values, also inside objects and lists, and do not change given values', () => {
  const inputs: WorkflowInputs = {
    type: 'object',
    properties: {
      a: { type: 'string', default: 'x' },
      list: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer', default: 1 } } } },
      given: { type: 'string', default: 'no' },
    },
    required: ['a'],
  };
  const payload: JsonObject = { list: [{}, { n: 2 }], given: '', more: null };
  expect(checkPayload(inputs, payload, 'p')).toEqual({
    payload: { list: [{ n: 1 }, { n: 2 }], given: '', more: null, a: 'x' },
    problems: [],
  });
  expect(payload).toEqual({ list: [{}, { n: 2 }], given: '', more: null });
  expect(checkPayload({ type: 'object' }, null, 'p')).toEqual({ payload: null, problems: [] });
  expect(fillPayload(inputs, null)).toEqual({ a: 'x', given: 'no' });
  expect(fillPayload(inputs, { a: 1 })).toEqual({ a: 1, given: 'no' });
  expect(fillPayload({ type: 'object' }, null)).toBeNull();
});

test('a filled-in default gets the defaults of its own schema', () => {
  const inner = { type: 'object', required: ['b'], properties: { b: { type: 'string', default: 'x' } }, default: {} };
  const inputs = { type: 'object', properties: { a: inner } } as WorkflowInputs;
  for (const payload of [{}, { a: {} }] as JsonObject[])
    expect(checkPayload(inputs, payload, 'p')).toEqual({ payload: { a: { b: 'x' } }, problems: [] });
  expect(fillPayload(inputs, null)).toEqual({ a: { b: 'x' } });
});

test('properties named __proto__ or toString are handled like any other property', () => {
  const inputs = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string","default":"x"},"toString":{"type":"string"}},"required":["toString"]}',
  ) as WorkflowInputs & JsonObject;
  expect(problemsOfInputs(inputs)).toEqual([]);
  const { payload, problems } = checkPayload(inputs, {}, 'p');
  expect(problems).toEqual([{ path: 'p.toString', message: 'is required' }]);
  expect(JSON.stringify(payload)).toBe('{"__proto__":"x"}');
  expect(JSON.stringify(fillPayload(inputs, { a: 1 }))).toBe('{"a":1,"__proto__":"x"}');
  expect(Object.getPrototypeOf(payload)).toBe(Object.prototype);
});

test('checking a hostile payload stops early', () => {
  // A short payload would expand to many characters of defaults.
  const many: InputSchema = {
    type: 'array',
    items: { type: 'object', properties: { a: { type: 'string', default: 'x'.repeat(10_000) } } },
  };
  const filled = checkValue(
    many,
    Array.from({ length: 100_000 }, () => ({})),
    'p',
  );
  expect(filled.problems.length).toBe(20);
  expect(filled.problems[0]?.message).toContain('its default makes the payload too long');
  // A pattern with exponential backtracking.
  const slow: InputSchema = { type: 'array', items: { type: 'string', pattern: '^(a|a)*$' } };
  const texts = Array.from({ length: 1_000 }, () => `${'a'.repeat(100_000)}!`);
  expect(problemsOf(slow, texts).at(-1)).toContain('too long to be matched');
  // Every item is invalid; only the first problems are reported.
  expect(
    problemsOf(
      { type: 'array', items: { type: 'string' } },
      Array.from({ length: 300_000 }, () => 1),
    ).length,
  ).toBe(20);
  const choices = Array.from({ length: 100 }, (_unused, index) => `choice ${index}`);
  expect(
    problemsOf(
      { type: 'array', items: { type: 'string', enum: choices } },
      Array.from({ length: 300_000 }, () => 'choice 99'),
    ),
  ).toEqual([]);
});

const nest = (levels: number): JsonObject => {
  let schema: JsonObject = { type: 'string' };
  for (let level = 1; level < levels; level += 1) schema = { type: 'object', properties: { a: schema } };
  return schema;
};
const wide = (count: number, schema: JsonObject = { type: 'string' }): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: count }, (_unused, index) => [`p${index}`, schema])),
});

test('checking a hostile schema stops early', () => {
  const messages = (schema: JsonObject) => problemsOfInputs(schema).map(({ message }) => message);
  expect(messages(nest(9))).toEqual([]);
  expect(messages(nest(10))).toEqual(['nests more than 8 levels']);
  expect(messages(nest(60))).toEqual(['nests more than 8 levels']);
  expect(messages(wide(100))).toEqual([]);
  expect(messages(wide(101))).toEqual(['must have at most 100 properties']);
  expect(messages(wide(4, wide(100)))).toEqual([]);
  expect(messages(wide(5, wide(100)))).toEqual(['exceeds the maximum of 500 schemas']);
  expect(messages({ type: 'object', description: 'x'.repeat(70_000) })).toEqual([
    'must have at most 65536 characters as JSON',
  ]);
  expect(messages(wide(100, { type: 'none' })).length).toBe(50);
  expect(
    messages({ type: 'object', properties: { a: { type: 'string', enum: Array.from({ length: 101 }, () => 'x') } } }),
  ).toEqual(['must be a list of 1 to 100 values']);
  expect(messages({ type: 'object', properties: { a: { type: 'string', maxLength: 1e9 } } })).toEqual([
    'must be a whole number from 0 to 10000000',
  ]);
  // The matching budget is for the whole schema, not for each value.
  const slow = { type: 'string', pattern: '^(?:a?){490}$', enum: Array.from({ length: 100 }, () => 'a'.repeat(400)) };
  expect(new Set(messages({ type: 'object', properties: { a: slow } }))).toEqual(
    new Set(['is too long to be matched with its pattern; send less']),
  );
  expect(
    messages({ type: 'object', properties: { a: { type: 'string', pattern: '((a{100}){100}){100}' } } })[0],
  ).toContain('too large');
});
