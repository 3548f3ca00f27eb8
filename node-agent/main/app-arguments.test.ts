import { expect, test } from 'vitest';
import { readArguments, readSecondStart, restartArguments } from './app-arguments.ts';

test('arguments of a start are parsed, and additions by Chromium and desktops are ignored', () => {
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

test('a restart keeps the arguments, except those that apply only once', () => {
  const args = ['--no-sandbox', '--data-folder', '/d', '--hidden', '--pause', '--wait-ms=10', 'outrigger://pair?hub=x'];
  expect(restartArguments(args)).toEqual(['--no-sandbox', '--data-folder', '/d', '--hidden']);
  expect(restartArguments(args, false)).toEqual(['--no-sandbox', '--data-folder', '/d']);
  expect(restartArguments(['--data-folder=/d'], true)).toEqual(['--data-folder=/d', '--hidden']);
});

test('the delay of a restart is limited to 60 seconds', () => {
  for (const [given, waitMs] of [
    ['1e9', 60_000],
    ['-5', 0],
    ['soon', 0],
  ] as const)
    expect(readArguments([`--wait-ms=${given}`], {}).waitMs).toBe(waitMs);
});

test('invalid arguments of a second start only open the window', () => {
  const pause = readArguments(['--pause'], {});
  expect(readSecondStart(JSON.parse(JSON.stringify(pause)))).toEqual(pause);
  for (const data of [undefined, null, 'pause', { pause: 'yes' }, []])
    expect(readSecondStart(data)).toEqual(readArguments([], {}));
});
