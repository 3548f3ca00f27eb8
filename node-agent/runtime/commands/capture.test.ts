import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encode } from 'fast-png';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { captureAudio, captureCamera, captureScreen } from '../../../shared/commands/capture.ts';
import { hostMethods } from '../../../shared/companion/host.ts';
import type { HostMethodName } from '../../../shared/companion/host.ts';
import { capabilitiesOf } from '../facts.ts';
import { HostError } from '../host-port.ts';
import type { HostPort } from '../host-port.ts';
import { ProcessGuard } from '../process-guard.ts';
import { localSettings } from '../settings.ts';
import { captureHandlers } from './capture.ts';
import type { CommandContext, ResultArtifact } from './handler.ts';

afterEach(() => vi.unstubAllEnvs());

function start(call: (method: HostMethodName, params: { file: string }) => void | Promise<void>) {
  // Captures through the app work without tools of the system and without a display of this process.
  vi.stubEnv('PATH', '/nonexistent');
  vi.stubEnv('DISPLAY', undefined);
  vi.stubEnv('WAYLAND_DISPLAY', undefined);
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-capture-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const stop = new AbortController();
  const artifacts: ResultArtifact[] = [];
  const calls: { method: string; params: unknown }[] = [];
  const host: HostPort = {
    offer: { keyStore: null, captures: ['screen', 'camera', 'audio'] },
    call: async (method, params, signal) => {
      // Parsing fails for parameters that the contract does not declare.
      const parsed = hostMethods[method].params.parse(params) as { file: string };
      calls.push({ method, params: parsed });
      const aborted = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => aborted.reject(signal.reason as Error), { once: true });
      await Promise.race([call(method, parsed), aborted.promise]);
      return {} as never;
    },
  };
  const context = {
    commandId: crypto.randomUUID(),
    signal: stop.signal,
    temporaryFolder: folder,
    attach: (artifact: ResultArtifact) => artifacts.push(artifact),
  } as unknown as CommandContext;
  return { handlers: captureHandlers(new ProcessGuard(), host), context, artifacts, calls, stop, folder };
}

const picture = (width: number, height: number) =>
  encode({ width, height, channels: 3, data: new Uint8Array(width * height * 3) });

describe('a capture command of a runtime inside the app', () => {
  test('captures the screen through the app and returns the same outputs as outside the app', async () => {
    const { handlers, context, artifacts, calls, folder } = start((_method, { file }) =>
      writeFileSync(file, picture(40, 30)),
    );
    const bytes = picture(40, 30).length;
    expect(await handlers['node.capture_screen'](captureScreen.input.parse({ display: 2 }), context)).toEqual({
      artifact: 'screen.png',
      contentType: 'image/png',
      bytes,
      width: 40,
      height: 30,
    });
    const file = join(folder, 'screen.png');
    expect(calls).toEqual([{ method: 'captureScreen', params: { display: 2, format: 'png', quality: 80, file } }]);
    expect(artifacts).toEqual([{ name: 'screen.png', contentType: 'image/png', content: { filePath: file } }]);
  });

  test('captures the camera and the microphone through the app', async () => {
    const { handlers, context, calls } = start((method, { file }) => {
      const header = Buffer.alloc(44 + 32_000);
      header.writeUInt32LE(32_000, 28);
      writeFileSync(file, method === 'captureAudio' ? header : picture(4, 3));
    });
    expect(
      await handlers['node.capture_camera'](captureCamera.input.parse({ device: 'front' }), context),
    ).toMatchObject({ contentType: 'image/jpeg', width: 4, height: 3 });
    expect(await handlers['node.capture_audio'](captureAudio.input.parse({ seconds: 1 }), context)).toMatchObject({
      contentType: 'audio/wav',
      durationMs: 1000,
    });
    expect(calls).toMatchObject([
      { method: 'captureCamera', params: { device: 'front' } },
      { method: 'captureAudio', params: { device: null, seconds: 1 } },
    ]);
  });

  test.each([
    [new HostError('permission_needed', 'Screen Recording is off'), 'permission_needed'],
    [new HostError('not_found', 'There is no display 2'), 'not_found'],
    [new HostError('something_new', 'odd'), 'failed'],
    [new Error('the port is closed'), 'failed'],
  ])('fails with the code and message of the app: %s', async (error, code) => {
    const { handlers, context } = start(async () => {
      throw error;
    });
    await expect(handlers['node.capture_screen'](captureScreen.input.parse({}), context)).rejects.toMatchObject({
      code,
      message: error.message,
    });
  });

  test('fails when the app reports success without a file', async () => {
    const { handlers, context } = start(() => undefined);
    await expect(handlers['node.capture_screen'](captureScreen.input.parse({}), context)).rejects.toMatchObject({
      code: 'failed',
      message: 'The app captured nothing.',
    });
  });

  test('ends when its signal aborts, even if the app does not answer', async () => {
    const { handlers, context, stop } = start(() => new Promise(() => undefined));
    const ended = handlers['node.capture_screen'](captureScreen.input.parse({}), context);
    stop.abort(new Error('withdrawn'));
    await expect(ended).rejects.toThrow('withdrawn');
  });
});

test('the hub receives the captures that the app offers and the owner allows, even without tools', () => {
  start(() => undefined);
  const settings = localSettings.parse({ capture: { screen: true, camera: true, audio: false } });
  const captured = (captures: HostPort['offer']['captures']) =>
    capabilitiesOf(settings, captures).filter((type) => type.startsWith('node.capture_'));
  expect(captured([])).toEqual([]);
  expect(captured(['screen', 'camera', 'audio'])).toEqual(['node.capture_screen', 'node.capture_camera']);
});

test('a capture that the app does not offer uses the tools of the system', async () => {
  const { context } = start(() => undefined);
  const host: HostPort = {
    offer: { keyStore: null, captures: ['screen'] },
    call: async (_method, params) => {
      copyFileSync('/dev/null', (params as { file: string }).file);
      return {} as never;
    },
  };
  const { 'node.capture_camera': capture } = captureHandlers(new ProcessGuard(), host);
  await expect(capture(captureCamera.input.parse({}), context)).rejects.toMatchObject({ code: 'tool_missing' });
});
