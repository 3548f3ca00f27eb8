import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTurn } from '../hub/engine/agent/agent-protocol.ts';
import { TemplateError, splitTemplate } from '../shared/template.ts';
import { CountingText } from './fixtures/counting-text.ts';

/** Characters that the parser reads per character of the text. */
function workPerCharacter(text: string, parse: (text: CountingText) => unknown): number {
  const counting = new CountingText(text);
  try {
    parse(counting);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
  }
  return counting.visited / Math.max(1, text.length);
}

const pieces = fc.array(
  fc.constantFrom(
    '{{',
    '}}',
    '{',
    '}',
    'payload',
    '.',
    ' ',
    '\n',
    'TOOL_CALL:x|',
    'TOOL_CALL:memory.read|{',
    'FINAL:',
    '"',
    '\\',
    '[',
    ']',
    '{"a":1}',
    'text',
  ),
  { minLength: 1, maxLength: 12 },
);

describe('the work of a parser grows linearly with its input', () => {
  const parsers = { template: splitTemplate, 'answer of a model': parseTurn } as const;

  test.each(Object.entries(parsers))('%s', (_name, parse) => {
    fc.assert(
      fc.property(
        pieces,
        fc.constantFrom(10, 100, 1_000),
        (unit, times) => workPerCharacter(unit.join('').repeat(times), parse) <= 6,
      ),
      { numRuns: 300 },
    );
  });

  test.each([
    ['template', '{{'.repeat(250_000)],
    ['template', '{{payload.a}}'.repeat(40_000)],
    ['template', `{{${' '.repeat(500_000)}`],
    ['answer of a model', 'TOOL_CALL:x|\n'.repeat(55_000)],
    ['answer of a model', `TOOL_CALL:memory.read|{${'\n'.repeat(60_000)}`],
    ['answer of a model', `TOOL_CALL:memory.read|${'{"a":\n'.repeat(100_000)}`],
    ['answer of a model', 'TOOL_CALL:memory.read|{\n'.repeat(30_000)],
  ] as const)('parsing takes linear time: %s, case %#', (name, text) => {
    expect(workPerCharacter(text, parsers[name])).toBeLessThanOrEqual(6);
  });
});
