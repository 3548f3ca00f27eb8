import { expect, test } from 'vitest';
import { parseTurn, toolResultText } from './agent-protocol.ts';

const read = (text: string) => parseTurn(text);

test('an answer ends with its FINAL, over as many lines as it has', () => {
  expect(read('thinking\n FINAL: one\ntwo\n')).toEqual({ calls: [], final: 'one\ntwo', problems: [] });
});

test('a call has JSON on its line, or over several lines until its brackets close', () => {
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
])('a model is told what is wrong with %j', (text, problem) => {
  expect(read(text)).toMatchObject({ calls: [], final: null, problems: [expect.stringContaining(problem)] });
});

test('a call cut off by the next marker spoils that one alone, and a FINAL beside calls is not taken', () => {
  const turn = read('TOOL_CALL:a.b|{\nTOOL_CALL:c.d|{}\nFINAL: guess');
  expect(turn.calls).toEqual([{ skillId: 'c.d', input: {} }]);
  expect(turn.problems).toEqual([
    expect.stringContaining('TOOL_CALL:a.b'),
    expect.stringContaining('FINAL came together'),
  ]);
});

test('ten calls of a turn are carried out, and of what is wrong no more is told than helps', () => {
  expect(read('TOOL_CALL:a.b|{}\n'.repeat(12))).toMatchObject({ calls: { length: 10 }, problems: { length: 2 } });
  expect(read('TOOL_CALL:a.b|\n'.repeat(5_000)).problems.length).toBe(20);
});

test('a failed tool call shows the model its error and the output that it left', () => {
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
