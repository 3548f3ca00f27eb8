import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findTool } from '../../node-agent/runtime/commands/media-tool.ts';
import { electronPath, needsElectron } from '../fixtures/electron-runtime.ts';
import { startApp } from './app.ts';
import { hasDesktop, startDesktop } from './desktop.ts';

const nobody = 65_534;
const asNobody = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];
const isRoot = process.getuid?.() === 0;

/** Whether a user who is not root may create the namespaces of Chromium's sandbox, and can read the project folder. */
const mayHaveSandbox = (() => {
  if (electronPath === null || findTool('setpriv') === null) return false;
  const tries = ['unshare --user --net true', `test -r ${JSON.stringify(electronPath)}`];
  try {
    for (const script of tries)
      execFileSync('setpriv', [...asNobody, 'sh', '-c', script], { stdio: 'ignore', timeout: 120_000 });
    return isRoot;
  } catch {
    return false;
  }
})();
describe.skipIf(!hasDesktop || !mayHaveSandbox)(
  `a user who is not root ${needsElectron} (and root to switch to that user, setpriv, user namespaces)`,
  () => {
    test('the app runs in the sandbox of Chromium', async () => {
      const home = mkdtempSync(join(tmpdir(), 'outrigger-nobody-'));
      try {
        chmodSync(home, 0o755);
        for (const name of ['data', 'home']) {
          mkdirSync(join(home, name), { mode: 0o700 });
          chownSync(join(home, name), nobody, nobody);
        }
        const start = join(home, 'start');
        writeFileSync(start, `#!/bin/sh\nexec setpriv ${asNobody.join(' ')} '${electronPath}' "$@"\n`, { mode: 0o755 });
        await using desktop = await startDesktop();
        await using app = await startApp(desktop, {
          executablePath: start,
          asRoot: false,
          dataFolder: join(home, 'data'),
          // The bus and the temporary files of the tests belong to another user, so this user cannot use them.
          env: {
            HOME: join(home, 'home'),
            TMPDIR: join(home, 'home'),
            XDG_RUNTIME_DIR: join(home, 'home'),
            DBUS_SESSION_BUS_ADDRESS: '',
          },
        });
        const pid = await app.electron.evaluate(({ BrowserWindow }) =>
          BrowserWindow.getAllWindows()[0]?.webContents.getOSProcessId(),
        );
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        // The process has a system call filter, cannot gain privileges, and is in its own PID namespace.
        expect(status).toMatch(/^Seccomp:\t2$/m);
        expect(status).toMatch(/^NoNewPrivs:\t1$/m);
        expect(status.match(/^NSpid:\t(.*)$/m)?.[1]?.split('\t').length).toBeGreaterThan(1);
        expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('--no-sandbox');
      } finally {
        rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
      }
    });
  },
);
