import { expect, test } from 'vitest';
import { jsonErrorAt, lineAt, locate, partsOf } from './json-locator.ts';

const json = JSON.stringify(
  {
    name: 'a "b" ] }',
    stepsJson: [{ type: 'log' }, { input: { 'a.b': [1, { deep: true }], key: 'x' } }],
    limits: null,
  },
  null,
  2,
);
const found = (path: string) => {
  const { from, to } = locate(json, path);
  return json.slice(from, to);
};

test('a path of the hub leads to its value in the text', () => {
  expect(found('body.name')).toBe('"a \\"b\\" ] }"');
  expect(JSON.parse(found('body.stepsJson[0]'))).toEqual({ type: 'log' });
  expect(found('body.stepsJson[1].input.key')).toBe('"x"');
  expect(found('stepsJson[0].type')).toBe('"log"');
  expect(found('body.limits')).toBe('null');
});

test('a path that the text does not have leads to its nearest ancestor', () => {
  expect(JSON.parse(found('body.stepsJson[0].message'))).toEqual({ type: 'log' });
  expect(JSON.parse(found('headers.if-match'))).toEqual(JSON.parse(json));
});

test('lines are counted from 1', () => {
  expect(lineAt(json, 0)).toBe(1);
  expect(lineAt(json, locate(json, 'body.stepsJson').from)).toBe(3);
  expect(partsOf('body.a[2].b')).toEqual(['a', 2, 'b']);
});

test.each([
  ['{\n  "name": "x",\n  steps: []\n}', 3],
  ['{\n  "a": 1\n  "b": 2\n}', 3],
  ['{\n  "a": [1, 2,\n  ]\n}', 3],
  ['{\n  "a": 01\n}', 2],
  ['{ "a": 1,\n', 1],
  ['{\n "ü \\u00e9 😀": ["\\n[]"],\n "b": "x\ty" }', 3],
  ['{}\n{}', 2],
])('the line at which a text stops being JSON: %j', (text, line) => {
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(lineAt(text, jsonErrorAt(text))).toBe(line);
});
