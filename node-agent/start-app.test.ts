import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

test.skipIf(process.getuid?.() !== 0)(
  'as root, `npm run app` prints the reason and the remedy instead of a Chromium crash (needs root)',
  () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['node-agent/start-app.ts'], { encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(
      /^outrigger-companion: as root the window has no sandbox.* Start it as the user whose machine this is/,
    );
    expect(stderr).not.toContain('FATAL');
  },
);
