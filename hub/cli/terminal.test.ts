import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { confirm, readPassword } from './terminal.ts';

/** Simulates a terminal, or a pipe, with the input `keys`. */
function typed(keys: string, isTTY = true) {
  const output = new PassThrough();
  const input = Object.assign(new PassThrough(), { isTTY });
  input.end(keys);
  return { input, output, shown: () => String(output.read() ?? '') };
}

test('readPassword prompts without showing the input on a terminal, and reads from a pipe', async () => {
  const terminal = typed('long enough password\r');
  expect(await readPassword(terminal)).toBe('long enough password');
  expect(terminal.shown()).toBe('Password (at least 12 characters): \n');
  expect(await readPassword(typed('long enough password\nmore\n', false))).toBe('long enough password');
});

test('confirm returns true only for y or yes typed on a terminal', async () => {
  for (const keys of ['y\r', 'YES\r']) expect(await confirm('Sure?', typed(keys))).toBe(true);
  for (const keys of ['\r', 'n\r', 'yesterday\r', '\u0003', '\u0004'])
    expect(await confirm('Sure?', typed(keys))).toBe(false);
  expect(await confirm('Sure?', typed('y\r', false))).toBe(false);
});
