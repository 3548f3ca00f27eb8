import { statSync } from 'node:fs';
import { findBrowser } from './commands/browser/find-browser.ts';
import { lacksSandbox, sandboxProblem } from './commands/browser/sandbox.ts';
import { describeCapture } from './commands/capture-devices.ts';
import type { DataFolder } from './data-folder.ts';
import { DeviceSecrets } from './device-secrets.ts';
import { HubClient } from './hub-client.ts';
import { ProcessGuard } from './process-guard.ts';
import { askStatus, describeRunning } from './running-status.ts';

/** One thing that was looked at; `warn` is no failure. */
export interface DoctorCheck {
  check: string;
  state: 'ok' | 'warn' | 'fail';
  detail: string;
}

const deadlineMs = 15_000;
const skewAllowedMs = 60_000;

/** Looks at everything that the companion needs on this machine. */
export async function examine(folder: DataFolder): Promise<DoctorCheck[]> {
  const checks: DoctorCheck[] = [];
  const add = (check: string, state: DoctorCheck['state'], detail: string) => checks.push({ check, state, detail });
  const signal = AbortSignal.timeout(deadlineMs);
  await using guard = new ProcessGuard();

  add('data folder', 'ok', folder.path);
  const pairing = folder.readPairing();
  if (pairing === null) add('pairing', 'fail', 'not paired; pair with: outrigger-companion pair CODE --hub URL');
  else {
    add('pairing', 'ok', `node ${pairing.nodeId} of ${pairing.hub}`);
    try {
      const identity = await new DeviceSecrets(null).open(folder, pairing);
      const { clockAheadMs } = await new HubClient(identity.hub, identity.deviceSecret).call(
        'pollAutomationNodeCommands',
        { params: { id: identity.nodeId }, query: { wait: 0, max: 0 } },
        { signal, timeoutMs: 10_000 },
      );
      add('hub', 'ok', 'answers, and knows this machine');
      const skewed = Math.abs(clockAheadMs) > skewAllowedMs;
      add(
        'clock',
        skewed ? 'warn' : 'ok',
        skewed ? `differs from the hub's by ${Math.round(clockAheadMs / 1000)} s` : 'agrees with the hub',
      );
    } catch (error) {
      add('hub', 'fail', (error as Error).message);
    }
  }
  const running = await askStatus(folder);
  add(
    'running',
    running === null ? 'warn' : 'ok',
    running === null ? 'no; start it with: outrigger-companion run' : describeRunning(running),
  );

  const settings = folder.settingsInForce();
  add(
    'paused',
    settings.paused ? 'warn' : 'ok',
    settings.paused ? 'yes; go on with: outrigger-companion resume' : 'no',
  );
  for (const shared of settings.sharedFolders) {
    const there = statSync(shared, { throwIfNoEntry: false })?.isDirectory() === true;
    add(
      'shared folder',
      there ? 'ok' : 'fail',
      there ? shared : `${shared} is not there; take it off with: outrigger-companion unshare ${shared}`,
    );
  }
  const capture = await describeCapture(guard, signal);
  add(
    'screen',
    capture.screen.available ? 'ok' : settings.capture.screen ? 'fail' : 'warn',
    capture.screen.available
      ? capture.displays.map(({ index, name, width, height }) => `${index}: ${name} ${width}x${height}`).join(', ') ||
          'available'
      : (capture.screen.reason ?? 'not available'),
  );
  for (const tool of capture.tools)
    add(tool.name, tool.path === null ? 'warn' : 'ok', tool.path ?? `missing; get it with: ${tool.hint}`);
  add('cameras', 'ok', capture.cameras.map(({ id, name }) => `${name} (${id})`).join(', ') || 'none');
  add('microphones', 'ok', capture.microphones.map(({ name }) => name).join(', ') || 'none');
  const browser = findBrowser(settings.browser.executablePath);
  add(
    'browser',
    browser === null ? (settings.browser.allowed ? 'fail' : 'warn') : 'ok',
    browser === null ? 'no Chrome, Edge or Chromium' : browser.path,
  );
  const unsafe = sandboxProblem(settings.browser);
  if (lacksSandbox() && settings.browser.allowed)
    add(
      'sandbox',
      unsafe === null ? 'warn' : 'fail',
      unsafe ??
        'THE BROWSER RUNS WITHOUT ITS SANDBOX, AS ROOT: a page that breaks out of it has the whole machine; run the companion as another user',
    );
  add(
    'allowed',
    'ok',
    [
      settings.system.allowed ? 'system' : '',
      settings.browser.allowed ? 'browser' : '',
      settings.capture.screen ? 'screen' : '',
      settings.capture.camera ? 'camera' : '',
      settings.capture.audio ? 'audio' : '',
    ]
      .filter((name) => name !== '')
      .join(', ') || 'nothing',
  );
  return checks;
}
