import { expect, test } from 'vitest';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import { authorsOfSteps } from './step-authors.ts';

const read = (key: string, id?: string) =>
  ({ type: 'skill', skillId: 'memory.read', input: { key }, ...(id === undefined ? {} : { id }) }) as unknown as Step;
const run = (argv: string[], more: object = {}) =>
  ({ type: 'skill', skillId: 'system.run', input: { nodeId: 'n', argv }, ...more }) as unknown as Step;
const log = (message: string): Step => ({ type: 'log', message, level: 'info' });

/** The authors after Alice wrote steps, Mallory changed them, and Alice changed them again. */
function authorsAfter(written: Step[], changed: Step[], last: Step[]): string[] {
  const first = { steps: written, authors: authorsOfSteps(null, written, 'alice') };
  const second = { steps: changed, authors: authorsOfSteps(first, changed, 'mallory') };
  return [...new Set(Object.values(authorsOfSteps(second, last, 'alice')))].toSorted();
}

const use = run(['sh', '-c', '{{steps.safe.output.value}}']);
const guard = { when: '{{payload.confirmed}}' };

test.each([
  [
    'exchanges the ids of steps',
    [read('a', 'safe'), read('b', 'other'), use, log('x')],
    [read('a', 'other'), read('b', 'safe'), use, log('x')],
  ],
  [
    'removes the step before one that reads {{last}}',
    [read('b'), read('a'), run(['sh', '-c', '{{last.output.value}}']), log('x')],
    [read('b'), run(['sh', '-c', '{{last.output.value}}']), log('x')],
  ],
  ['removes a condition', [run(['rm', 'x'], guard), log('x')], [run(['rm', 'x']), log('x')]],
  [
    'lets a step before a command fail',
    [read('guard'), run(['rm', 'x']), log('x')],
    [{ ...read('guard'), continueOnError: true }, run(['rm', 'x']), log('x')],
  ],
  [
    'repeats a step that was there twice',
    [run(['rm', 'x']), run(['rm', 'x']), log('x')],
    [run(['rm', 'x']), run(['rm', 'x']), run(['rm', 'x']), log('x')],
  ],
  [
    'exchanges commands between equal steps',
    [log('ask'), run(['stop']), log('ask'), run(['wipe']), log('x')],
    [log('ask'), run(['wipe']), log('ask'), run(['stop']), log('x')],
  ],
  ['repeats a step', [run(['rm', 'x']), log('x')], [run(['rm', 'x']), run(['rm', 'x']), log('x')]],
  ['changes the order', [read('a'), read('b'), use, log('x')], [read('b'), read('a'), use, log('x')]],
])(
  'an author who %s stays an author when another person changes another step afterwards',
  (_what, written, changed) => {
    expect(authorsAfter(written, changed, [...changed.slice(0, -1), log('y')])).toEqual(['alice', 'mallory']);
  },
);

test.each([
  ['the step before', [read('guard'), log('a'), use, log('x')], [log('a'), use, log('x')], [log('b'), use, log('x')]],
  [
    'a label',
    [run(['rm', 'x'], guard), log('x')],
    [run(['rm', 'x']), log('x')],
    [run(['rm', 'x'], { name: 'Clean' }), log('x')],
  ],
])('an author who rearranges steps stays an author when another person edits %s', (_what, written, changed, last) => {
  expect(authorsAfter(written, changed, last)).toEqual(['alice', 'mallory']);
});

test('the author of a removed step is not an author any more', () => {
  const written = [read('a', 'safe'), use];
  expect(authorsAfter(written, [...written, log('x')], written)).toEqual(['alice']);
});
