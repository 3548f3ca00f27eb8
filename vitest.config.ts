import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/recorded-timings.ts';

export default defineConfig({
  test: {
    globalSetup: ['test/fixtures/global-setup.ts'],
    setupFiles: ['test/fixtures/check-timers.ts'],
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    // Limits for tests that hang, not for slow ones: a busy machine takes several times as long.
    testTimeout: 240_000,
    hookTimeout: 300_000,
    teardownTimeout: 30_000,
    // Several times the longest lease (20 s), after which another process repeats unfinished work.
    expect: { poll: { timeout: 100_000, interval: 50 } },
    // Programs that tests start use the compile cache, as their launcher does.
    env: { NODE_ENV: 'test', NODE_COMPILE_CACHE: resolve('node_modules/.cache/compile') },
    projects: [
      {
        extends: true,
        test: {
          name: 'in process',
          // More than the cores of a small machine, because some workers wait.
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
          include: ['shared/**/*.test.ts', 'hub/**/*.test.ts', 'test/*.test.ts', 'test/api/**/*.test.ts'],
          // Loading the hub takes longer than most of these files, so each worker loads it only once.
          isolate: false,
        },
      },
      ...(
        [
          ['companion', 'node-agent/**/*.test.ts'],
          ['e2e', 'test/e2e/**/*.test.ts'],
          ['chaos', 'test/chaos/**/*.test.ts'],
        ] as const
      ).map(([name, files]) => ({
        extends: true as const,
        test: {
          name,
          // Some tests start and end several hubs, which takes long on a busy machine.
          testTimeout: 300_000,
          // More than the cores of a small machine, because most workers wait.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
          include: [files],
          // Loading the hub and the companion takes seconds, so each worker loads them only once.
          isolate: false,
        },
      })),
      {
        extends: true,
        test: {
          name: 'app',
          testTimeout: 300_000,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
          globalSetup: ['test/fixtures/electron-runtime.ts'],
          include: ['test/electron/**/*.test.ts'],
        },
      },
    ],
  },
});
