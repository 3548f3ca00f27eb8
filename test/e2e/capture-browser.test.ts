import { createSocket } from 'node:dgram';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBrowser } from '../../node-agent/runtime/commands/browser/find-browser.ts';
import { findTool } from '../../node-agent/runtime/commands/media-tool.ts';
import type { Run } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { processesWith, startCompanion } from '../fixtures/companion.ts';
import type { TestCompanion } from '../fixtures/companion.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { startSoundServer } from '../fixtures/sound-server.ts';
import type { SoundServer } from '../fixtures/sound-server.ts';
import { startVirtualScreen } from '../fixtures/virtual-screen.ts';
import type { VirtualScreen } from '../fixtures/virtual-screen.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

async function run(
  companion: TestCompanion,
  steps: { skillId: string; id?: string; input?: Record<string, unknown>; continueOnError?: boolean }[],
): Promise<Run> {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'e2e',
      stepsJson: steps.map(({ skillId, input = {}, ...rest }) => ({
        type: 'skill' as const,
        skillId,
        input: { nodeId: companion.nodeId, ...input } as never,
        ...rest,
      })),
    },
  });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  return settledRun(workspace.api, runId);
}
const outputs = (result: Run) => result.stepsResultJson.map((step) => step.output as Record<string, unknown>);

async function artifact(id: unknown): Promise<Buffer> {
  const response = await fetch(`${hub.url}/v1/automations/artifacts/${String(id)}`, {
    headers: { 'x-api-key': workspace.key },
  });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

/** Decodes the pixels of a PNG file with 8-bit RGB or RGBA and without interlacing. */
function readPng(bytes: Buffer): {
  width: number;
  height: number;
  pixel(x: number, y: number): [number, number, number];
} {
  const width = bytes.readUInt32BE(16);
  const height = bytes.readUInt32BE(20);
  const channels = bytes[25] === 6 ? 4 : 3;
  const data: Buffer[] = [];
  for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT')
      data.push(bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)));
  }
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * channels;
  const out = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const left = x >= channels ? (out[y * stride + x - channels] as number) : 0;
      const up = y > 0 ? (out[(y - 1) * stride + x] as number) : 0;
      const corner = x >= channels && y > 0 ? (out[(y - 1) * stride + x - channels] as number) : 0;
      const guess = left + up - corner;
      const [pa, pb, pc] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)] as const;
      const paeth = pa <= pb && pa <= pc ? left : pb <= pc ? up : corner;
      const base = { 0: 0, 1: left, 2: up, 3: (left + up) >> 1, 4: paeth }[filter as 0] ?? 0;
      out[y * stride + x] = ((raw[y * (stride + 1) + 1 + x] as number) + base) & 0xff;
    }
  }
  return {
    width,
    height,
    pixel: (x, y) => [0, 1, 2].map((channel) => out[y * stride + x * channels + channel]) as [number, number, number],
  };
}

const canCapture = findTool('Xvfb') !== null && findTool('ffmpeg') !== null && findTool('xterm') !== null;
describe.skipIf(!canCapture)('the screen (needs Xvfb, ffmpeg and xterm)', () => {
  let screen: VirtualScreen;
  let companion: TestCompanion;
  beforeAll(async () => {
    screen = await startVirtualScreen();
    screen.openTerminal();
    companion = await startCompanion(hub, workspace, {
      allow: ['audio', 'camera', 'screen'],
      env: { DISPLAY: screen.display },
    });
  });
  afterAll(async () => {
    await companion[Symbol.asyncDispose]();
    screen[Symbol.dispose]();
  });

  test('is captured with the correct pixels as PNG, and as JPEG with the requested quality', async () => {
    await expect
      .poll(async () => {
        const [png] = outputs(await run(companion, [{ skillId: 'node.capture_screen' }]));
        expect(png).toMatchObject({ contentType: 'image/png', width: 800, height: 600 });
        return readPng(await artifact(png?.['artifactId'])).pixel(120, 120);
      })
      .toEqual([0xc8, 0x1e, 0x1e]);
    const [small, large] = outputs(
      await run(companion, [
        { skillId: 'node.capture_screen', input: { format: 'jpeg', quality: 5 } },
        { skillId: 'node.capture_screen', input: { format: 'jpeg', quality: 100 } },
      ]),
    );
    expect(small).toMatchObject({ contentType: 'image/jpeg', width: 800, height: 600 });
    expect(small?.['bytes']).toBeLessThan(large?.['bytes'] as number);
  });

  test('cannot be captured for a display that does not exist', async () => {
    expect(await run(companion, [{ skillId: 'node.capture_screen', input: { display: 7 } }])).toMatchObject({
      status: 'failed',
      error: { code: 'not_found', message: expect.stringContaining('no display 7') as string },
    });
  });

  test('a capture of a missing camera fails with not_found', async () => {
    expect(
      await run(companion, [{ skillId: 'node.capture_camera', input: { device: 'no such camera' } }]),
    ).toMatchObject({ status: 'failed', error: { code: 'not_found' } });
  });

  test('a capture fails if the owner denies it, or if a tool or the display is missing', async () => {
    await companion.cli('deny', 'screen');
    expect(await run(companion, [{ skillId: 'node.capture_screen' }])).toMatchObject({
      error: { code: 'denied_by_device' },
    });
    await companion.cli('allow', 'screen');
    await using bare = await startCompanion(hub, workspace, {
      allow: ['camera'],
      env: { DISPLAY: screen.display, PATH: '/nonexistent' },
    });
    expect(await run(bare, [{ skillId: 'node.capture_camera' }])).toMatchObject({
      error: { code: 'tool_missing', message: expect.stringContaining('ffmpeg') as string },
    });
    await using blind = await startCompanion(hub, workspace, {
      allow: ['screen'],
      env: { DISPLAY: '', WAYLAND_DISPLAY: '' },
    });
    expect(await run(blind, [{ skillId: 'node.capture_screen' }])).toMatchObject({
      status: 'failed',
      error: { code: expect.not.stringContaining('denied') as string },
    });
  });
});

const canRecord = findTool('pulseaudio') !== null && findTool('pactl') !== null && findTool('ffmpeg') !== null;
describe.skipIf(!canRecord)('the microphone (needs PulseAudio and ffmpeg)', () => {
  let sound: SoundServer;
  beforeAll(async () => {
    sound = await startSoundServer('tone');
  });
  afterAll(() => sound[Symbol.dispose]());

  test('is recorded with the requested length and is not silent', async () => {
    await using companion = await startCompanion(hub, workspace, { allow: ['audio'], env: sound.env });
    const [clip] = outputs(await run(companion, [{ skillId: 'node.capture_audio', input: { seconds: 2 } }]));
    expect(clip).toMatchObject({ contentType: 'audio/wav' });
    const bytes = await artifact(clip?.['artifactId']);
    // 2 s with 16,000 samples per second and 2 bytes per sample.
    expect(clip?.['durationMs']).toBe(2_000);
    expect(bytes.length).toBeGreaterThanOrEqual(64_000);
    expect(bytes.toString('latin1', 0, 4)).toBe('RIFF');
    const loudest = Array.from({ length: (bytes.length - 100) >> 1 }, (_value, index) =>
      Math.abs(bytes.readInt16LE(100 + index * 2 - ((index * 2) % 2))),
    ).reduce((most, sample) => Math.max(most, sample), 0);
    expect(loudest).toBeGreaterThan(1000);
    const named = await run(companion, [
      { skillId: 'node.capture_audio', input: { seconds: 1, device: 'no such microphone' } },
    ]);
    expect(named).toMatchObject({
      error: { code: 'not_found', message: expect.stringContaining('speaker.monitor') as string },
    });
  });

  test('is never the monitor of a speaker, unless the command names the monitor', async () => {
    using speaker = await startSoundServer('tone', 'monitor');
    await using companion = await startCompanion(hub, workspace, { allow: ['audio'], env: speaker.env });
    const defaultSource = await run(companion, [{ skillId: 'node.capture_audio', input: { seconds: 1 } }]);
    expect(defaultSource).toMatchObject({
      status: 'failed',
      error: { code: 'not_found', message: expect.stringContaining('only what the speakers play') as string },
    });
    const named = await run(companion, [
      { skillId: 'node.capture_audio', input: { seconds: 1, device: 'speaker.monitor' } },
    ]);
    expect(named).toMatchObject({ status: 'succeeded' });
    expect((await companion.cli('doctor')).stdout).toContain('No microphone is connected, only what the speakers play');
  });
});

describe.skipIf(findBrowser(undefined) === null)('the browser (needs Chrome, Edge or Chromium)', () => {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.headers.host?.split(':')[0]} ${request.url}`);
    const url = new URL(request.url ?? '/', 'http://x');
    if (url.pathname === '/redirect') {
      response.writeHead(302, { location: url.searchParams.get('to') ?? '/' }).end();
      return;
    }
    const page = {
      '/': `<title>Start</title><h1>Start</h1><button onclick="document.getElementById('out').textContent='clicked'">Press me</button><button>Twin</button><button>Twin</button>
        <form action="/found"><input aria-label="Query" name="q"></form><p id="out"></p><a href="/redirect?to=http://localhost:PORT/blocked">Away</a><script>alert('hello')</script>`,
      '/unload': `<title>Unload</title><button onclick="window.touched=true">Touch me</button><script>addEventListener('beforeunload', (event) => { event.preventDefault(); event.returnValue = 'stay'; })</script>`,
      '/form': `<title>Form</title><input type="file" multiple aria-label="Files" onchange="out.textContent = [...this.files].map((f) => f.name + ' ' + f.type + ' ' + f.size).join()"><p id="out"></p>`,
      '/found': `<title>Found</title><p>You looked for ${url.searchParams.get('q')}</p>`,
    }[url.pathname];
    response
      .writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' })
      .end((page ?? '<p>nothing').replaceAll('PORT', String((server.address() as AddressInfo).port)));
  });
  let base: string;
  let companion: TestCompanion;
  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, done));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    companion = await startCompanion(hub, workspace, { allow: ['browser'] });
  });
  afterAll(async () => {
    await companion[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });

  test('uploads an artifact of its run and refuses an artifact of another run', async () => {
    const target = { selector: 'input' };
    const upload = (artifactId: string) => [
      { skillId: 'browser.navigate', input: { url: `${base}/form` } },
      { skillId: 'browser.screenshot', id: 'picture' },
      { skillId: 'browser.upload', input: { target, files: [{ artifactId }] } },
      { skillId: 'browser.content' },
    ];
    const own = await run(companion, upload('{{steps.picture.output.artifactId}}'));
    const [, picture, , content] = outputs(own);
    expect(own.status).toBe('succeeded');
    expect(content?.['text']).toContain(`image/png ${String(picture?.['bytes'])}`);
    const foreign = await run(companion, upload(String(picture?.['artifactId'])));
    expect(foreign).toMatchObject({
      status: 'failed',
      stepsResultJson: [{}, {}, { error: { code: 'not_found' } }, {}],
    });
    const asDevice = await fetch(
      `${hub.url}/v1/automations/nodes/${companion.nodeId}/commands/${crypto.randomUUID()}/files/${String(picture?.['artifactId'])}`,
      { headers: { 'x-api-key': workspace.key } },
    );
    expect(asDevice.status).toBe(401);
  });
  const browser = (action: string, input: Record<string, unknown> = {}) => ({ skillId: `browser.${action}`, input });
  const open = browser('navigate', { url: '' });

  test('navigates, clicks, types, evaluates, reads and takes screenshots on one page', async () => {
    const result = await run(companion, [
      browser('navigate', { url: `${base}/` }),
      browser('click', { target: { role: 'button', name: 'Press me' } }),
      browser('evaluate', { expression: "({ out: document.getElementById('out').textContent, list: [1, null] })" }),
      browser('type', { target: { selector: 'input[name=q]' }, text: 'boats', submit: true }),
      browser('content', { includeHtml: true }),
      browser('screenshot', { fullPage: true, format: 'jpeg' }),
    ]);
    expect(result).toMatchObject({ status: 'succeeded' });
    const [first, , value, , content, picture] = outputs(result);
    expect(first).toMatchObject({ status: 200, title: 'Start', url: `${base}/` });
    expect(value).toMatchObject({ value: { out: 'clicked', list: [1, null] }, pageId: first?.['pageId'] });
    expect(content).toMatchObject({
      title: 'Found',
      text: expect.stringContaining('You looked for boats') as string,
      html: expect.stringContaining('<p>') as string,
    });
    expect((await artifact(picture?.['artifactId'])).readUInt16BE(0)).toBe(0xffd8);
  });

  test('fails for a missing, ambiguous or invalid target with a matching code', async () => {
    const opened = browser('navigate', { url: `${base}/` });
    // Only the search for a missing target takes its whole time.
    for (const [target, code, timeoutMs] of [
      [{ text: 'Nobody' }, 'target_not_found', 2_000],
      [{ role: 'button', name: 'Twin' }, 'target_not_found', 20_000],
      [{ selector: '][' }, 'invalid_input', 20_000],
    ] as const) {
      expect(await run(companion, [opened, browser('click', { target, timeoutMs })])).toMatchObject({
        status: 'failed',
        error: { code },
      });
    }
    expect(await run(companion, [browser('click', { target: { text: 'x' }, pageId: 'page-999' })])).toMatchObject({
      error: { code: 'page_closed' },
    });
  });

  test('opens only http and https addresses, and fails for a host that cannot be reached', async () => {
    for (const url of [
      'file:///etc/passwd',
      'chrome://version',
      'data:text/html,x',
      'javascript:alert(1)',
      'nonsense',
    ]) {
      expect(await run(companion, [browser('navigate', { url })]), url).toMatchObject({
        error: { code: 'denied_by_policy' },
      });
    }
    expect(await run(companion, [browser('navigate', { url: 'http://127.0.0.1:1/' })])).toMatchObject({
      error: { code: 'navigation_failed' },
    });
  });

  test('leaves a page with a beforeunload dialog', async () => {
    const result = await run(companion, [
      browser('navigate', { url: `${base}/unload` }),
      browser('click', { target: { role: 'button', name: 'Touch me' } }),
      browser('navigate', { url: `${base}/found?q=out` }),
      browser('content'),
    ]);
    expect(result).toMatchObject({ status: 'succeeded' });
    expect(outputs(result)[3]).toMatchObject({ title: 'Found' });
  });

  test.skipIf(process.getuid?.() !== 0)(
    'does not start without its sandbox (as root) until the owner allows it',
    async () => {
      expect(await companion.cli('allow', 'browser')).toMatchObject({
        code: 0,
        stdout: 'The browser is allowed, but no page is opened until this is solved.\n',
        stderr: expect.stringContaining('--without-sandbox') as string,
      });
      try {
        await expect
          .poll(async () => (await run(companion, [browser('navigate', { url: `${base}/` })])).error)
          .toMatchObject({
            code: 'denied_by_device',
            message: expect.stringContaining('outrigger-companion allow browser --without-sandbox') as string,
          });
        const checks = JSON.parse((await companion.cli('doctor', '--json')).stdout) as {
          check: string;
          state: string;
        }[];
        expect(checks).toContainEqual(expect.objectContaining({ check: 'browser', state: 'fail' }));
      } finally {
        await companion.cli('allow', 'browser', '--without-sandbox');
      }
      const checks = JSON.parse((await companion.cli('doctor', '--json')).stdout) as { check: string; state: string }[];
      expect(checks).toContainEqual(expect.objectContaining({ check: 'sandbox', state: 'warn' }));
      expect(await run(companion, [browser('navigate', { url: `${base}/` })])).toMatchObject({ status: 'succeeded' });
    },
  );

  test('limits the time and the result size of evaluate', async () => {
    const opened = browser('navigate', { url: `${base}/` });
    expect(
      await run(companion, [opened, browser('evaluate', { expression: '(() => { for (;;); })()', timeoutMs: 700 })]),
    ).toMatchObject({ error: { code: 'timeout' } });
    expect(await run(companion, [opened, browser('evaluate', { expression: "'x'.repeat(1000000)" })])).toMatchObject({
      error: { code: 'evaluation_failed' },
    });
    expect(await run(companion, [opened, browser('evaluate', { expression: 'nothing.like.this' })])).toMatchObject({
      error: { code: 'evaluation_failed' },
    });
    expect(
      outputs(
        await run(companion, [browser('navigate', { url: `${base}/` }), browser('evaluate', { expression: '1 + 1' })]),
      )[1],
    ).toMatchObject({ value: 2 });
  });

  test('sends no request to hosts that the owner denies, even after redirects, clicks and scripts', async () => {
    const settings = JSON.parse((await companion.cli('status', '--json')).stdout) as {
      settings: { browser: Record<string, unknown> };
    };
    const write = (changes: Record<string, unknown>) =>
      writeFileSync(
        join(companion.home, 'settings.json'),
        JSON.stringify({ ...settings.settings, browser: { ...settings.settings.browser, ...changes } }),
      );
    const { port } = server.address() as AddressInfo;
    write({ allowHosts: ['127.0.0.1'] });
    requests.length = 0;
    expect(await run(companion, [browser('navigate', { url: `http://localhost:${port}/direct` })])).toMatchObject({
      error: { code: 'denied_by_policy' },
    });
    expect(
      await run(companion, [browser('navigate', { url: `${base}/redirect?to=http://localhost:${port}/redirected` })]),
    ).toMatchObject({ error: { code: 'denied_by_policy' } });
    expect(
      await run(companion, [
        browser('navigate', { url: `${base}/` }),
        browser('evaluate', {
          expression: `(location.href = 'http://localhost:${port}/scripted', new Promise((done) => setTimeout(done, 20_000)))`,
        }),
      ]),
    ).toMatchObject({ error: { code: 'denied_by_policy' } });
    await run(companion, [
      browser('navigate', { url: `${base}/` }),
      { ...browser('click', { target: { text: 'Away' } }), continueOnError: true },
      { ...browser('evaluate', { expression: 'new Promise((done) => setTimeout(done, 300))' }), continueOnError: true },
    ]);
    await run(companion, [
      browser('navigate', { url: `${base}/` }),
      {
        ...browser('evaluate', {
          expression: `(window.open('http://localhost:${port}/opened'), window.open('/redirect?to=http://localhost:${port}/opened-later'), new Promise((done) => setTimeout(done, 700)))`,
        }),
        continueOnError: true,
      },
    ]);
    expect(requests.filter((line) => line.startsWith('localhost'))).toEqual([]);
    expect(requests.some((line) => line.includes('/redirect?to='))).toBe(true);
    write({ blockHosts: ['localhost'] });
    expect(await run(companion, [browser('navigate', { url: `http://localhost:${port}/` })])).toMatchObject({
      error: { code: 'denied_by_policy' },
    });
    write({ evaluate: false });
    expect(
      await run(companion, [browser('navigate', { url: `${base}/` }), browser('evaluate', { expression: '1' })]),
    ).toMatchObject({ error: { code: 'denied_by_device' } });
    write({});
    await companion.cli('settings', 'accept');
  });

  test('opens no connection of any kind to a denied host, and ends commands that new settings deny', async () => {
    const settings = JSON.parse((await companion.cli('status', '--json')).stdout) as {
      settings: { browser: Record<string, unknown> };
    };
    const write = (changes: Record<string, unknown>) =>
      writeFileSync(
        join(companion.home, 'settings.json'),
        JSON.stringify({ ...settings.settings, browser: { ...settings.settings.browser, ...changes } }),
      );
    let connections = 0;
    const arrived = new Set<string>();
    const blocked = createServer((request, response) => {
      arrived.add(request.url ?? '');
      response.writeHead(200, { 'access-control-allow-origin': '*' }).end('x');
    });
    blocked.on('upgrade', (request, socket) => {
      arrived.add(request.url ?? '');
      socket.destroy();
    });
    blocked.on('connection', () => {
      connections += 1;
    });
    await new Promise<void>((done) => blocked.listen(0, done));
    const datagrams = createSocket('udp4');
    datagrams.on('message', () => {
      arrived.add('call');
      connections += 1;
    });
    await new Promise<void>((done) => datagrams.bind(0, '127.0.0.1', done));
    const there = `localhost:${(blocked.address() as AddressInfo).port}`;
    const tries = `(async () => {
      const outcomes = [];
      const note = (name, promise) => outcomes.push(promise.then(() => name + ' passed', () => name + ' held'));
      note('fetch', fetch('http://${there}/fetch', { method: 'POST', mode: 'no-cors', body: 'x' }).then((answer) => { if (answer.type !== 'opaque') throw answer; }));
      note('redirect', fetch('/redirect?to=http://${there}/redirect', { mode: 'no-cors' }));
      note('image', new Promise((yes, no) => Object.assign(new Image(), { onload: yes, onerror: no, src: 'http://${there}/image' })));
      note('socket', new Promise((yes, no) => Object.assign(new WebSocket('ws://${there}/socket'), { onopen: yes, onerror: no })));
      note('events', new Promise((yes, no) => Object.assign(new EventSource('http://${there}/events'), { onopen: yes, onerror: no })));
      note('worker', new Promise((yes, no) => Object.assign(new Worker(URL.createObjectURL(new Blob(["fetch('http://${there}/worker').then(() => postMessage(1), () => { throw 1 })"]))), { onmessage: yes, onerror: no })));
      navigator.sendBeacon('http://${there}/beacon', 'x');
      for (const rel of ['prefetch', 'preconnect', 'dns-prefetch', 'preload', 'stylesheet', 'icon', 'prerender']) {
        document.head.append(Object.assign(document.createElement('link'), { rel, href: 'http://${there}/' + rel, as: 'script' }));
      }
      document.body.append(Object.assign(document.createElement('iframe'), { src: 'http://${there}/frame' }));
      const call = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${(datagrams.address() as AddressInfo).port}' }, { urls: 'turn:${there}?transport=tcp', username: 'x', credential: 'x' }] });
      call.createDataChannel('x');
      await call.setLocalDescription(await call.createOffer());
      const all = Promise.all(outcomes);
      await new Promise((done) => setTimeout(done, 2000));
      return Promise.race([all, new Promise((done) => setTimeout(done, 3000, 'no answer'))]);
    })()`;
    try {
      const tryAll = () =>
        run(companion, [
          browser('navigate', { url: `${base}/` }),
          { ...browser('evaluate', { expression: tries, timeoutMs: 20_000 }), continueOnError: true },
        ]);
      // Without the block, every kind of request must arrive. Otherwise the test would prove nothing.
      write({});
      await companion.cli('settings', 'accept');
      // On a busy machine, the page may be closed before it has sent the requests of low priority.
      await expect
        .poll(async () => {
          await tryAll();
          return [...arrived];
        })
        .toEqual(
          expect.arrayContaining([
            '/fetch',
            '/redirect',
            '/image',
            '/socket',
            '/events',
            '/worker',
            '/beacon',
            '/frame',
            '/prefetch',
            '/preload',
            '/stylesheet',
            '/icon',
          ]),
        );
      write({ blockHosts: ['localhost'] });
      // The companion applies the edit at the latest before its next command.
      expect(await run(companion, [browser('navigate', { url: `http://${there}/` })])).toMatchObject({
        error: { code: 'denied_by_policy' },
      });
      connections = 0;
      const page = await tryAll();
      expect(page.stepsResultJson[0]).toMatchObject({ status: 'succeeded' });
      expect(JSON.stringify(page.stepsResultJson[1])).not.toContain('socket passed');
      expect(connections).toBe(0);

      const endless = [
        browser('navigate', { url: `${base}/` }),
        browser('evaluate', { expression: 'new Promise(() => undefined)', timeoutMs: 60_000 }),
      ];
      for (const [changes, code] of [
        [{ blockHosts: ['localhost', '127.0.0.1'] }, 'interrupted'],
        [{ evaluate: false }, 'interrupted'],
        [{ allowed: false }, 'interrupted'],
      ] as const) {
        write({ blockHosts: ['localhost'] });
        await companion.cli('settings', 'accept');
        const { id } = await workspace.api.call('createAutomationWorkflow', {
          body: {
            name: 'x',
            stepsJson: endless.map(({ skillId, input }) => ({
              type: 'skill' as const,
              skillId,
              input: { nodeId: companion.nodeId, ...input } as never,
            })),
          },
        });
        const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
        await expect
          .poll(async () =>
            (
              JSON.parse((await companion.cli('status', '--json')).stdout) as {
                running: { running: { type: string }[] };
              }
            ).running.running.map(({ type }) => type),
          )
          .toContain('browser.evaluate');
        write({ blockHosts: ['localhost'], ...changes });
        expect(await settledRun(workspace.api, runId), JSON.stringify(changes)).toMatchObject({
          status: 'failed',
          error: { code },
        });
      }
    } finally {
      write({});
      await companion.cli('settings', 'accept');
      datagrams.close();
      blocked.closeAllConnections();
      blocked.close();
    }
  });

  test('closes idle pages, and ends after the last page is closed', async () => {
    const settings = JSON.parse((await companion.cli('status', '--json')).stdout) as {
      settings: { browser: Record<string, unknown> };
    };
    writeFileSync(
      join(companion.home, 'settings.json'),
      JSON.stringify({ ...settings.settings, browser: { ...settings.settings.browser, idleSeconds: 10 } }),
    );
    await companion.cli('settings', 'accept');
    const profile = join(companion.home, 'browser-profile');
    const opened = run(companion, [{ ...open, input: { url: `${base}/` } }]);
    await expect.poll(() => processesWith(`--user-data-dir=${profile}`).length).toBeGreaterThan(0);
    expect(await opened).toMatchObject({ status: 'succeeded' });
    await expect.poll(() => processesWith(`--user-data-dir=${profile}`)).toEqual([]);
  });

  test('keeps cookies and the storage of sites when the companion restarts', async () => {
    await using restarted = await startCompanion(hub, workspace, { allow: ['browser'] });
    const keep = "document.cookie = 'kept=yes; max-age=3600'; localStorage.setItem('kept', 'yes')";
    const kept = '[document.cookie, localStorage.getItem("kept")]';
    const atStart = { ...open, input: { url: `${base}/` } };
    const first = await run(restarted, [
      atStart,
      browser('evaluate', { expression: kept }),
      browser('evaluate', { expression: `(() => { ${keep} })()` }),
    ]);
    expect(first).toMatchObject({ status: 'succeeded' });
    expect(outputs(first)[1]).toMatchObject({ value: ['', null] });
    expect(await restarted.stop()).toBe(0);
    await restarted.start();
    const second = await run(restarted, [atStart, browser('evaluate', { expression: kept })]);
    expect(outputs(second)[1]).toMatchObject({ value: ['kept=yes', 'yes'] });
    await restarted.stop();
    await expect.poll(() => processesWith(`--user-data-dir=${join(restarted.home, 'browser-profile')}`)).toEqual([]);
  });

  test('ends when the companion is killed, and starts again with its profile', async () => {
    await using killed = await startCompanion(hub, workspace, { allow: ['browser'] });
    await run(killed, [{ ...open, input: { url: `${base}/` } }]);
    const profile = join(killed.home, 'browser-profile');
    expect(processesWith(`--user-data-dir=${profile}`).length).toBeGreaterThan(0);
    await killed.stop('SIGKILL');
    await expect.poll(() => processesWith(`--user-data-dir=${profile}`)).toEqual([]);
    await killed.start();
    expect(await run(killed, [{ ...open, input: { url: `${base}/` } }])).toMatchObject({ status: 'succeeded' });
    await killed.stop();
    // The helper processes of the browser end a moment after it.
    await expect.poll(() => processesWith(`--user-data-dir=${profile}`)).toEqual([]);
  });
});
