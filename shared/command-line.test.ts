import { expect, test } from 'vitest';
import { commandLine } from './command-line.ts';

test('each argument can be told from the others', () => {
  expect(commandLine(['ls', '-la', '/tmp', 'a b', '', '--force'])).toBe('ls -la /tmp "a b" "" --force');
  expect(commandLine(['echo', `say "hi"`, 'two\nlines', 'Grüße'])).toBe('echo "say \\"hi\\"" "two\\nlines" Grüße');
});
