import { expect, test } from 'vitest';
import { parseTurn, toolResultText } from './agent-protocol.ts';

const read = (text: string) => parseTurn(text);

test('the final text contains all lines after FINAL', () => {
  expect(read('thinking\n FINAL: one\ntwo\n')).toEqual({ calls: [], final: 'one\ntwo', problems: [] });
});

test('the JSON of a call is read from one line, or from several lines until its brackets close', () => {
  expect(read('TOOL_CALL:a.b|{"x":"}{\\"["}\nfoo\r\nTOOL_CALL: c.d | {\n "y": [1,\n 2]\n}\nand more').calls).toEqual([
    { skillId: 'a.b', input: { x: '}{"[' } },
    { skillId: 'c.d', input: { y: [1, 2] } },
  ]);
});

test.each([
  ['TOOL_CALL:a.b', 'needs a |'],
  ['TOOL_CALL:a.b|[1]', 'needs a JSON object'],
  ['TOOL_CALL:a.b|{"x":1} and then', 'is not JSON'],
  ['TOOL_CALL:a.b|{"x":', 'is not JSON'],
  [`TOOL_CALL:a.b|{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'nests more than 48 levels'],
  ['', 'neither a TOOL_CALL line nor FINAL'],
])('an invalid answer is reported to the model: %j', (text, problem) => {
  expect(read(text)).toMatchObject({ calls: [], final: null, problems: [expect.stringContaining(problem)] });
});

test('a call that the next marker cuts off does not affect other calls, and FINAL beside calls is rejected', () => {
  const turn = read('TOOL_CALL:a.b|{\nTOOL_CALL:c.d|{}\nFINAL: guess');
  expect(turn.calls).toEqual([{ skillId: 'c.d', input: {} }]);
  expect(turn.problems).toEqual([
    expect.stringContaining('TOOL_CALL:a.b'),
    expect.stringContaining('FINAL came together'),
  ]);
});

test('at most 10 calls per turn are accepted, and at most 20 problems are reported', () => {
  expect(read('TOOL_CALL:a.b|{}\n'.repeat(12))).toMatchObject({ calls: { length: 10 }, problems: { length: 2 } });
  expect(read('TOOL_CALL:a.b|\n'.repeat(5_000)).problems.length).toBe(20);
});

test('the result of a failed tool call contains its error and its output', () => {
  const failed = {
    call: 1,
    skillId: 'system.run',
    status: 'failed',
    error: { code: 'exit_code', message: 'exit code 3' },
  };
  expect(toolResultText({ ...failed, output: { stdout: 'half' } })).toBe(
    'TOOL_ERROR:system.run|{"code":"exit_code","message":"exit code 3"}\nOUTPUT:{"stdout":"half"}',
  );
  expect(toolResultText(failed)).toBe('TOOL_ERROR:system.run|{"code":"exit_code","message":"exit code 3"}');
});
