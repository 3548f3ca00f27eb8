import { expect, test } from 'vitest';
import { readArguments, readSecondStart, restartArguments } from './app-arguments.ts';

test('a start is read from its words, whatever Chromium and a desktop add to them', () => {
  expect(readArguments([], {})).toEqual({
    dataFolder: null,
    pause: false,
    unpair: false,
    hidden: false,
    link: null,
    waitMs: 0,
  });
  expect(
    readArguments(['--no-sandbox', '--hidden', 'OUTRIGGER://pair?hub=x&code=y', '--data-folder=/d', '--wait-ms=2000'], {
      OUTRIGGER_COMPANION_HOME: '/other',
    }),
  ).toEqual({
    dataFolder: '/d',
    pause: false,
    unpair: false,
    hidden: true,
    link: 'OUTRIGGER://pair?hub=x&code=y',
    waitMs: 2_000,
  });
  expect(readArguments(['--hidden', '--data-folder', '/d'], { OUTRIGGER_COMPANION_HOME: '/other' }).dataFolder).toBe(
    '/d',
  );
  expect(readArguments(['--pause'], { OUTRIGGER_COMPANION_HOME: '/other' })).toMatchObject({
    dataFolder: '/other',
    pause: true,
    unpair: false,
  });
});

test('what goes on in the place of a start has its words, and nothing that was asked once', () => {
  const words = [
    '--no-sandbox',
    '--data-folder',
    '/d',
    '--hidden',
    '--pause',
    '--wait-ms=10',
    'outrigger://pair?hub=x',
  ];
  expect(restartArguments(words)).toEqual(['--no-sandbox', '--data-folder', '/d', '--hidden']);
  expect(restartArguments(words, false)).toEqual(['--no-sandbox', '--data-folder', '/d']);
  expect(restartArguments(['--data-folder=/d'], true)).toEqual(['--data-folder=/d', '--hidden']);
});

test('a wait is never longer than a restart wants', () => {
  for (const [given, waitMs] of [
    ['1e9', 60_000],
    ['-5', 0],
    ['soon', 0],
  ] as const)
    expect(readArguments([`--wait-ms=${given}`], {}).waitMs).toBe(waitMs);
});

test('a second start that says what nobody understands only wants the window', () => {
  const pause = readArguments(['--pause'], {});
  expect(readSecondStart(JSON.parse(JSON.stringify(pause)))).toEqual(pause);
  for (const said of [undefined, null, 'pause', { pause: 'yes' }, []])
    expect(readSecondStart(said)).toEqual(readArguments([], {}));
});
