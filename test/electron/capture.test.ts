import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DataFolder } from '../../node-agent/runtime/data-folder.ts';
import type { Run } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { electronPath, needsElectron } from '../fixtures/electron-runtime.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';
import { startApp } from './app.ts';
import type { TestApp } from './app.ts';
import { hasDesktop, startDesktop } from './desktop.ts';
import type { TestDesktop } from './desktop.ts';

/** The app captures itself, as on macOS and Wayland. The fake devices of Chromium show a green picture and beep. */
describe.skipIf(electronPath === null || !hasDesktop)(`captures by the app ${needsElectron}`, () => {
  let desktop: TestDesktop;
  let hub: TestHub;
  let workspace: TestWorkspace;
  let app: TestApp;
  let nodeId: string;
  beforeAll(async () => {
    [desktop, hub] = await Promise.all([startDesktop(), startHub()]);
    workspace = await hub.workspace();
    app = await startApp(desktop, {
      args: ['--use-fake-device-for-media-stream'],
      env: { OUTRIGGER_APP_CAPTURE: '1' },
    });
    const node = await workspace.api.call('createAutomationNode', { body: {} });
    nodeId = node.nodeId;
    await app.call('pair', { code: node.pairingCode, hub: hub.url, secretInFile: true });
    for (const power of ['screen', 'camera', 'audio']) await app.call('change', { change: 'allow', power });
    await until(
      async () => (await app.companion())?.connection.isUp === true,
      () => 'the companion did not connect',
    );
  });
  afterAll(async () => {
    await app?.[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
    await desktop?.[Symbol.asyncDispose]();
  });

  async function capture(skillId: string, input: Record<string, unknown> = {}): Promise<{ run: Run; bytes: Buffer }> {
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: { name: 'capture', stepsJson: [{ type: 'skill', skillId, input: { nodeId, ...input } as never }] },
    });
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
    const run = await settledRun(workspace.api, runId);
    const { artifactId } = (run.stepsResultJson[0]?.output ?? {}) as { artifactId?: string };
    const answer = await fetch(`${hub.url}/v1/automations/artifacts/${String(artifactId)}`, {
      headers: { 'x-api-key': workspace.key },
    });
    return { run, bytes: Buffer.from(await answer.arrayBuffer()) };
  }

  test('a screen capture has the full size of the screen and the requested format', async () => {
    const png = await capture('node.capture_screen');
    expect(png.run.stepsResultJson[0]?.output).toMatchObject({ contentType: 'image/png', width: 1280, height: 800 });
    const jpeg = await capture('node.capture_screen', { format: 'jpeg', quality: 40 });
    expect(jpeg.run.stepsResultJson[0]?.output).toMatchObject({ contentType: 'image/jpeg', width: 1280, height: 800 });
    expect((await capture('node.capture_screen', { display: 7 })).run).toMatchObject({
      error: { message: expect.stringContaining('no display 7') as string },
    });
  });

  test('a screen capture from a running stream, as under Wayland, has the full size of the screen', async () => {
    const node = await workspace.api.call('createAutomationNode', { body: {} });
    await using streaming = await startApp(desktop, { env: { OUTRIGGER_APP_CAPTURE: 'stream' } });
    await streaming.call('pair', { code: node.pairingCode, hub: hub.url, secretInFile: true });
    await streaming.call('change', { change: 'allow', power: 'screen' });
    for (const format of ['png', 'jpeg']) {
      const { run } = await capture('node.capture_screen', { nodeId: node.nodeId, format });
      expect(run.stepsResultJson[0]?.output).toMatchObject({
        contentType: `image/${format}`,
        width: 1280,
        height: 800,
      });
    }
    const pages = () => streaming.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length);
    expect(await pages()).toBe(2);
    await streaming.call('change', { change: 'pause' });
    await expect.poll(pages).toBe(1);
  });

  test('the screen stream ends when its permission is denied or expires, even if the camera stays allowed', async () => {
    await using streaming = await startApp(desktop, { env: { OUTRIGGER_APP_CAPTURE: 'stream' } });
    const pages = () => streaming.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length);
    const seen = async () => {
      await streaming.call('change', { change: 'allow', power: 'screen' });
      await streaming.call('test', { parts: ['screen'] });
      expect(await pages()).toBe(2);
    };
    await streaming.call('change', { change: 'allow', power: 'camera' });
    await seen();
    await streaming.call('change', { change: 'deny', power: 'screen' });
    await expect.poll(pages).toBe(1);
    await seen();
    // The shortest permission of the user interface is one minute, so the test writes the settings.
    await new DataFolder(streaming.dataFolder).changeSettings((settings) => {
      settings.until.screen = new Date(Date.now() + 1_000).toISOString();
    });
    await streaming.call('change', { change: 'keep_pictures', keep: false });
    await expect.poll(pages).toBe(1);
  });

  test('the user chooses the screen once per start of the app, and again after ending the stream or denying the screen', async () => {
    await using streaming = await startApp(desktop, { env: { OUTRIGGER_APP_CAPTURE: 'stream' } });
    const pages = () => streaming.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length);
    const choices = () => streaming.electron.evaluate(() => (globalThis as unknown as { choices: number }).choices);
    await streaming.electron.evaluate(({ desktopCapturer }) => {
      const its = globalThis as unknown as { choices: number };
      its.choices = 0;
      const choose = desktopCapturer.getSources.bind(desktopCapturer);
      desktopCapturer.getSources = (options) => {
        its.choices += 1;
        return choose(options);
      };
    });
    const look = () => streaming.call('test', { parts: ['screen'] });
    await streaming.call('change', { change: 'allow', power: 'screen' });
    await look();
    await streaming.call('change', { change: 'pause' });
    await expect.poll(pages).toBe(1);
    await streaming.call('change', { change: 'resume' });
    await look();
    expect(await pages()).toBe(2);
    expect(await choices()).toBe(1);
    await streaming.electron.evaluate(({ ipcMain, webContents }) => {
      for (const sender of webContents.getAllWebContents()) ipcMain.emit('recorder:screen-ended', { sender });
    });
    await streaming.call('change', { change: 'pause' });
    await expect.poll(pages).toBe(1);
    await streaming.call('change', { change: 'resume' });
    await look();
    expect(await choices()).toBe(2);
    await streaming.call('change', { change: 'deny', power: 'screen' });
    await expect.poll(pages).toBe(1);
    await streaming.call('change', { change: 'allow', power: 'screen' });
    await look();
    expect(await choices()).toBe(3);
  });

  test('a camera capture is a JPEG image that is not blank', async () => {
    const { run, bytes } = await capture('node.capture_camera');
    expect(run.stepsResultJson[0]?.output).toMatchObject({ contentType: 'image/jpeg' });
    // The app decodes the picture. Its pixels must differ in brightness.
    const spread = await app.electron.evaluate(({ nativeImage }, base64) => {
      const pixels = nativeImage.createFromBuffer(Buffer.from(base64, 'base64')).toBitmap();
      let [least, most] = [255, 0];
      for (let at = 1; at < pixels.length; at += 4) {
        least = Math.min(least, pixels[at] as number);
        most = Math.max(most, pixels[at] as number);
      }
      return most - least;
    }, bytes.toString('base64'));
    expect(spread).toBeGreaterThan(100);
  });

  test('a microphone capture is a WAV file that has the requested length and is not silent', async () => {
    const { run, bytes } = await capture('node.capture_audio', { seconds: 2 });
    expect(run).toMatchObject({ status: 'succeeded' });
    expect(bytes.toString('latin1', 0, 4)).toBe('RIFF');
    expect({ channels: bytes.readUInt16LE(22), rate: bytes.readUInt32LE(24), bits: bytes.readUInt16LE(34) }).toEqual({
      channels: 1,
      rate: 16_000,
      bits: 16,
    });
    const samples = bytes.subarray(44);
    expect(samples.length).toBe(2 * 16_000 * 2);
    let loudest = 0;
    for (let at = 0; at + 1 < samples.length; at += 2) loudest = Math.max(loudest, Math.abs(samples.readInt16LE(at)));
    expect(loudest).toBeGreaterThan(1_000);
  });

  test('the app ignores invalid messages of the recorder page', async () => {
    const { run } = await capture('node.capture_camera');
    expect(run.status).toBe('succeeded');
    await app.electron.evaluate(({ ipcMain, webContents }) => {
      for (const sender of webContents.getAllWebContents())
        for (const message of [null, 'text', { id: 0, bytes: 'text' }, { bytes: null }])
          ipcMain.emit('recorder:taken', { sender }, message);
    });
    expect((await app.companion())?.connection.isUp).toBe(true);
  });

  test('the window cannot use the microphone: only the recorder page can', async () => {
    const outcome = await app.page.evaluate(() =>
      navigator.mediaDevices.getUserMedia({ audio: true }).then(
        () => 'allowed',
        (error: Error) => error.name,
      ),
    );
    expect(outcome).toBe('NotAllowedError');
  });
});
