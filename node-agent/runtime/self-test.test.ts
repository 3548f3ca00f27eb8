import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import jpeg from 'jpeg-js';
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { testParts } from '../../shared/companion/control.ts';
import type { TestPart, TestResult } from '../../shared/companion/control.ts';
import { processesWith } from '../../test/fixtures/companion.ts';
import { startSoundServer } from '../../test/fixtures/sound-server.ts';
import { startVirtualScreen } from '../../test/fixtures/virtual-screen.ts';
import type { VirtualScreen } from '../../test/fixtures/virtual-screen.ts';
import { findBrowser } from './commands/browser/find-browser.ts';
import { BrowserSession } from './commands/browser/session.ts';
import { imageSize } from './commands/image-size.ts';
import { findTool } from './commands/media-tool.ts';
import { HostError } from './host-port.ts';
import type { HostPort } from './host-port.ts';
import { PermissionReader } from './permissions.ts';
import { decodePicture } from './picture.ts';
import { ProcessGuard } from './process-guard.ts';
import { evaluateCamera, runSelfTest } from './self-test.ts';
import { localSettings } from './settings.ts';

const isRoot = process.getuid?.() === 0;
const allOn = {
  capture: { screen: true, camera: true, audio: true },
  system: { allowed: true },
  browser: { allowed: true, withoutSandbox: isRoot },
};
afterEach(() => vi.unstubAllEnvs());

interface Options {
  settings?: Parameters<typeof localSettings.parse>[0];
  host?: HostPort;
  signal?: AbortSignal;
  onResult?: (result: TestResult) => void;
}

/** Tests with the dependencies of a companion, and checks that nothing is left behind. */
async function testing(parts: TestPart[], options: Options = {}): Promise<TestResult[]> {
  const home = mkdtempSync(join(tmpdir(), 'outrigger-self-test-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  const temporary = mkdtempSync(join(home, 'temporary-'));
  try {
    await using guard = new ProcessGuard();
    await using browser = new BrowserSession(join(home, 'profile'));
    using permissions = new PermissionReader(guard, options.host);
    const settings = () => localSettings.parse(options.settings ?? allOn);
    const deps = { settings, identity: async () => null, temporary, guard, browser, permissions, host: options.host };
    const run = { signal: options.signal ?? AbortSignal.timeout(60_000), onResult: options.onResult };
    return await runSelfTest(parts, deps, run);
  } finally {
    expect(readdirSync(temporary)).toEqual([]);
    await expect.poll(() => processesWith(home)).toEqual([]);
  }
}

/** The colour in the middle of a picture. */
function shown(result: TestResult | undefined): { width: number; height: number; at(x: number, y: number): number[] } {
  const { width, height, rgba } = decodePicture(Buffer.from(result?.picture?.base64 ?? '', 'base64'));
  return { width, height, at: (x, y) => [...rgba.subarray((y * width + x) * 4, (y * width + x) * 4 + 3)] };
}

test('parts that the owner switched off are not used, and none while the companion is paused', async () => {
  const asked: string[] = [];
  const host: HostPort = {
    offer: { keyStore: null, captures: ['screen', 'camera', 'audio'] },
    call: (method) => {
      asked.push(method);
      return Promise.reject(new HostError('failed', 'no'));
    },
  };
  const ended = { system: '2000-01-01T00:00:00.000Z' };
  for (const settings of [{}, { ...allOn, paused: true }, { system: { allowed: true }, until: ended }]) {
    const results = await testing([...testParts], { settings, host });
    expect(results.map(({ part, state }) => [part, state])).toEqual(
      testParts.map((part) => [part, part === 'hub' ? 'failed' : 'off']),
    );
  }
  expect(asked).toEqual([]);
});

const canCapture = findTool('Xvfb') !== null && findTool('ffmpeg') !== null && findTool('xterm') !== null;
describe.skipIf(!canCapture)('the screen (needs Xvfb, ffmpeg and xterm)', () => {
  let screen: VirtualScreen;
  beforeAll(async () => {
    screen = await startVirtualScreen();
    return () => screen[Symbol.dispose]();
  });

  test('fails while it is black, and passes when it shows something, with the picture that a workflow would get', async () => {
    vi.stubEnv('DISPLAY', screen.display);
    vi.stubEnv('WAYLAND_DISPLAY', undefined);
    const [black] = await testing(['screen']);
    expect(black).toMatchObject({
      part: 'screen',
      state: 'failed',
      detail: 'The picture of the screen, 800x600, is all black.',
      permission: { remedy: { text: expect.stringContaining('Unlock it') as string } },
    });
    expect(shown(black).at(100, 100)).toEqual([0, 0, 0]);
    screen.openTerminal();
    let last: TestResult | undefined;
    await expect
      .poll(async () => {
        [last] = await testing(['screen']);
        return last?.state;
      })
      .toBe('passed');
    const { width, height, at } = shown(last);
    expect([width, height]).toEqual([640, 480]);
    const [red, green, blue] = at(96, 96) as [number, number, number];
    expect(Math.abs(red - 0xc8) + Math.abs(green - 0x1e) + Math.abs(blue - 0x1e)).toBeLessThan(30);
    expect(last?.permission).toBeNull();
  });

  test('that is black on a Wayland desktop counts as denied', async () => {
    using empty = await startVirtualScreen();
    vi.stubEnv('DISPLAY', empty.display);
    vi.stubEnv('WAYLAND_DISPLAY', 'wayland-0');
    expect(await testing(['screen'])).toMatchObject([
      { state: 'failed', permission: { state: 'denied', detail: 'Programs of X see nothing of a Wayland desktop.' } },
    ]);
  });

  test('that does not exist fails with what is missing', async () => {
    vi.stubEnv('DISPLAY', undefined);
    vi.stubEnv('WAYLAND_DISPLAY', undefined);
    expect(await testing(['screen'])).toMatchObject([{ state: 'failed', permission: { state: 'missing' } }]);
    vi.stubEnv('DISPLAY', ':9999');
    expect(await testing(['screen'])).toMatchObject([
      { state: 'failed', detail: expect.stringContaining(':9999') as string },
    ]);
  });
});

test("a denial by the app has the app's message and remedy", async () => {
  const permission = {
    state: 'denied' as const,
    detail: 'Screen Recording is off.',
    remedy: { text: 'Switch it on.', action: { kind: 'open_settings' as const, pane: 'screen' as const } },
  };
  const host: HostPort = {
    offer: { keyStore: null, captures: ['screen'] },
    call: async (method) => {
      if (method === 'permission') return { permission } as never;
      throw new HostError('permission_needed', 'no');
    },
  };
  expect(await testing(['screen'], { host })).toMatchObject([
    { state: 'failed', detail: 'Screen Recording is off.', permission, picture: null },
  ]);
});

test('a camera is evaluated by its picture (with generated frames, because no camera is available)', async () => {
  const frame = (valueAt: (at: number) => number) => {
    const data = Buffer.from(Array.from({ length: 1280 * 720 * 4 }, (_value, at) => valueAt(at)));
    return jpeg.encode({ width: 1280, height: 720, data }, 90).data;
  };
  const covered = evaluateCamera(frame((at) => at % 7));
  expect(covered).toMatchObject({
    state: 'failed',
    detail: 'The picture of the camera, 1280x720, is all black.',
    permission: { remedy: { text: expect.stringContaining('shutter') as string } },
  });
  const seen = evaluateCamera(frame((at) => (at >> 10) % 256));
  expect(seen).toMatchObject({ state: 'passed', permission: null });
  const picture = Buffer.from(seen.picture?.base64 ?? '', 'base64');
  expect(await imageSize(picture)).toEqual({ width: 640, height: 360 });
  expect(picture.length).toBeLessThan(200_000);
});

const canRecord = findTool('pulseaudio') !== null && findTool('pactl') !== null && findTool('ffmpeg') !== null;
describe.skipIf(!canRecord)('the microphone (needs PulseAudio and ffmpeg)', () => {
  const testMicrophone = async (env: Record<string, string>) => {
    for (const [name, value] of Object.entries(env)) if (name !== 'HOME') vi.stubEnv(name, value);
    return testing(['audio']);
  };

  test('passes with the measured level', async () => {
    using sound = await startSoundServer('tone');
    expect(await testMicrophone(sound.env)).toMatchObject([
      { state: 'passed', detail: expect.stringMatching(/ s of sound at -\d+ dBFS\.$/) as string, permission: null },
    ]);
  });

  test('fails when it records only silence, and reports when it is muted', async () => {
    using sound = await startSoundServer('nothing');
    expect(await testMicrophone(sound.env)).toMatchObject([
      {
        state: 'failed',
        detail: expect.stringContaining('but only silence') as string,
        permission: { remedy: { text: expect.stringContaining('sound settings') as string } },
      },
    ]);
    expect(await sound.control('set-source-mute', '@DEFAULT_SOURCE@', '1')).toBe(0);
    expect(await testMicrophone(sound.env)).toMatchObject([
      {
        state: 'failed',
        permission: {
          state: 'denied',
          detail: 'The microphone is muted.',
          remedy: { action: { kind: 'copy', command: 'pactl set-source-mute @DEFAULT_SOURCE@ 0' } },
        },
      },
    ]);
  });

  test('fails without a sound server, and names it', async () => {
    expect(await testMicrophone({ PULSE_SERVER: `unix:${join(tmpdir(), 'outrigger-no-pulse')}` })).toMatchObject([
      {
        state: 'failed',
        detail: expect.stringContaining('No sound server') as string,
        permission: { state: 'missing' },
      },
    ]);
  });
});

test('a program runs, and its output is returned', async () => {
  expect(await testing(['system'])).toMatchObject([
    { state: 'passed', detail: expect.stringContaining('its output was returned completely') as string },
  ]);
});

describe.skipIf(findBrowser(undefined) === null)('the browser (needs Chrome, Edge or Chromium)', () => {
  test('opens its own page with any list of allowed hosts, and closes it', async () => {
    const settings = { ...allOn, browser: { ...allOn.browser, allowHosts: ['example.org'] } };
    const [result] = await testing(['browser'], { settings });
    expect(result).toMatchObject({ state: 'passed', detail: expect.stringMatching(/opened a page/) as string });
    const { width, at } = shown(result);
    expect(width).toBe(640);
    expect(at(5, 5)).toEqual([255, 255, 255]);
  });

  test('that commands use keeps their page, and no other page stays open', async () => {
    const home = mkdtempSync(join(tmpdir(), 'outrigger-self-test-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
    await using guard = new ProcessGuard();
    await using browser = new BrowserSession(join(home, 'profile'));
    using permissions = new PermissionReader(guard);
    const settings = localSettings.parse(allOn);
    const pages = () =>
      browser.withPage(settings.browser, { key: 'run', runId: 'run' }, { opens: true }, async ({ id, page }) => ({
        id,
        count: page.context().pages().length,
      }));
    const before = await pages();
    const deps = { settings: () => settings, identity: async () => null, temporary: home, guard, browser, permissions };
    const results = await runSelfTest(['browser'], deps, { signal: AbortSignal.timeout(60_000) });
    expect(results).toMatchObject([{ state: 'passed' }]);
    expect(await pages()).toEqual(before);
  });

  test('that cannot be started fails with the reason', async () => {
    const settings = { browser: { ...allOn.browser, executablePath: findTool('false') as string } };
    expect(await testing(['browser'], { settings })).toMatchObject([
      { state: 'failed', detail: expect.stringContaining('did not start') as string },
    ]);
  });
});

test('stopping a test ends it and leaves nothing behind', async () => {
  const stop = new AbortController();
  const seen: TestPart[] = [];
  const host: HostPort = {
    offer: { keyStore: null, captures: ['screen'] },
    call: async (method, _params, signal) => {
      if (method === 'permission') return { permission: null } as never;
      stop.abort(new Error('enough'));
      signal.throwIfAborted();
      return {} as never;
    },
  };
  const onResult = ({ part }: TestResult) => seen.push(part);
  await expect(testing(['system', 'screen', 'hub'], { host, signal: stop.signal, onResult })).rejects.toThrow('enough');
  expect(seen).toEqual(['system']);
});
