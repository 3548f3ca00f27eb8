import { accessSync, constants, readdirSync, readFileSync, statSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import type { HostOffer } from '../../shared/companion/host.ts';
import type { LocalSettings, Power } from '../../shared/companion/settings.ts';
import type { Remedy, SystemPermission } from '../../shared/companion/state.ts';
import { findBrowser } from './commands/browser/find-browser.ts';
import { lacksSandbox, sandboxProblem } from './commands/browser/sandbox.ts';
import { describeDisplay, isMonitor, screenProblem } from './commands/capture-devices.ts';
import type { Display, MediaDevice } from './commands/capture-devices.ts';
import { isMoved } from './commands/files.ts';
import { findTool, toolHint } from './commands/media-tool.ts';

/** The devices that the system listed. A field is undefined when the system did not answer. */
export interface DeviceCheck {
  displays?: Display[] | undefined;
  cameras?: MediaDevice[] | undefined;
  microphones?: MediaDevice[] | undefined;
  soundServer?: boolean | undefined;
  /** The answers of the app around this runtime. */
  host: Partial<Record<Power, SystemPermission>>;
}

export interface FolderCheck {
  path: string;
  problem: 'gone' | 'not_a_folder' | 'moved' | 'not_readable' | null;
  isOwn: boolean;
}

/** A remedy as one line, with the command to copy. */
export const describeRemedy = ({ text, action }: Remedy) =>
  action?.kind === 'copy' ? `${text.replace(/[.]$/, '')}: ${action.command}` : text;

/** A permission as one line: its state, and how to solve a problem. */
export const describePermission = ({ detail, remedy }: SystemPermission) =>
  remedy === null ? detail : `${detail} ${describeRemedy(remedy)}`;

type Captures = HostOffer['captures'];

const granted = (detail: string): SystemPermission => ({ state: 'granted', detail, remedy: null });
const notGranted = (
  state: SystemPermission['state'],
  detail: string,
  text: string,
  action: Remedy['action'] = null,
): SystemPermission => ({ state, detail, remedy: { text, action } });
const copy = (command: string): Remedy['action'] => ({ kind: 'copy', command });
const quoted = (path: string) => `'${path.replaceAll("'", String.raw`'\''`)}'`;
const missingTool = (name: string, what: string): SystemPermission =>
  notGranted('missing', `${what} needs ${name}, which is not installed.`, `Install ${name}.`, copy(toolHint(name)));

/** Hint for systems that do not report a denial but return black pictures or silence: only a test shows it. */
const runTestHint = 'Run the test: it shows whether the system lets the companion.';
const panes = {
  screen: { name: 'Screen Recording', pane: 'screen' },
  camera: { name: 'Camera', pane: 'camera' },
  audio: { name: 'Microphone', pane: 'microphone' },
} as const;

/** How to allow a power in the system's own settings. Null when the system has no such pane. */
export function paneRemedy(power: 'screen' | 'camera' | 'audio'): Remedy | null {
  const { name, pane } = panes[power];
  if (process.platform === 'darwin')
    return {
      text: `Allow it in System Settings, Privacy & Security, ${name}; then start the companion again.`,
      action: { kind: 'open_settings', pane },
    };
  if (process.platform === 'win32' && power !== 'screen')
    return {
      text: `Let desktop apps use it in Settings, Privacy & security, ${name}.`,
      action: { kind: 'open_settings', pane },
    };
  return null;
}

const unknownPermission = (power: 'screen' | 'camera' | 'audio', detail: string): SystemPermission => ({
  state: 'unknown',
  detail,
  remedy: paneRemedy(power) ?? { text: runTestHint, action: null },
});

/** Whether X programs can capture only each other, because a Wayland desktop draws the screen. */
export const isBehindWayland = () =>
  process.platform === 'linux' && (process.env['WAYLAND_DISPLAY'] ?? '') !== '' && process.env['DISPLAY'] !== undefined;

export function screenPermission({ displays, host }: DeviceCheck, captures: Captures): SystemPermission {
  if (host.screen !== undefined) return host.screen;
  const list = displays?.map(describeDisplay).join(', ') ?? '';
  if (captures.includes('screen')) return unknownPermission('screen', list || 'The app captures the screen itself.');
  const problem = screenProblem();
  if (problem?.tool !== undefined) return missingTool(problem.tool, 'Capturing the screen');
  if (problem !== null) {
    const xServer = xServers()[0];
    return notGranted(
      'missing',
      'There is no screen here: neither DISPLAY nor WAYLAND_DISPLAY is set.',
      'Start the companion in a desktop session, or with DISPLAY set.',
      xServer === undefined ? null : copy(`DISPLAY=${xServer} outrigger-companion run`),
    );
  }
  if (displays === undefined) return unknownPermission('screen', 'The system has not listed its displays yet.');
  if (process.platform === 'win32') return granted(list || 'The screen can be captured.');
  if (process.platform === 'darwin') return unknownPermission('screen', list || 'The system names no display.');
  if (process.env['DISPLAY'] === undefined)
    return unknownPermission('screen', `${list || 'The screen'}, by grim, if the compositor lets it.`);
  if (isBehindWayland())
    return unknownPermission(
      'screen',
      `${list || 'A display'} of a Wayland desktop, of which X programs see only a part.`,
    );
  if (displays.length === 0)
    return unknownPermission(
      'screen',
      `DISPLAY=${process.env['DISPLAY']} names no display: no X server is there, it does not let this user in, or xrandr and xdpyinfo are missing.`,
    );
  return granted(list);
}

export function cameraPermission({ cameras, host }: DeviceCheck, captures: Captures): SystemPermission {
  if (host.camera !== undefined) return host.camera;
  const byApp = captures.includes('camera');
  const list = cameras?.map(({ id, name }) => (id === name ? name : `${name} (${id})`)).join(', ') ?? '';
  if (!byApp && findTool('ffmpeg') === null) return missingTool('ffmpeg', 'Taking a picture');
  // On other systems ffmpeg lists the cameras, and the app does not need ffmpeg.
  if (byApp && process.platform !== 'linux')
    return unknownPermission('camera', list || 'The app takes pictures with the camera itself.');
  if (cameras === undefined) return unknownPermission('camera', 'The system has not listed its cameras yet.');
  if (cameras.length === 0)
    return notGranted('missing', 'No camera is connected.', 'Connect a camera, or switch on the one that is built in.');
  if (process.platform !== 'linux') return unknownPermission('camera', list);
  const usable = cameras.filter(({ id }) => canAccess(id, constants.R_OK | constants.W_OK));
  if (usable.length > 0) return granted(list);
  const group = groupOf(cameras[0]?.id ?? '') ?? 'video';
  const { username } = userInfo();
  return notGranted(
    'denied',
    `The user ${username} may not open ${cameras.map(({ id }) => id).join(', ')}.`,
    `Add the user to the group ${group}, then sign in again.`,
    copy(`sudo usermod -aG ${group} ${quoted(username)}`),
  );
}

export function audioPermission({ microphones, soundServer, host }: DeviceCheck, captures: Captures): SystemPermission {
  if (host.audio !== undefined) return host.audio;
  const list = microphones?.map(({ name }) => name).join(', ') ?? '';
  const byApp = captures.includes('audio');
  if (byApp && process.platform !== 'linux') return unknownPermission('audio', list || 'The app records sound itself.');
  if (!byApp && findTool('ffmpeg') === null) return missingTool('ffmpeg', 'Recording sound');
  if (microphones === undefined) return unknownPermission('audio', 'The system has not listed its microphones yet.');
  if (process.platform !== 'linux')
    return microphones.length === 0
      ? notGranted('missing', 'No microphone is connected.', 'Connect a microphone.', paneRemedy('audio')?.action)
      : unknownPermission('audio', list);
  if (findTool('pactl') === null)
    return notGranted(
      'unknown',
      'pactl is not installed, so the microphones are not known.',
      'Install pactl.',
      copy(toolHint('pactl')),
    );
  if (soundServer !== true)
    return notGranted(
      'missing',
      'No sound server answers: neither PulseAudio nor PipeWire runs for this user.',
      'Start the companion in your desktop session, or start a sound server.',
      copy('systemctl --user start pipewire-pulse || pulseaudio --start'),
    );
  if (microphones.every(isMonitor))
    return notGranted(
      'missing',
      list === ''
        ? 'No microphone is connected.'
        : `No microphone is connected, only what the speakers play (${list}).`,
      "Connect a microphone, or choose one in the system's sound settings.",
    );
  return granted(
    microphones
      .filter((source) => !isMonitor(source))
      .map(({ name }) => name)
      .join(', '),
  );
}

/** Checks one shared folder. It takes as long as its disk needs. */
export async function checkSharedFolder(path: string): Promise<FolderCheck> {
  try {
    const found = await stat(path);
    const isOwn = found.uid === process.getuid?.();
    if (!found.isDirectory()) return { path, problem: 'not_a_folder', isOwn };
    if (await isMoved(path)) return { path, problem: 'moved', isOwn };
    const isReadable = await access(path, constants.R_OK | constants.X_OK).then(
      () => true,
      () => false,
    );
    return { path, problem: isReadable ? null : 'not_readable', isOwn };
  } catch (error) {
    const isGone = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
    return { path, problem: isGone ? 'gone' : 'not_readable', isOwn: false };
  }
}

/** Why one shared folder cannot be used, or null. */
function folderProblem({ path, problem, isOwn }: FolderCheck): SystemPermission | null {
  const unshare = `outrigger-companion unshare ${quoted(path)}`;
  switch (problem) {
    case null:
      return null;
    case 'gone':
      return notGranted('missing', `${path} is not there.`, 'Connect its disk, or unshare it.', copy(unshare));
    case 'not_a_folder':
      return notGranted(
        'missing',
        `${path} is not a folder any more.`,
        'Unshare it, and share a folder.',
        copy(unshare),
      );
    case 'moved':
      return notGranted(
        'denied',
        `${path} leads to another folder now, which you did not share.`,
        'Put the folder back, or unshare it and share it again.',
        copy(unshare),
      );
    case 'not_readable':
      return isOwn
        ? notGranted('denied', `${path} can't be read.`, 'Let its owner read it.', copy(`chmod u+rx ${quoted(path)}`))
        : notGranted(
            'denied',
            `The user ${userInfo().username} can't read ${path}.`,
            process.platform === 'darwin'
              ? 'Allow it in System Settings, Privacy & Security, Files & Folders, or unshare it.'
              : 'Get permission from its owner to read it, or unshare it.',
            copy(unshare),
          );
  }
}

export function filesPermission(shared: readonly string[], checks: FolderCheck[] | undefined): SystemPermission {
  if (shared.length === 0)
    return notGranted('missing', 'No folder is shared.', 'Share a folder that workflows may read.', {
      kind: 'share_folder',
    });
  if (checks === undefined)
    return notGranted(
      'unknown',
      `The shared folders do not answer: ${shared.join(', ')}.`,
      'Check whether one of their disks or network drives hangs.',
    );
  const problems = checks.flatMap((check) => folderProblem(check) ?? []);
  const [first] = problems;
  if (first === undefined) return granted(shared.join(', '));
  return { ...first, detail: problems.map(({ detail }) => detail).join(' ') };
}

export function systemRunPermission(): SystemPermission {
  const { username } = userInfo();
  return granted(
    process.getuid?.() === 0
      ? `Programs run as ${username}, who may do anything on this machine.`
      : `Programs run as ${username}.`,
  );
}

export function browserPermission(settings: LocalSettings['browser']): SystemPermission {
  const browser = findBrowser(settings.executablePath);
  if (browser === null)
    return settings.executablePath === undefined
      ? notGranted(
          'missing',
          'No Chrome, Edge or Chromium is installed.',
          'Install a browser.',
          copy(toolHint('chromium')),
        )
      : notGranted(
          'missing',
          `There is no browser at ${settings.executablePath}.`,
          'Name another in browser.executablePath of settings.json, or none, to use the one that is installed.',
        );
  if (sandboxProblem(settings) !== null)
    return notGranted(
      'denied',
      `${browser.path}, but the companion runs as root, and as root Chromium has no sandbox: a page that breaks out of it has the whole machine.`,
      'Run the companion as another user, or allow it anyway.',
      copy('outrigger-companion allow browser --without-sandbox'),
    );
  return granted(lacksSandbox() ? `${browser.path}, as root and without its sandbox` : browser.path);
}

function canAccess(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** The name of a file's group, unless it is root's group. */
function groupOf(path: string): string | null {
  try {
    const { gid } = statSync(path);
    const line = readFileSync('/etc/group', 'utf8')
      .split('\n')
      .find((entry) => entry.split(':')[2] === String(gid));
    return gid === 0 ? null : (line?.split(':')[0] ?? null);
  } catch {
    return null;
  }
}

/** X servers of this machine, as DISPLAY names them. */
function xServers(): string[] {
  try {
    return readdirSync('/tmp/.X11-unix')
      .filter((name) => /^X\d+$/.test(name))
      .map((name) => `:${name.slice(1)}`)
      .toSorted();
  } catch {
    return [];
  }
}
