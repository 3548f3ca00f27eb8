import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';

export default defineConfig({
  test: {
    globalSetup: ['test/fixtures/global-setup.ts'],
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    // What is waited for comes soon; on a busy machine, later.
    expect: { poll: { timeout: 20_000, interval: 50 } },
    // Programs that tests start keep what was compiled, as they do when their launcher starts them.
    env: { NODE_ENV: 'test', NODE_COMPILE_CACHE: resolve('node_modules/.cache/compile') },
    projects: [
      {
        extends: true,
        test: {
          name: 'in process',
          // More than the cores of a small machine: some of them wait for what takes its time.
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
          include: ['shared/**/*.test.ts', 'hub/**/*.test.ts', 'test/*.test.ts', 'test/api/**/*.test.ts'],
          // Loading the hub takes longer than most of these files: a worker loads it once.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'processes',
          // Several hubs start and die in some; on a machine that others use, too, that takes as long as it takes.
          testTimeout: 180_000,
          // More than the cores of a small machine: most of them wait.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
          include: ['node-agent/**/*.test.ts', 'test/e2e/**/*.test.ts', 'test/chaos/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'app',
          testTimeout: 180_000,
          hookTimeout: 180_000,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
          globalSetup: ['test/fixtures/electron-runtime.ts'],
          include: ['test/electron/**/*.test.ts'],
        },
      },
    ],
  },
});
