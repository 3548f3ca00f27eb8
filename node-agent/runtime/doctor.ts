import { statfsSync } from 'node:fs';
import { effectiveSettings, isAllowed, usablePowers } from '../../shared/companion/settings.ts';
import { AuditLog } from './audit.ts';
import { lacksSandbox, sandboxProblem } from './commands/browser/sandbox.ts';
import { findTool, toolHint } from './commands/media-tool.ts';
import { askCompanion } from './control/client.ts';
import type { DataFolder } from './data-folder.ts';
import { DeviceSecrets } from './device-secrets.ts';
import { askHub } from './hub-check.ts';
import { describePermission } from './permission-answers.ts';
import { PermissionReader } from './permissions.ts';
import type { SystemPermissions } from './permissions.ts';
import { ProcessGuard } from './process-guard.ts';
import { proxyFor } from './proxy.ts';
import { describeRunning, statusOf } from './running-status.ts';
import { readOwnFiles } from './state-view.ts';

/** The result of one check. `warn` is not a failure. */
export interface DoctorCheck {
  check: string;
  state: 'ok' | 'warn' | 'fail';
  detail: string;
}

/** Warning for an owner who is not asked before a program runs. */
export const unattended =
  'programs that are approved at the hub run here without asking you; be asked with: outrigger-companion ask on';

const fullBelowBytes = 64 * 1024;
const lowBelowBytes = 20 * 1024 * 1024;

/** Checks the free space of the data folder's disk. No command starts on a full disk. */
function checkDisk(path: string): [DoctorCheck['state'], string] {
  const { bavail, bsize, files, ffree } = statfsSync(path);
  const bytes = bavail * bsize;
  // Some file systems have no fixed number of files.
  const isOutOfFiles = files > 0 && ffree === 0;
  if (isOutOfFiles || bytes < fullBelowBytes)
    return [
      'fail',
      `full: ${isOutOfFiles ? 'no further file fits' : `${bytes} bytes are left`} on the disk of ${path}; no command starts until there is free space, because it could not be logged`,
    ];
  const left = `${Math.floor(bytes / (1024 * 1024))} MiB are left`;
  return bytes < lowBelowBytes ? ['warn', `nearly full: ${left}`] : ['ok', left];
}

const deadlineMs = 15_000;
const lookMs = 10_000;

/** Checks the hub through the running app, for a machine whose secret only the app can open. */
async function hubOfApp(folder: DataFolder, signal: AbortSignal): Promise<[DoctorCheck['state'], string]> {
  const tested = await askCompanion(folder, 'test', { parts: ['hub'] }, { signal });
  if (tested === null)
    return [
      'warn',
      "not checked: the secret of this machine is in the system's key store, and only the companion's app opens it; start the app",
    ];
  const [result] = tested.results;
  return result === undefined
    ? ['fail', 'the app did not answer']
    : [result.state === 'passed' ? 'ok' : 'fail', result.detail];
}

/** Checks everything that the companion needs on this machine. */
export async function examine(folder: DataFolder): Promise<DoctorCheck[]> {
  const checks: DoctorCheck[] = [];
  const add = (check: string, state: DoctorCheck['state'], detail: string) => checks.push({ check, state, detail });
  const signal = AbortSignal.timeout(deadlineMs);
  await using guard = new ProcessGuard();

  add('data folder', 'ok', folder.path);
  add('disk', ...checkDisk(folder.path));
  const { pairing, settings: own, broken, problem } = readOwnFiles(folder);
  const [first] = broken;
  const brokenPairing = broken.find(({ file }) => file === 'identity');
  if (problem !== null && first !== brokenPairing) add('settings', 'fail', problem);
  if (brokenPairing !== undefined)
    add(
      'pairing',
      'fail',
      (first === brokenPairing ? problem : null) ?? `${brokenPairing.path}: ${brokenPairing.detail}`,
    );
  else if (pairing === null) add('pairing', 'fail', 'not paired; pair with: outrigger-companion pair CODE --hub URL');
  else {
    add('pairing', 'ok', `node ${pairing.nodeId} of ${pairing.hub}`);
    try {
      const proxy = proxyFor(new URL(pairing.hub));
      if (proxy !== null) add('proxy', 'ok', `${proxy.origin} (${proxy.variable})`);
      if (pairing.sealedSecret === undefined) {
        const identity = await new DeviceSecrets(null).open(folder, pairing, signal);
        const { clock, isClockWrong } = await askHub(identity, signal);
        add('hub', 'ok', 'answers, and knows this machine');
        add('clock', isClockWrong ? 'warn' : 'ok', clock);
      } else add('hub', ...(await hubOfApp(folder, signal)));
    } catch (error) {
      add('hub', 'fail', (error as Error).message);
    }
  }
  const state = await askCompanion(folder, 'state', {}, { signal });
  const running = state === null ? null : statusOf(state);
  add(
    'running',
    running === null ? 'warn' : 'ok',
    running === null ? 'no; start it with: outrigger-companion run' : describeRunning(running),
  );

  const audit = running?.audit ?? { problem: new AuditLog(folder.audit).verify().problem, unwritten: 0 };
  add(
    'log',
    audit.problem === null ? (audit.unwritten === 0 ? 'ok' : 'warn') : 'fail',
    audit.problem ??
      (audit.unwritten === 0 ? folder.audit : `${audit.unwritten} entries wait for free space on the disk`),
  );
  const settings = effectiveSettings(state?.settings ?? own, folder.now());
  if (running?.edited) add('settings', 'warn', running.edited.detail);
  if (settings.system.allowed && !settings.system.ask) add('programs', 'warn', unattended);
  add(
    'paused',
    settings.paused ? 'warn' : 'ok',
    settings.paused ? 'yes; resume with: outrigger-companion resume' : 'no',
  );
  using reader = new PermissionReader(guard);
  // The permissions of the running companion count: it may have a screen that this terminal does not have.
  const permissions =
    state === null
      ? await reader.readPermissions(settings, signal, lookMs)
      : (Object.fromEntries(state.powers.map(({ power, system }) => [power, system])) as SystemPermissions);
  if (permissions.files.state === 'granted')
    for (const path of settings.sharedFolders) add('shared folder', 'ok', path);
  else if (settings.sharedFolders.length > 0) add('shared folder', 'fail', describePermission(permissions.files));
  for (const power of ['screen', 'camera', 'audio', 'browser'] as const) {
    const isWanted = isAllowed(settings, power, Date.now());
    const { state: answer } = permissions[power];
    const isMissing = answer === 'missing' || answer === 'denied';
    add(power, isMissing ? (isWanted ? 'fail' : 'warn') : 'ok', describePermission(permissions[power]));
  }
  const ffmpeg = findTool('ffmpeg');
  add('ffmpeg', ffmpeg === null ? 'warn' : 'ok', ffmpeg ?? `missing; install it with: ${toolHint('ffmpeg')}`);
  if (lacksSandbox() && settings.browser.allowed && sandboxProblem(settings.browser) === null)
    add(
      'sandbox',
      'warn',
      'THE BROWSER RUNS WITHOUT ITS SANDBOX, AS ROOT: a page that breaks out of it has the whole machine; run the companion as another user',
    );
  const allowed = usablePowers(settings, Date.now());
  add('allowed', 'ok', allowed.join(', ') || 'nothing');
  return checks;
}
