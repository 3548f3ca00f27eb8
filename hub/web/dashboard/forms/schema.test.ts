import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { commands } from '../../../../shared/commands/catalog.ts';
import { checkValue, initialValue, kindOf, messagesByField, variantOf } from './schema.ts';
import type { JsonSchema } from './schema.ts';

const schemaOf = (input: z.ZodType) => z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
const click = schemaOf(commands['browser.click'].input);
const run = schemaOf(commands['system.run'].input);
const upload = schemaOf(commands['browser.upload'].input);

describe('a new form', () => {
  test('has the defaults, the required fields and no optional ones', () => {
    expect(initialValue(click)).toEqual({ target: { selector: '' }, button: 'left', clickCount: 1 });
    expect(initialValue(run)).toEqual({ argv: [''] });
    expect(initialValue(upload)).toEqual({ target: { selector: '' }, files: [] });
  });

  test.each(Object.values(commands).map(({ type, input }) => [type, input] as const))(
    'of %s has a field of its own for each property',
    (_type, input) => {
      const { properties = {} } = schemaOf(input);
      expect(Object.values(properties).map(kindOf)).not.toContain('json');
    },
  );

  test('of an unknown kind of schema is edited as JSON', () => {
    expect(kindOf({})).toBe('json');
    expect(kindOf({ anyOf: [{}, { type: 'string' }] })).toBe('json');
    expect(kindOf({ type: 'object', additionalProperties: {} })).toBe('json');
  });
});

describe('a value of several variants', () => {
  const target = click.properties?.['target'] as JsonSchema;

  test.each([
    [{ selector: '#a', frame: 'iframe' }, 0],
    [{ role: 'button', name: 'Send' }, 1],
    [{ text: 'Send' }, 2],
    [{ ref: 'e1' }, 3],
    [{}, 0],
  ])('%j belongs to its variant', (value, variant) => {
    expect(variantOf(target, value)).toBe(variant);
  });
});

describe('a check before the request', () => {
  test('finds what the hub would refuse, at the path of its field', () => {
    expect(checkValue(run, { argv: [], env: { '1x': '', ok: '1' }, timeoutMs: 5 })).toEqual([
      { path: 'argv', kind: 'tooFew', limit: 1 },
      { path: 'env.1x', kind: 'badName', limit: 0 },
      { path: 'timeoutMs', kind: 'tooSmall', limit: 100 },
    ]);
    expect(checkValue(click, { target: { role: 'Button' }, clickCount: 9 })).toEqual([
      { path: 'target.role', kind: 'pattern', limit: 0 },
      { path: 'clickCount', kind: 'tooLarge', limit: 3 },
    ]);
    expect(checkValue(click, {})).toEqual([{ path: 'target', kind: 'required', limit: 0 }]);
    expect(checkValue(upload, { target: { text: 'x' }, files: [{ path: '' }] })).toEqual([
      { path: 'files[0].path', kind: 'required', limit: 0 },
    ]);
  });

  test('accepts what the command accepts', () => {
    const value = { argv: ['uname', '-a'], env: { INPUT_A: '' }, cwd: '/tmp' };
    expect(commands['system.run'].input.safeParse(value).success).toBe(true);
    expect(checkValue(run, value)).toEqual([]);
  });

  test('leaves a pattern that this browser cannot read to the hub', () => {
    expect(checkValue({ type: 'string', pattern: '(' }, 'x')).toEqual([]);
  });
});

test('a message of the hub is shown at its field, or at the nearest one around it', () => {
  const value = { argv: ['a'], target: { selector: '' }, env: {} };
  const schema: JsonSchema = { ...run, properties: { ...run.properties, ...click.properties } };
  const messages = ['argv[0]', 'argv[7].x', 'target.selector', 'target', 'env.A', 'argvalue', ''].map((path) => ({
    path,
    message: `about ${path}`,
  }));
  expect(messagesByField(schema, value, messages)).toEqual({
    'argv[0]': 'about argv[0]',
    argv: 'about argv[7].x',
    'target.selector': 'about target.selector',
    target: 'about target',
    env: 'about env.A',
    '': 'about argvalue about ',
  });
});
