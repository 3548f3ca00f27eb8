import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { electronPath, needsElectron } from '../fixtures/electron-runtime.ts';
import { startApp } from './app.ts';
import { hasDesktop, startDesktop } from './desktop.ts';
import type { TestDesktop } from './desktop.ts';

const isAlive = (pid: number) => existsSync(`/proc/${pid}`);

describe.skipIf(electronPath === null || !hasDesktop)(`the companion process of the app ${needsElectron}`, () => {
  let desktop: TestDesktop;
  beforeAll(async () => {
    desktop = await startDesktop();
  });
  afterAll(async () => {
    await desktop?.[Symbol.asyncDispose]();
  });

  test('a killed companion restarts, and the window receives the event', async () => {
    await using app = await startApp(desktop);
    const before = (await app.companion())?.pid as number;
    await app.page.evaluate(() => {
      const seen: unknown[] = [];
      Object.assign(globalThis, { seen });
      (
        globalThis as unknown as {
          companion: { onEvent(listener: (event: { event: string; state: unknown }) => void): void };
        }
      ).companion.onEvent((event) => {
        if (event.event === 'app') seen.push(event.state);
      });
    });
    process.kill(before, 'SIGKILL');
    await expect.poll(async () => (await app.companion())?.pid ?? before).not.toBe(before);
    // The new companion responds before the app knows that it is ready.
    await expect.poll(async () => (await app.appState()).runtime).toEqual({ state: 'running', detail: null });
    const seen = await app.page.evaluate(() => (globalThis as unknown as { seen: unknown[] }).seen);
    expect(seen).toContainEqual(
      expect.objectContaining({
        runtime: { state: 'restarting', detail: expect.stringContaining('It restarts in 1 s.') as string },
      }),
    );
  });

  test.each(['at work', 'frozen'])('the companion ends when the app is killed (companion %s)', async (how) => {
    await using app = await startApp(desktop);
    const { pid } = (await app.companion()) as { pid: number };
    if (how === 'frozen') process.kill(pid, 'SIGSTOP');
    await app.kill();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});
