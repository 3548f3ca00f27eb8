import { expect, test } from 'vitest';
import { changedFacts } from './facts.ts';

const disk = (mount: string) => ({ mount, totalBytes: 100, usedBytes: 50 });
const knownOf = (disks: ReturnType<typeof disk>[]) =>
  ({
    device: null,
    facts: { disks },
    paused: false,
    allowSystem: true,
    allowBrowser: false,
  }) as Parameters<typeof changedFacts>[0];

test('a changed order of disks is not recorded as a change', () => {
  const noted = changedFacts(knownOf([disk('/'), disk('/home')]), null);
  expect(noted?.disks.map(({ mount }) => mount)).toEqual(['/', '/home']);
  expect(changedFacts(knownOf([disk('/home'), disk('/')]), noted)).toBeNull();
  expect(changedFacts(knownOf([disk('/')]), noted)).not.toBeNull();
});
