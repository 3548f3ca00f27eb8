import { Ajv } from 'ajv';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkValue } from '../shared/inputs-check.ts';
import { problemsOfInputs } from '../shared/inputs-problems.ts';
import type { InputSchema } from '../shared/inputs-schema.ts';
import type { JsonObject, JsonValue } from '../shared/json.ts';

const names = fc.constantFrom('a', 'b', 'c');
const small = fc.integer({ min: 0, max: 3 });
const texts = fc.constantFrom('', 'a', 'ab', 'abc', '12', '😀', '😀😀');
const some = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const bounds = (least: string, most: string) =>
  fc.tuple(some(small), some(small)).map(([from, more]) => ({
    ...(from === undefined ? {} : { [least]: from }),
    ...(more === undefined ? {} : { [most]: (from ?? 0) + more }),
  }));

const { schema } = fc.letrec<{ schema: JsonObject; leaf: JsonObject }>((tie) => ({
  leaf: fc.oneof(
    fc
      .tuple(bounds('minLength', 'maxLength'), some(fc.constantFrom('^a', 'b$', '^\\d+$', '[^a]', '^.?$')))
      .map(([lengths, pattern]) => ({ type: 'string', ...lengths, ...(pattern === undefined ? {} : { pattern }) })),
    fc.uniqueArray(texts, { minLength: 1, maxLength: 3 }).map((choices) => ({ type: 'string', enum: choices })),
    fc
      .tuple(fc.constantFrom('number', 'integer'), bounds('minimum', 'maximum'))
      .map(([type, range]) => ({ type, ...range })),
    fc.constant({ type: 'boolean' }),
  ),
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    fc
      .tuple(bounds('minItems', 'maxItems'), some(tie('schema')))
      .map(([range, items]) => ({ type: 'array', ...range, ...(items === undefined ? {} : { items }) })),
    fc
      .tuple(
        fc.dictionary(names, tie('schema')),
        fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
        some(fc.boolean()),
      )
      .map(([properties, picks, additionalProperties]) => ({
        type: 'object',
        properties,
        required: Object.keys(properties).filter((_name, index) => picks[index]),
        ...(additionalProperties === undefined ? {} : { additionalProperties }),
      })),
  ),
}));

const { value: anyValue } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    texts,
    fc.constantFrom<JsonValue>(null, true, 0, 1, 2, 5, -1, 0.5),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value')),
  ),
}));

/** Values that fit a schema or almost fit it. */
function near(given: JsonObject): fc.Arbitrary<JsonValue> {
  const {
    type,
    properties = {},
    items,
  } = given as { type: string; properties?: Record<string, JsonObject>; items?: JsonObject };
  switch (type) {
    case 'string':
      return texts;
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(items === undefined ? anyValue : near(items), { maxLength: 4 });
    case 'object':
      return fc.record(
        Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, near(property)])),
        {
          requiredKeys: [],
        },
      ) as fc.Arbitrary<JsonValue>;
    default:
      return fc.constantFrom(0, 1, 2, 3, 0.5);
  }
}

test('the inputs check accepts the same values as a JSON Schema validator', () => {
  const ajv = new Ajv({ strict: false });
  const seen = { fits: 0, doesNot: 0 };
  fc.assert(
    fc.property(
      schema.chain((given) =>
        fc.tuple(fc.constant(given), fc.array(fc.oneof(anyValue, near(given)), { minLength: 1, maxLength: 30 })),
      ),
      ([given, values]) => {
        expect(problemsOfInputs({ type: 'object', properties: { it: given } })).toEqual([]);
        const validate = ajv.compile(given);
        for (const value of values) {
          const { problems, value: checked } = checkValue(given as unknown as InputSchema, value, 'it');
          expect(problems.length === 0).toBe(validate(value));
          if (problems.length === 0) expect(checked).toEqual(value);
          seen[problems.length === 0 ? 'fits' : 'doesNot'] += 1;
        }
        ajv.removeSchema(given);
      },
    ),
    { numRuns: 150 },
  );
  expect(Math.min(seen.fits, seen.doesNot)).toBeGreaterThan(100);
});
