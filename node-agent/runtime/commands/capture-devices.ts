import { readdirSync, readFileSync } from 'node:fs';
import { graphics } from 'systeminformation';
import type { ProcessGuard } from '../process-guard.ts';
import { findTool, runTool, toolHint } from './media-tool.ts';

/** A display. Its position is in pixels of the whole desktop. */
export interface Display {
  index: number;
  name: string;
  width: number;
  height: number;
  x: number;
  y: number;
}

export interface MediaDevice {
  id: string;
  name: string;
}

const listTimeoutMs = 10_000;

export const describeDisplay = ({ index, name, width, height }: Display) => `${index}: ${name} ${width}x${height}`;

/** Lists the displays of this machine, the main one first. */
export async function listDisplays(guard: ProcessGuard, signal: AbortSignal): Promise<Display[]> {
  if (process.platform === 'linux' && process.env['DISPLAY'] !== undefined) {
    const monitors = await listX11Displays(guard, signal);
    if (monitors.length > 0) return monitors;
  }
  const { displays } = await graphics();
  const sorted = displays.toSorted((left, right) => Number(right.main) - Number(left.main));
  return sorted.flatMap((display, index) => {
    const width = display.currentResX ?? display.resolutionX ?? 0;
    const height = display.currentResY ?? display.resolutionY ?? 0;
    return width > 0 && height > 0
      ? [
          {
            index,
            name: display.model || `Display ${index}`,
            width,
            height,
            x: display.positionX,
            y: display.positionY,
          },
        ]
      : [];
  });
}

async function listX11Displays(guard: ProcessGuard, signal: AbortSignal): Promise<Display[]> {
  const xrandr = findTool('xrandr');
  if (xrandr !== null) {
    const { stdout } = await runTool(guard, xrandr, ['--listmonitors'], { signal, timeoutMs: listTimeoutMs });
    // " 0: +*eDP-1 1920/344x1080/194+0+0  eDP-1"
    const found = [...stdout.matchAll(/^[ \t]*\d+: \+(\*?)(\S+) (\d+)\/\d+x(\d+)\/\d+\+(-?\d+)\+(-?\d+)/gm)].map(
      ([, main, name, width, height, x, y]) => ({
        main: main === '*',
        display: {
          index: 0,
          name: name as string,
          width: Number(width),
          height: Number(height),
          x: Number(x),
          y: Number(y),
        },
      }),
    );
    if (found.length > 0)
      return found
        .toSorted((left, right) => Number(right.main) - Number(left.main))
        .map(({ display }, index) => ({ ...display, index }));
  }
  const xdpyinfo = findTool('xdpyinfo');
  if (xdpyinfo === null) return [];
  const { stdout } = await runTool(guard, xdpyinfo, [], { signal, timeoutMs: listTimeoutMs });
  const size = /dimensions:\s+(\d+)x(\d+) pixels/.exec(stdout);
  return size === null
    ? []
    : [
        {
          index: 0,
          name: process.env['DISPLAY'] ?? 'screen',
          width: Number(size[1]),
          height: Number(size[2]),
          x: 0,
          y: 0,
        },
      ];
}

/** Lists the cameras. The ID is the name of the device for ffmpeg. */
export async function listCameras(guard: ProcessGuard, signal: AbortSignal): Promise<MediaDevice[]> {
  if (process.platform === 'linux') {
    return videoDevices().map((id) => ({
      id: `/dev/${id}`,
      name: readText(`/sys/class/video4linux/${id}/name`) || id,
    }));
  }
  return listByFfmpeg(guard, signal, 'video');
}

/** Whether a sound source is the monitor of a speaker, which records what the speaker plays, and not a microphone. */
export const isMonitor = ({ id }: MediaDevice): boolean => id.endsWith('.monitor');

/**
 * The microphone that is recorded when the command names no device. It is the default source of the system, or the
 * first microphone if the default source is a monitor; null without a microphone.
 */
export async function defaultMicrophone(
  guard: ProcessGuard,
  sources: readonly MediaDevice[],
  signal: AbortSignal,
): Promise<MediaDevice | null> {
  const microphones = sources.filter((source) => !isMonitor(source));
  const pactl = process.platform === 'linux' ? findTool('pactl') : null;
  const configured =
    pactl === null
      ? null
      : await runTool(guard, pactl, ['get-default-source'], { signal, timeoutMs: listTimeoutMs }).catch(() => null);
  return microphones.find(({ id }) => id === configured?.stdout.trim()) ?? microphones[0] ?? null;
}

/**
 * Lists the sound sources: microphones, and on Linux the monitors of speakers. The ID is the name of the source for
 * ffmpeg.
 */
export async function listMicrophones(guard: ProcessGuard, signal: AbortSignal): Promise<MediaDevice[]> {
  if (process.platform !== 'linux') return listByFfmpeg(guard, signal, 'audio');
  const pactl = findTool('pactl');
  if (pactl === null) return [];
  const { stdout, exitCode } = await runTool(guard, pactl, ['list', 'short', 'sources'], {
    signal,
    timeoutMs: listTimeoutMs,
  });
  return exitCode === 0
    ? stdout
        .split('\n')
        .flatMap((line) =>
          line.split('\t')[1] === undefined
            ? []
            : [{ id: line.split('\t')[1] as string, name: line.split('\t')[1] as string }],
        )
    : [];
}

/** Whether a sound server responds to this user. Recording on Linux requires one. */
export async function hasSoundServer(guard: ProcessGuard, signal: AbortSignal): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const pactl = findTool('pactl');
  return pactl !== null && (await runTool(guard, pactl, ['info'], { signal, timeoutMs: listTimeoutMs })).exitCode === 0;
}

/** Whether the default source of the system is muted; false if the state is not known. */
export async function isMuted(guard: ProcessGuard, signal: AbortSignal): Promise<boolean> {
  const pactl = process.platform === 'linux' ? findTool('pactl') : null;
  if (pactl === null) return false;
  // LC_ALL=C makes pactl print English text.
  const { stdout } = await runTool(guard, '/usr/bin/env', ['LC_ALL=C', pactl, 'get-source-mute', '@DEFAULT_SOURCE@'], {
    signal,
    timeoutMs: listTimeoutMs,
  });
  return /:\s*yes\b/i.test(stdout);
}

function videoDevices(): string[] {
  try {
    return readdirSync('/dev')
      .filter((name) => /^video\d+$/.test(name))
      .toSorted();
  } catch {
    return [];
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

async function listByFfmpeg(guard: ProcessGuard, signal: AbortSignal, kind: 'video' | 'audio'): Promise<MediaDevice[]> {
  const ffmpeg = findTool('ffmpeg');
  if (ffmpeg === null) return [];
  const isMac = process.platform === 'darwin';
  const { stderr } = await runTool(
    guard,
    ffmpeg,
    ['-hide_banner', '-f', isMac ? 'avfoundation' : 'dshow', '-list_devices', 'true', '-i', isMac ? '' : 'dummy'],
    { signal, timeoutMs: listTimeoutMs },
  );
  if (isMac) {
    const section = stderr.split(/AVFoundation audio devices/)[kind === 'video' ? 0 : 1] ?? '';
    return [...section.matchAll(/\] \[(\d+)\] (.+)$/gm)].flatMap(([, id = '', name = '']) =>
      name.startsWith('Capture screen') ? [] : [{ id, name }],
    );
  }
  return [...stderr.matchAll(/"([^"]+)" \((video|audio)\)/g)].flatMap(([, name = '', found]) =>
    found === kind ? [{ id: name, name }] : [],
  );
}

/** Why the screen cannot be captured, with the name of the missing tool if there is one; null if it can be captured. */
export function screenProblem(): { code: string; message: string; tool?: string } | null {
  if (process.platform === 'darwin') return null;
  if (process.platform === 'win32') return null;
  if (
    process.env['WAYLAND_DISPLAY'] !== undefined &&
    process.env['DISPLAY'] === undefined &&
    findTool('grim') === null
  ) {
    return {
      code: 'tool_missing',
      tool: 'grim',
      message: `grim is not installed on this machine; get it with: ${toolHint('grim')}`,
    };
  }
  if (process.env['WAYLAND_DISPLAY'] === undefined && process.env['DISPLAY'] === undefined) {
    return {
      code: 'permission_needed',
      message: 'There is no screen here: start the companion in a desktop session, or with DISPLAY set.',
    };
  }
  if (findTool('ffmpeg') === null && findTool('grim') === null)
    return {
      code: 'tool_missing',
      tool: 'ffmpeg',
      message: `ffmpeg is not installed on this machine; get it with: ${toolHint('ffmpeg')}`,
    };
  return null;
}
