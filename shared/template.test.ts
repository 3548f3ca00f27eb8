import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { TemplateScope } from './template.ts';
import {
  findTemplateProblems,
  isTruthy,
  maxRenderedLength,
  maxRenderedTotal,
  renderKnownTemplates,
  renderTemplates,
  TemplateError,
} from './template.ts';

const scope: TemplateScope = {
  context: 'ctx',
  payload: { a: { b: [10, { c: null }] }, text: 'x', flag: false },
  last: { output: 1, outputText: 'last text' },
  steps: { one: { output: { id: 7 } } },
  trigger: { type: 'manual' },
  run: { id: 'r' },
  now: '2026-01-01T00:00:00.000Z',
};

describe('templates', () => {
  test('keep the type of a single reference and render as text inside other text', () => {
    expect(
      renderTemplates(
        {
          whole: '{{payload.a}}',
          index: '{{ payload.a.b.0 }}',
          text: 'n={{payload.a.b.0}} o={{payload.a.b.1}} z={{payload.a.b.1.c}}.',
          list: ['{{steps.one.output.id}}'],
        },
        scope,
      ),
    ).toEqual({
      whole: { b: [10, { c: null }] },
      index: 10,
      text: 'n=10 o={"c":null} z=.',
      list: [7],
    });
  });

  test.each([
    '{{payload.missing}}',
    '{{payload.a.b.5}}',
    '{{payload.text.length}}',
    '{{payload.constructor}}',
    '{{payload.__proto__}}',
    '{{payload.a.b.map}}',
    '{{steps.two.output}}',
    '{{unknown}}',
    '{{}}',
    '{{payload..a}}',
    '{{1+1}}',
    '{{payload.a',
    '{{payload["a"]}}',
  ])('rendering %s throws a TemplateError', (template) => {
    expect(() => renderTemplates(template, scope)).toThrow(TemplateError);
  });

  test('never evaluate code, and throw only TemplateError for any text between the braces', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (inside) => {
        try {
          renderTemplates(`{{${inside}}}`, scope);
          return true;
        } catch (error) {
          return error instanceof TemplateError;
        }
      }),
    );
  });

  test('are checked before anything runs, with the path of each problem', () => {
    expect(
      findTemplateProblems(
        { a: ['{{payload.x}}', '{{steps.one.output}}', '{{steps.later.output}}'], b: '{{nope}}' },
        new Set(['one']),
      ).map(({ path }) => path),
    ).toEqual([['a', 2], ['b']]);
  });

  describe('are checked against the length limits before texts are joined', () => {
    const big = { ...scope, payload: { text: 'x'.repeat(1_000_000), tree: { a: 'y'.repeat(1_000_000) } } };
    const values = {
      'one text': '{{payload}}'.repeat(12_000),
      'one text of texts': '{{payload.text}} '.repeat(12_000),
      'many texts': Array.from({ length: 12_000 }, () => 'a {{payload}}'),
      'many whole references': Array.from({ length: 12_000 }, () => '{{payload.tree}}'),
      'many whole references to text': Object.fromEntries(
        Array.from({ length: 12_000 }, (_none, index) => [`key${index}`, '{{payload.text}}']),
      ),
    };
    const renderers = {
      'at a run': (value: never) => renderTemplates(value, big),
      'at a dry run': (value: never) => renderKnownTemplates(value, big),
    };

    test.each(Object.keys(renderers).flatMap((when) => Object.keys(values).map((what) => [when, what] as const)))(
      '%s: %s',
      (when, what) => {
        const stringify = vi.spyOn(JSON, 'stringify');
        try {
          expect(() => renderers[when as keyof typeof renderers](values[what as keyof typeof values] as never)).toThrow(
            new RegExp(`longer than (${maxRenderedLength}|${maxRenderedTotal}) characters`),
          );
          // Each serialized text has 1 MB: only as many as fit are created.
          expect(stringify.mock.calls.length).toBeLessThanOrEqual(maxRenderedTotal / 1_000_000 + 1);
        } finally {
          stringify.mockRestore();
        }
      },
    );

    test('a text of exactly the maximum length is rendered', () => {
      const exact = { ...scope, payload: { text: 'x'.repeat(maxRenderedLength / 4) } };
      expect((renderTemplates('{{payload.text}}'.repeat(4), exact) as string).length).toBe(maxRenderedLength);
      expect(() => renderTemplates(`${'{{payload.text}}'.repeat(4)}.`, exact)).toThrow(
        `longer than ${maxRenderedLength}`,
      );
    });
  });

  test.each([
    ['', false],
    ['0', false],
    [' False ', false],
    ['no', false],
    [0, false],
    [null, false],
    [[], false],
    [{}, false],
    ['yes', true],
    [1, true],
    [[0], true],
  ])('the condition %j is truthy: %s', (value, truthy) => {
    expect(isTruthy(value as never)).toBe(truthy);
  });
});
