import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { ensureScreen } from '../../hub/demo/screen.ts';
import { startVirtualScreen } from '../fixtures/virtual-screen.ts';

const hasXvfb = spawnSync('Xvfb', ['-help']).error === undefined;

test.skipIf(!hasXvfb)('the demo finds a free display number if others are in use (needs Xvfb)', async () => {
  const home = await mkdtemp(join(tmpdir(), 'outrigger-demo-screen-'));
  vi.stubEnv('DISPLAY', undefined);
  vi.stubEnv('WAYLAND_DISPLAY', undefined);
  try {
    using otherScreen = await startVirtualScreen();
    await using stack = new AsyncDisposableStack();
    const found = await ensureScreen(stack, { home, signal: AbortSignal.timeout(60_000) });
    expect(found).toMatch(/^:\d+$/);
    expect(found).not.toBe(otherScreen.display);
  } finally {
    vi.unstubAllEnvs();
    await rm(home, { recursive: true, force: true });
  }
});
