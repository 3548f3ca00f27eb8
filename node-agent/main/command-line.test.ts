import { expect, test } from 'vitest';
import { cliArguments } from './command-line.ts';

test.each([
  [[], null],
  [['--hidden', '--wait-ms=5', '--no-sandbox', ''], null],
  [['outrigger://pair?hub=x&code=y'], null],
  [['--data-folder', '/d', '--hidden'], null],
  [['--data-folder', '/d', 'Outrigger://pair'], null],
  [['pause'], ['pause']],
  [
    ['--no-sandbox', '--data-folder', '/d', 'allow', 'screen', '--for', '8h'],
    ['--data-folder', '/d', 'allow', 'screen', '--for', '8h'],
  ],
  [
    ['--data-folder=/d', 'pair', 'AAAA-BBBB', '--hub', 'https://x'],
    ['--data-folder=/d', 'pair', 'AAAA-BBBB', '--hub', 'https://x'],
  ],
  [['nonsense'], ['nonsense']],
  [['--no-sandbox', '--help'], ['--help']],
  [['--version'], ['--version']],
  [
    ['pause', '--help'],
    ['pause', '--help'],
  ],
  [['--data-folder'], ['--data-folder']],
])('%j is a start of the command line with %j', (args, expected) => {
  expect(cliArguments(args, false)).toEqual(expected);
});

test('the app path of an unpackaged Electron is not a command', () => {
  expect(cliArguments(['--no-sandbox', '/project'], true)).toBeNull();
  expect(cliArguments(['--no-sandbox', '/project', '--hidden'], true)).toBeNull();
  expect(cliArguments(['--no-sandbox', '/project', 'pause'], true)).toEqual(['pause']);
});
