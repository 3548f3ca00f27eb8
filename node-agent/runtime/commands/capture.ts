import { open, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { z } from 'zod';
import type { HostMethods } from '../../../shared/companion/host.ts';
import type { HostPort } from '../host-port.ts';
import { HostError } from '../host-port.ts';
import type { ProcessGuard } from '../process-guard.ts';
import { defaultMicrophone, listCameras, listDisplays, listMicrophones, screenProblem } from './capture-devices.ts';
import type { Display } from './capture-devices.ts';
import { CommandError } from './handler.ts';
import type { CommandContext, CommandHandlers } from './handler.ts';
import { imageSize } from './image-size.ts';
import { findTool, requireTool, runTool } from './media-tool.ts';

const screenTimeoutMs = 25_000;
const cameraTimeoutMs = 25_000;
/** Time limit of a recording, in addition to its length. */
const audioGraceMs = 20_000;

/** Arguments with which ffmpeg overwrites its output file without a prompt and prints only errors. */
const quietArguments = ['-hide_banner', '-loglevel', 'error', '-nostdin', '-y'];

/**
 * Captures screens, cameras and sound: through the app that runs this runtime if the app offers it, else with tools of
 * the system.
 */
export function captureHandlers(
  guard: ProcessGuard,
  host?: HostPort,
): Pick<CommandHandlers, 'node.capture_screen' | 'node.capture_camera' | 'node.capture_audio'> {
  return {
    async 'node.capture_screen'({ display, format, quality }, context) {
      const file = join(context.temporaryFolder, `screen.${format === 'png' ? 'png' : 'jpg'}`);
      const wanted = { display, format, quality, file };
      const app = capturingHost(host, 'captureScreen');
      if (app === undefined) await captureDisplay(guard, context, await chooseDisplay(guard, context, display), wanted);
      else await captureByHost(app, 'captureScreen', wanted, { signal: context.signal, timeoutMs: screenTimeoutMs });
      const size = await imageSize(file);
      return {
        artifact: attach(context, file, format === 'png' ? 'image/png' : 'image/jpeg'),
        contentType: format === 'png' ? 'image/png' : 'image/jpeg',
        bytes: (await stat(file)).size,
        ...size,
      };
    },

    async 'node.capture_camera'({ device }, context) {
      const file = join(context.temporaryFolder, 'camera.jpg');
      const app = capturingHost(host, 'captureCamera');
      if (app === undefined) await captureFrame(guard, context, device, file);
      else
        await captureByHost(
          app,
          'captureCamera',
          { device: device ?? null, file },
          { signal: context.signal, timeoutMs: cameraTimeoutMs },
        );
      return {
        artifact: attach(context, file, 'image/jpeg'),
        contentType: 'image/jpeg',
        bytes: (await stat(file)).size,
        ...(await imageSize(file)),
      };
    },

    async 'node.capture_audio'({ seconds, device }, context) {
      const file = join(context.temporaryFolder, 'audio.wav');
      const timeoutMs = seconds * 1000 + audioGraceMs;
      const app = capturingHost(host, 'captureAudio');
      if (app === undefined) await recordAudio(guard, context, { seconds, device, file, timeoutMs });
      else
        await captureByHost(
          app,
          'captureAudio',
          { device: device ?? null, seconds, file },
          { signal: context.signal, timeoutMs },
        );
      const bytes = (await stat(file)).size;
      return {
        artifact: attach(context, file, 'audio/wav'),
        contentType: 'audio/wav',
        bytes,
        durationMs: await wavDurationMs(file),
      };
    },
  };
}

type CaptureMethod = 'captureScreen' | 'captureCamera' | 'captureAudio';

const powerOf = { captureScreen: 'screen', captureCamera: 'camera', captureAudio: 'audio' } as const;
/** Error codes of the app that the command returns unchanged. */
const knownCodes = new Set(['permission_needed', 'not_found', 'timeout']);

/** The app that runs this runtime, if the app offers the capture; else undefined. */
function capturingHost(host: HostPort | undefined, method: CaptureMethod): HostPort | undefined {
  return host?.offer.captures.includes(powerOf[method]) === true ? host : undefined;
}

/**
 * Makes the app capture into `params.file`.
 * @throws CommandError `permission_needed`, `not_found`, `timeout` or `failed`; the reason of the signal if it aborts.
 */
async function captureByHost<Method extends CaptureMethod>(
  host: HostPort,
  method: Method,
  params: z.input<HostMethods[Method]['params']> & { file: string },
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<void> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  try {
    await host.call(method, params, AbortSignal.any([options.signal, timeout]));
  } catch (error) {
    options.signal.throwIfAborted();
    if (timeout.aborted)
      throw new CommandError('timeout', `The app did not capture within ${options.timeoutMs / 1000} s.`, {
        cause: error,
      });
    const code = error instanceof HostError && knownCodes.has(error.code) ? error.code : 'failed';
    throw new CommandError(code, (error as Error).message, { cause: error });
  }
  const bytes = await stat(params.file).then(
    ({ size }) => size,
    () => 0,
  );
  if (bytes === 0) throw new CommandError('failed', 'The app captured nothing.');
}

/**
 * Returns the display with an index; undefined for the main display (0) on a machine whose displays cannot be listed.
 * @throws CommandError with the reason why the display cannot be captured.
 */
async function chooseDisplay(guard: ProcessGuard, context: CommandContext, display: number) {
  const problem = screenProblem();
  if (problem !== null) throw new CommandError(problem.code, problem.message);
  const displays = await listDisplays(guard, context.signal).catch(() => []);
  const chosen = displays.find(({ index }) => index === display);
  if (chosen === undefined && (display !== 0 || displays.length > 0)) {
    throw new CommandError(
      'not_found',
      `There is no display ${display}; this machine has ${displays.length === 0 ? 'no display that can be listed' : displays.map(({ index, name }) => `${index} (${name})`).join(', ')}.`,
    );
  }
  return chosen;
}

async function captureFrame(
  guard: ProcessGuard,
  context: CommandContext,
  device: string | undefined,
  file: string,
): Promise<void> {
  const ffmpeg = requireTool('ffmpeg');
  const cameras = await listCameras(guard, context.signal);
  const camera = cameras.find(({ id, name }) => device === undefined || device === id || device === name);
  if (camera === undefined) throw new CommandError('not_found', missingDeviceMessage('camera', device, cameras));
  const input = {
    linux: ['-f', 'v4l2', '-i', camera.id],
    darwin: ['-f', 'avfoundation', '-framerate', '30', '-i', `${camera.id}:none`],
    win32: ['-f', 'dshow', '-i', `video=${camera.id}`],
  }[process.platform as 'linux'];
  // The first frames of a camera are often dark, so the sixth frame is used.
  await captureWithFfmpeg(
    guard,
    ffmpeg,
    [...input, '-vf', 'select=gte(n\\,5)', '-frames:v', '1', '-q:v', '3', '-t', '10', file],
    context,
    cameraTimeoutMs,
  );
}

async function recordAudio(
  guard: ProcessGuard,
  context: CommandContext,
  options: { seconds: number; device: string | undefined; file: string; timeoutMs: number },
): Promise<void> {
  const { seconds, device, file, timeoutMs } = options;
  const ffmpeg = requireTool('ffmpeg');
  // Only pactl says whether the default source is a microphone or the monitor of a speaker.
  if (process.platform === 'linux') requireTool('pactl');
  const sources = await listMicrophones(guard, context.signal);
  const source =
    device === undefined
      ? await defaultMicrophone(guard, sources, context.signal)
      : sources.find(({ id, name }) => device === id || device === name);
  if (source === undefined) throw new CommandError('not_found', missingDeviceMessage('microphone', device, sources));
  if (source === null)
    throw new CommandError(
      'not_found',
      sources.length === 0
        ? missingDeviceMessage('microphone', undefined, [])
        : `There is no microphone, only what the speakers play. Name it as device to record that: ${sources.map(({ name }) => name).join(', ')}.`,
    );
  const { id } = source;
  const input = {
    linux: ['-f', 'pulse', '-i', id],
    darwin: ['-f', 'avfoundation', '-i', `:${id}`],
    win32: ['-f', 'dshow', '-i', `audio=${id}`],
  }[process.platform as 'linux'];
  await captureWithFfmpeg(
    guard,
    ffmpeg,
    // Timestamps are derived from the sample count. With those of the sound server, its initial buffering would shorten
    // the recording.
    [
      ...input,
      '-af',
      'aresample=16000,asetpts=N/SR/TB',
      '-t',
      String(seconds),
      '-ac',
      '1',
      '-c:a',
      'pcm_s16le',
      '-bitexact',
      file,
    ],
    context,
    timeoutMs,
  );
}

async function captureDisplay(
  guard: ProcessGuard,
  context: CommandContext,
  chosen: Display | undefined,
  options: { display: number; format: 'png' | 'jpeg'; quality: number; file: string },
): Promise<void> {
  const { format, quality, file } = options;
  const run = (path: string, args: string[]) =>
    runTool(guard, path, args, { signal: context.signal, timeoutMs: screenTimeoutMs });
  if (process.platform === 'darwin') {
    const { exitCode, stderr } = await run('/usr/sbin/screencapture', [
      '-x',
      '-D',
      String(options.display + 1),
      '-t',
      format === 'png' ? 'png' : 'jpg',
      file,
    ]);
    if (exitCode !== 0)
      throw new CommandError(
        'permission_needed',
        `macOS does not let the companion capture the screen; allow it in System Settings, Privacy & Security, Screen Recording. ${stderr.trim().slice(0, 200)}`,
      );
    return;
  }
  if (process.platform === 'win32') {
    const script = `Add-Type -AssemblyName System.Windows.Forms,System.Drawing; $s=[System.Windows.Forms.Screen]::AllScreens[${options.display}].Bounds; $b=New-Object System.Drawing.Bitmap $s.Width,$s.Height; $g=[System.Drawing.Graphics]::FromImage($b); $g.CopyFromScreen($s.Location,[System.Drawing.Point]::Empty,$s.Size); $b.Save('${file.replaceAll("'", "''")}',[System.Drawing.Imaging.ImageFormat]::${format === 'png' ? 'Png' : 'Jpeg'})`;
    const { exitCode, stderr } = await run('powershell.exe', ['-NoProfile', '-NonInteractive', '-Command', script]);
    if (exitCode !== 0)
      throw new CommandError('failed', `The screen could not be captured: ${stderr.trim().slice(0, 300)}`);
    return;
  }
  const display = process.env['DISPLAY'];
  if (display === undefined) {
    const grim = findTool('grim') as string;
    const { exitCode, stderr } = await run(grim, [
      '-t',
      format,
      ...(format === 'jpeg' ? ['-q', String(quality)] : []),
      ...(chosen === undefined ? [] : ['-o', chosen.name]),
      file,
    ]);
    if (exitCode !== 0)
      throw new CommandError(
        'permission_needed',
        `The compositor did not allow the capture of the screen: ${stderr.trim().slice(0, 300)}`,
      );
    return;
  }
  const region = chosen === undefined ? [] : ['-video_size', `${chosen.width}x${chosen.height}`];
  const origin = chosen === undefined ? '' : `+${chosen.x},${chosen.y}`;
  // The quality scale of ffmpeg for JPEG goes from 2 (best) to 31.
  const encoding = format === 'png' ? [] : ['-q:v', String(Math.round(31 - (quality / 100) * 29))];
  await captureWithFfmpeg(
    guard,
    requireTool('ffmpeg'),
    ['-f', 'x11grab', ...region, '-i', `${display}${origin}`, '-frames:v', '1', ...encoding, file],
    context,
    screenTimeoutMs,
  );
}

async function captureWithFfmpeg(
  guard: ProcessGuard,
  ffmpeg: string,
  args: string[],
  context: CommandContext,
  timeoutMs: number,
): Promise<void> {
  const { exitCode, stderr } = await runTool(guard, ffmpeg, [...quietArguments, ...args], {
    signal: context.signal,
    timeoutMs,
  });
  if (exitCode === 0) return;
  const reason = stderr.trim().split('\n').slice(-3).join(' ').slice(0, 500);
  const code = /permission denied|not authorized|cannot open display|operation not permitted/i.test(reason)
    ? 'permission_needed'
    : 'failed';
  throw new CommandError(code, `ffmpeg could not capture: ${reason === '' ? `exit code ${exitCode}` : reason}`);
}

function missingDeviceMessage(kind: string, wanted: string | undefined, found: { id: string; name: string }[]): string {
  const list =
    found.length === 0 ? `this machine has no ${kind}` : `this machine has ${found.map(({ name }) => name).join(', ')}`;
  return wanted === undefined ? `There is no ${kind}: ${list}.` : `There is no ${kind} "${wanted}": ${list}.`;
}

function attach(context: CommandContext, filePath: string, contentType: string): string {
  const name = basename(filePath);
  context.attach({ name, contentType, content: { filePath } });
  return name;
}

async function wavDurationMs(file: string): Promise<number> {
  await using handle = await open(file, 'r');
  const header = Buffer.alloc(44);
  await handle.read(header, 0, 44, 0);
  const bytesPerSecond = header.readUInt32LE(28);
  return bytesPerSecond === 0 ? 0 : Math.round((((await handle.stat()).size - 44) / bytesPerSecond) * 1000);
}
