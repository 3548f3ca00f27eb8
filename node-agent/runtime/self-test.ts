import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { captureAudio, captureCamera, captureScreen } from '../../shared/commands/capture.ts';
import { systemRun } from '../../shared/commands/system.ts';
import type { TestPart, TestResult } from '../../shared/companion/control.ts';
import { isAllowed } from '../../shared/companion/settings.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import type { SystemPermission } from '../../shared/companion/state.ts';
import { background } from './background.ts';
import type { BrowserSession } from './commands/browser/session.ts';
import { isMuted } from './commands/capture-devices.ts';
import { captureHandlers } from './commands/capture.ts';
import { CommandError } from './commands/handler.ts';
import type { CommandContext, ResultArtifact } from './commands/handler.ts';
import { systemHandlers } from './commands/system.ts';
import type { Identity } from './data-folder.ts';
import type { HostPort } from './host-port.ts';
import { askHub } from './hub-check.ts';
import { isBehindWayland, paneRemedy } from './permission-answers.ts';
import type { PermissionReader } from './permissions.ts';
import { decodePicture, faultOf, shrink } from './picture.ts';
import type { PictureFault } from './picture.ts';
import type { ProcessGuard } from './process-guard.ts';
import { measureSound } from './sound.ts';
import { untilAborted } from './until-aborted.ts';

/** The dependencies of a self-test. They are the ones that the hub's commands use. */
export interface SelfTestDeps {
  /** Read before each part, so that a part that the owner denied in the meantime is not tested. */
  settings: () => LocalSettings;
  /** Called only for the test of the hub, because a key store may prompt. Null when the machine is not paired. */
  identity: () => Promise<Pick<Identity, 'hub' | 'nodeId' | 'deviceSecret'> | null>;
  /** Parent of the folder for captured files, which is removed after the test. */
  temporary: string;
  guard: ProcessGuard;
  browser: BrowserSession;
  permissions: PermissionReader;
  host?: HostPort | undefined;
}

type Outcome = Pick<TestResult, 'state' | 'detail' | 'permission' | 'picture'>;

interface PartContext {
  deps: SelfTestDeps;
  settings: LocalSettings;
  command: CommandContext;
  /** The bytes that the handler attached. */
  captured: () => Promise<Buffer>;
}

const deadlinesMs: Record<TestPart, number> = {
  screen: 20_000,
  camera: 20_000,
  audio: 15_000,
  system: 10_000,
  browser: 40_000,
  hub: 10_000,
};
const pageTimeoutMs = 15_000;
/** How long the explanation of a failure waits for the system. Together with `deadlinesMs`, less than callers wait. */
const explainWaitMs = 12_000;

const tests: Record<TestPart, (part: PartContext) => Promise<Outcome>> = {
  screen: testScreen,
  camera: testCamera,
  audio: testAudio,
  system: testProgram,
  browser: testBrowser,
  hub: testHub,
};

/**
 * Tests what workflows may use by using it, one part after the other. Captured pictures and sound are examined here and
 * sent nowhere. A part that the owner switched off is not used. @throws the signal's reason.
 */
export async function runSelfTest(
  parts: readonly TestPart[],
  deps: SelfTestDeps,
  { signal, onResult }: { signal: AbortSignal; onResult?: (result: TestResult) => void },
): Promise<TestResult[]> {
  const results: TestResult[] = [];
  for (const part of new Set(parts)) {
    const startedAt = performance.now();
    const outcome = await runPart(part, deps, signal);
    const result = { part, ...outcome, durationMs: Math.round(performance.now() - startedAt) };
    results.push(result);
    onResult?.(result);
  }
  return results;
}

const failed = (detail: string, permission: SystemPermission | null = null): Outcome => ({
  state: 'failed',
  detail,
  permission,
  picture: null,
});
const passed = (detail: string): Outcome => ({ state: 'passed', detail, permission: null, picture: null });
const off = (detail: string): Outcome => ({ state: 'off', detail, permission: null, picture: null });

async function runPart(part: TestPart, deps: SelfTestDeps, signal: AbortSignal): Promise<Outcome> {
  signal.throwIfAborted();
  const settings = deps.settings();
  if (part !== 'hub') {
    if (settings.paused) return off('The companion is paused, so nothing was tried.');
    if (!isAllowed(settings, part, Date.now()))
      return off(`Switched off, so nothing was tried; switch it on with: outrigger-companion allow ${part}`);
  }
  const timedOut = new AbortController();
  const seconds = deadlinesMs[part] / 1000;
  const timer = setTimeout(
    () => timedOut.abort(new CommandError('timeout', `It took longer than ${seconds} s.`)),
    deadlinesMs[part],
  );
  let folder: string | undefined;
  try {
    folder = await mkdtemp(join(deps.temporary, 'test-'));
    const ends = AbortSignal.any([signal, timedOut.signal]);
    return await untilAborted(tests[part](contextOf(deps, settings, folder, ends)), ends);
  } catch (error) {
    signal.throwIfAborted();
    return await explain(part, error as Error, deps, settings, signal);
  } finally {
    clearTimeout(timer);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

function contextOf(deps: SelfTestDeps, settings: LocalSettings, folder: string, signal: AbortSignal): PartContext {
  const artifacts: ResultArtifact[] = [];
  return {
    deps,
    settings,
    command: {
      commandId: randomUUID(),
      nodeId: '',
      signal,
      settings,
      approval: undefined,
      origin: undefined,
      readArtifact: () => Promise.reject(new CommandError('not_found', 'The self-test has no run.')),
      temporaryFolder: folder,
      noteOpened: () => undefined,
      attach: (artifact) => artifacts.push(artifact),
    },
    captured: async () => {
      const content = artifacts[0]?.content;
      if (content === undefined) throw new CommandError('failed', 'Nothing was captured.');
      return Buffer.isBuffer(content) ? content : readFile(content.filePath, { signal });
    },
  };
}

/** Explains why a part failed, and what denies it as far as the system reports it. */
async function explain(
  part: TestPart,
  error: Error,
  deps: SelfTestDeps,
  settings: LocalSettings,
  signal: AbortSignal,
): Promise<Outcome> {
  const { message } = error;
  if (part === 'hub') return failed(message);
  const permission = (await deps.permissions.readPermissions(settings, signal, explainWaitMs))[part];
  if (permission.state === 'missing' || permission.state === 'denied') return failed(permission.detail, permission);
  // The system reports that it is allowed, but the error shows that it is not.
  if (error instanceof CommandError && error.code === 'permission_needed')
    return failed(message, { state: 'denied', detail: message, remedy: permission.remedy });
  return failed(message, permission.remedy === null ? null : permission);
}

async function testScreen({ deps, command, captured }: PartContext): Promise<Outcome> {
  const { 'node.capture_screen': capture } = captureHandlers(deps.guard, deps.host);
  await capture(captureScreen.input.parse({}), command);
  const byApp = deps.host?.offer.captures.includes('screen') === true;
  const picture = decodePicture(await captured());
  const size = `${picture.width}x${picture.height}`;
  const fault = faultOf(picture, 'screen');
  if (fault !== null)
    return {
      ...failed(`The picture of the screen, ${size}, is ${faultText[fault]}.`, emptyScreen(byApp)),
      picture: shrink(picture),
    };
  return {
    ...passed(`A picture of the screen, ${size}, that shows something.`),
    permission: process.platform === 'darwin' && !byApp ? maybeOnlyWallpaper() : null,
    picture: shrink(picture),
  };
}

async function testCamera({ deps, command, captured }: PartContext): Promise<Outcome> {
  const { 'node.capture_camera': capture } = captureHandlers(deps.guard, deps.host);
  await capture(captureCamera.input.parse({}), command);
  return evaluateCamera(await captured());
}

/** The result for a camera's picture. @throws CommandError `failed` when the bytes are no picture. */
export function evaluateCamera(bytes: Buffer): Outcome {
  const picture = decodePicture(bytes);
  const size = `${picture.width}x${picture.height}`;
  const fault = faultOf(picture, 'camera');
  const outcome =
    fault === null
      ? passed(`A picture of the camera, ${size}, that shows something.`)
      : failed(`The picture of the camera, ${size}, is ${faultText[fault]}.`, emptyCamera());
  return { ...outcome, picture: shrink(picture) };
}

async function testAudio({ deps, command, captured }: PartContext): Promise<Outcome> {
  const { 'node.capture_audio': capture } = captureHandlers(deps.guard, deps.host);
  await capture(captureAudio.input.parse({ seconds: 1 }), command);
  const { durationMs, decibels, isSilent } = measureSound(await captured());
  const length = `${(durationMs / 1000).toFixed(1)} s`;
  if (!isSilent) return passed(`${length} of sound at ${Math.round(decibels)} dBFS.`);
  const muted = await isMuted(deps.guard, command.signal).catch(() => false);
  return failed(`${length} were recorded, but only silence.`, silentMicrophone(muted));
}

async function testProgram({ deps, command }: PartContext): Promise<Outcome> {
  const { 'system.run': run } = systemHandlers(deps.guard);
  const word = `outrigger-self-test-${command.commandId}`;
  const argv = process.platform === 'win32' ? ['cmd.exe', '/d', '/c', `echo ${word}`] : ['echo', word];
  const { exitCode, stdout, stderr } = await run(systemRun.input.parse({ argv }), command);
  if (exitCode === 0 && stdout.trim() === word)
    return passed(`${argv[0]} ran as ${userInfo().username}, and its output was returned completely.`);
  const output = `${stdout} ${stderr}`.trim().slice(0, 300);
  return failed(
    exitCode === 0
      ? `${argv[0]} printed something other than its argument: ${output}`
      : `${argv[0]} ended with ${exitCode === null ? 'a signal' : `exit code ${exitCode}`}: ${output}`,
  );
}

/** Opens a page without an address, so that the lists of hosts do not apply and the history stays unchanged. */
async function testBrowser({ deps, settings, command: { commandId, signal } }: PartContext): Promise<Outcome> {
  return deps.browser.withPage(
    settings.browser,
    { key: 'self-test', runId: null },
    { newPage: true },
    async ({ page }) => {
      const close = () => page.close().catch(() => undefined);
      const onAbort = () => background(close(), 'closing a page');
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        signal.throwIfAborted();
        const wanted = `Outrigger self-test ${commandId}`;
        await page.setContent(
          `<!doctype html><title>${wanted}</title><body style="font: 36px system-ui, sans-serif; margin: 96px"><p>This page was opened by the self-test of the companion.</p>`,
          { timeout: pageTimeoutMs },
        );
        const title = await page.title();
        if (title !== wanted) return failed(`The page has an unexpected title: ${title.slice(0, 200)}`);
        const picture = decodePicture(await page.screenshot({ type: 'png', timeout: pageTimeoutMs }));
        const version = page.context().browser()?.version();
        return {
          ...passed(`${version === undefined ? 'The browser' : `The browser, version ${version},`} opened a page.`),
          picture: shrink(picture),
        };
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener('abort', onAbort);
        await close();
      }
    },
  );
}

async function testHub({ deps, command: { signal } }: PartContext): Promise<Outcome> {
  const identity = await deps.identity();
  if (identity === null)
    return failed('This machine is not paired; pair it with: outrigger-companion pair CODE --hub URL');
  const { clock } = await askHub(identity, signal);
  return passed(`${identity.hub} answers, and knows this machine; this machine's clock ${clock}.`);
}

// Possible causes of an empty capture, and remedies. Many systems deny a power only by black pictures or silence.

const withText = (state: SystemPermission['state'], detail: string, text: string): SystemPermission => ({
  state,
  detail,
  remedy: { text, action: null },
});

const faultText: Record<PictureFault, string> = { black: 'all black', one_colour: 'all one colour' };

/** @param byApp Whether the app around this runtime took the picture. */
function emptyScreen(byApp: boolean): SystemPermission {
  if (process.platform === 'darwin')
    return {
      state: 'denied',
      detail: 'macOS does not let the companion see the screen.',
      remedy: paneRemedy('screen'),
    };
  if (byApp && process.platform === 'linux' && (process.env['WAYLAND_DISPLAY'] ?? '') !== '')
    return {
      state: 'denied',
      detail: 'The desktop shared a screen on which nothing is drawn, or does not share it any more.',
      remedy: { text: 'Choose again which screen is shared.', action: { kind: 'ask_system', power: 'screen' } },
    };
  if (!byApp && isBehindWayland())
    return withText(
      'denied',
      'Programs of X see nothing of a Wayland desktop.',
      'Use the app, which asks the desktop for the screen, or sign in to an X11 session.',
    );
  return withText(
    'unknown',
    'Nothing is drawn on this screen, or it is locked or asleep.',
    'Unlock it, open a window there, and test again.',
  );
}

/** Without the permission, macOS returns the wallpaper alone. A program cannot distinguish that from a real picture. */
const maybeOnlyWallpaper = (): SystemPermission => ({
  state: 'unknown',
  detail: 'Where the picture shows the wallpaper without any window, macOS does not let the companion see the screen.',
  remedy: paneRemedy('screen'),
});

function emptyCamera(): SystemPermission {
  const pane = paneRemedy('camera');
  const remedyText = 'Open its shutter, close other programs that use it, and test again.';
  return {
    state: 'unknown',
    detail: `The camera is covered or has no signal${pane === null ? '' : ', or the system does not let the companion use it'}.`,
    remedy: { text: pane === null ? remedyText : `${remedyText} ${pane.text}`, action: pane?.action ?? null },
  };
}

function silentMicrophone(muted: boolean): SystemPermission {
  if (muted)
    return {
      state: 'denied',
      detail: 'The microphone is muted.',
      remedy: {
        text: 'Switch it on.',
        action: { kind: 'copy', command: 'pactl set-source-mute @DEFAULT_SOURCE@ 0' },
      },
    };
  const pane = paneRemedy('audio');
  if (pane !== null)
    return {
      state: process.platform === 'darwin' ? 'denied' : 'unknown',
      detail: 'The system does not let the companion use the microphone, or the microphone is switched off.',
      remedy: pane,
    };
  return withText(
    'unknown',
    'Nothing that sounds is connected to the default source, or it is switched off.',
    "Choose the microphone in the system's sound settings, raise its volume, and test again.",
  );
}
