import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CommandOrigin } from '../../../../shared/commands/origin.ts';
import type { LocalSettings } from '../../../../shared/companion/settings.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { findPageBrowser } from '../../../../test/fixtures/page-browser.ts';
import { AuditLog } from '../../audit.ts';
import { Companion } from '../../companion.ts';
import { DataFolder } from '../../data-folder.ts';
import { Dispatcher } from '../../dispatcher.ts';
import { Journal } from '../../journal.ts';
import { changeSettings } from '../../owner-changes.ts';
import { ProcessGuard } from '../../process-guard.ts';
import { BrowserSession } from './session.ts';
import type { BrowserLimits } from './session.ts';

/** The origin of a command: a run of a workflow, or (`directBy`) a direct call of a skill by an API key. */
const runOf = (id: string = randomUUID()): CommandOrigin => ({
  workspace: { id: randomUUID(), name: 'demo' },
  workflow: { id: randomUUID(), name: 'flow' },
  run: { id },
});
const directBy = (keyId: string): CommandOrigin => ({
  workspace: { id: randomUUID(), name: 'demo' },
  run: { id: randomUUID() },
  startedBy: { kind: 'key', id: keyId, name: 'my key' },
});

interface Answer {
  code?: string | undefined;
  message?: string | undefined;
  output: Record<string, any>;
  artifacts: { name: string; contentType: string; content: string }[];
}

const pages: Record<string, string> = {
  '/': '<title>Start</title><h1>Start</h1>',
  '/other': '<title>Other</title><h1>Other</h1>',
  '/links': `<title>Links</title><a href="/other" target="_blank">Blank</a>
    <a href="/other" target="_blank" rel="noopener">No opener</a>
    <button onclick="window.open('/other')">Popup</button><button onclick="window.close()">Close me</button>
    <a href="/other">Same</a>`,
  '/dialogs': `<title>Dialogs</title><p id="out"></p>
    <button onclick="out.textContent = 'confirm ' + confirm('Delete it?')">Delete</button>
    <button onclick="out.textContent = 'prompt ' + prompt('Name?')">Name</button>
    <button onclick="alert('Saved')">Save</button>`,
  '/orphan': `<title>Orphan</title><button onclick="window.open('/orphan-opener')">Popup</button>
    <button onclick="window.open('/orphan-opener?/large.bin')">Download</button>
    <button onclick="setInterval(() => window.open('/orphan-window'), 20)">Endless</button>`,
  '/orphan-opener': `<script>
    for (let number = 0; number < 4; number += 1) window.open(location.search.slice(1) || '/orphan-window');
    window.close();</script>`,
  '/orphan-window': '<title>Orphan window</title>',
  '/windows': `<title>Windows</title><script>const opened = [];
    const show = (path) => { opened.push(window.open(path)); return opened.at(-1); };
    var hold = "fetch(origin + '/held', { cache: 'no-store' })";
    const isOpen = () => opened.map(({ closed }) => !closed);</script>
    <button onclick="for (const path of ['/no-content', '/no-answer']) show(path).eval(hold)">Hold</button>
    <button onclick="for (let number = 0; number < 40; number += 1) show('/no-content')">Many</button>
    <button onclick="show('/no-answer')">Late</button>`,
  '/unload': `<title>Unload</title><button onclick="window.touched = true">Touch me</button>
    <script>addEventListener('beforeunload', (event) => { event.preventDefault(); event.returnValue = 'x'; })</script>`,
  '/long-message': `<title>Long</title><button onclick="console.log(String.fromCharCode(1).repeat(90e6))">Log</button>`,
  '/many-values': `<title>Many</title><button onclick="const values = Array(100000).fill(1); for (let n = 0; n < 4; n += 1) console.log(...values)">Log</button>`,
  '/endless': '<title>Endless</title><button onclick="for(;;)alert(1)">Trap</button>',
  '/endless-load': '<title>Endless</title><script>for(;;)alert(1)</script>',
  '/downloads': `<title>Downloads</title><a href="/report.csv" download>Report</a><a href="/slow.bin">Slow</a>
    <a href="/late.csv" download><b>Late link</b></a><a href="/late.csv">Late page</a>
    <a href="/large.bin">Large</a>
    <a href="/report.csv" target="_blank">Blank report</a>`,
  '/form': `<title>Form</title><label>Color <select id="color"><option value="r">Red</option><option value="g">Green</option></select></label>
    <select multiple aria-label="Sizes"><option>S</option><option>M</option><option>L</option></select>
    <label><input type="checkbox" id="agree"> I agree</label>
    <input aria-label="Search" onkeydown="out.textContent = 'key ' + event.key">
    <div id="spot" onmouseover="out.textContent = 'over'" style="width:50px;height:50px">Spot</div>
    <input type="file" multiple aria-label="Files" onchange="Promise.all([...this.files].map(async (f) => f.name + '=' + await f.text())).then((all) => out.textContent = all.join(';'))">
    <p id="out"></p><div style="height:3000px"></div><p id="far">Far away</p>`,
  '/frames': `<title>Frames</title><h1>Outside</h1><iframe id="one" src="/inner?1"></iframe><iframe id="two" src="/inner?2"></iframe>`,
  '/inner': `<button onclick="this.textContent='Pressed'">Inside</button><p>Deep text</p><button class="only">Only by frame</button>`,
  '/outer': '<title>Outer</title><iframe src="/only"></iframe>',
  '/only': '<iframe src="/deep"></iframe>',
  '/deep': '<button onclick="this.textContent=\'Reached\'">Deep button</button>',
  '/disabled': `<title>Disabled</title><button disabled onclick="clicks += 1">Act</button>
    <script>var clicks = 0, isFound = false; const { closest } = Element.prototype;
      Element.prototype.closest = function (selector) { isFound = true; return closest.call(this, selector); };</script>`,
  '/busy': `<title>Busy</title><a href="/report.csv" download onclick="clicks += 1; return false">Act</a>
    <script>var clicks = 0, isFound = false; const { closest } = Element.prototype;
      Element.prototype.closest = function (selector) {
        if (!isFound) for (const end = Date.now() + 8_000; Date.now() < end; );
        isFound = true;
        return closest.call(this, selector);
      };</script>`,
  '/later': `<title>Later</title><button onclick="go()">Go</button><p id="out" hidden>Now it is here</p>
    <script>const gate = fetch('/gate').then((answer) => answer.text()); function go() { gate.then(() => { out.hidden = false; history.pushState({}, '', '/later/done'); }) }</script>`,
};

const browser = findPageBrowser();

describe.skipIf(browser === null)('the browser (needs Chrome, Edge or Chromium)', () => {
  const gates: (() => void)[] = [];
  const requests: string[] = [];
  const large: ServerResponse[] = [];
  const unanswered: ServerResponse[] = [];
  const blocked: ServerResponse[] = [];
  // Listens on every loopback address, so that only the filter can keep a page from reaching one.
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    requests.push(pathname);
    if (pathname === '/redirect') {
      const to = new URL(request.url ?? '', 'http://x').searchParams.get('to') ?? '/';
      response.writeHead(302, { location: to }).end();
      return;
    }
    if (pathname === '/gate' || pathname === '/slow.bin') {
      const isFile = pathname === '/slow.bin';
      response.writeHead(
        200,
        isFile ? { 'content-disposition': 'attachment', 'content-type': 'application/x-slow' } : {},
      );
      response.write('slow');
      gates.push(() => response.end());
      return;
    }
    if (pathname === '/no-content') {
      response.writeHead(204).end();
      return;
    }
    if (pathname === '/no-answer' || pathname === '/held') {
      (pathname === '/held' ? blocked : unanswered).push(response);
      return;
    }
    if (pathname === '/large.bin') {
      response.writeHead(200, { 'content-disposition': 'attachment', 'content-type': 'application/x-large' });
      large.push(response);
      const part = Buffer.alloc(1024 * 1024);
      const write = () => {
        while (!response.destroyed && response.write(part));
      };
      response.on('drain', write);
      write();
      return;
    }
    if (pathname === '/report.csv' || pathname === '/late.csv') {
      const headers = {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': 'attachment; filename="Report 1.csv"',
      };
      const answer = () => response.writeHead(200, headers).end('a,b\n1,2\n');
      if (pathname === '/report.csv') answer();
      // The server needs some time for the report.
      else setTimeout(answer, 500);
      return;
    }
    const page = pages[pathname];
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' }).end(page ?? 'nothing');
  });
  const home = mkdtempSync(join(tmpdir(), 'outrigger-browser-'));
  const folder = new DataFolder(join(home, 'data'));
  const shared = join(home, 'shared');
  const guard = new ProcessGuard();
  const journal = new Journal(folder.journal);
  let session: BrowserSession;
  let dispatcher: Dispatcher;
  let base: string;
  /** Names of the artifacts at the hub, by ID. */
  const artifactNames = new Map<string, string>();
  let onFull: () => Promise<void> = async () => undefined;

  const openDispatcher = (limits: Partial<BrowserLimits> = {}) => {
    session = new BrowserSession(folder.browserProfile, limits);
    dispatcher = new Dispatcher({
      folder,
      journal,
      audit: new AuditLog(folder.audit),
      nodeId: randomUUID(),
      guard,
      browser: session,
      host: null,
      prompts: undefined,
      pictures: undefined,
      readArtifact: async (_commandId, artifactId) => ({
        name: artifactNames.get(artifactId) ?? 'artifact.txt',
        contentType: 'text/plain',
        content: Buffer.from(`of ${artifactId}`),
      }),
      onChange: () => undefined,
      onBrowserFull: () => onFull(),
      onOutcome: () => undefined,
    });
  };
  const settings = (changes: Partial<LocalSettings['browser']>) =>
    folder.changeSettings((current) => {
      Object.assign(current.browser, changes);
    });

  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, done));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    mkdirSync(shared);
    mkdirSync(folder.temporary, { recursive: true });
    journal.open();
    folder.openSettingsStore({ onEdit: () => undefined });
    await changeSettings(folder, {
      change: 'allow',
      power: 'browser',
      ...(process.getuid?.() === 0 ? { withoutSandbox: true } : {}),
    });
    await changeSettings(folder, { change: 'browser_hosts', privateHosts: ['127.0.0.1'] });
    await changeSettings(folder, { change: 'share', path: shared });
    await settings({ executablePath: browser?.path });
    openDispatcher();
  });
  afterAll(async () => {
    await dispatcher[Symbol.asyncDispose]();
    await guard[Symbol.asyncDispose]();
    journal.close();
    server.closeAllConnections();
    server.close();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });
  afterEach(async () => {
    for (const open of gates.splice(0)) open();
    for (const response of [...unanswered.splice(0), ...blocked.splice(0)]) response.destroy();
    await session.endRuns(session.runIds);
  });

  /** Executes one command as if the hub had sent it. */
  async function send(
    origin: CommandOrigin | undefined,
    action: string,
    input: Record<string, unknown> = {},
  ): Promise<Answer> {
    const finished = await dispatcher.execute({
      id: randomUUID(),
      type: `browser.${action}`,
      input: input as JsonObject,
      origin,
    });
    const { output, error } = finished.result;
    return {
      code: error?.code,
      message: error?.message,
      output: (output ?? {}) as Record<string, any>,
      artifacts: finished.artifacts.map(({ name, contentType, filePath }) => ({
        name,
        contentType,
        content: readFileSync(filePath, 'utf8'),
      })),
    };
  }
  const open = (origin: CommandOrigin | undefined, path: string, more: Record<string, unknown> = {}) =>
    send(origin, 'navigate', { url: `${base}${path}`, ...more });

  describe('downloads in a shared folder', () => {
    const inbox = join(home, 'inbox');
    const click = (run: CommandOrigin, saveDownloadsTo: string) =>
      send(run, 'click', { target: { text: 'Report' }, saveDownloadsTo });
    beforeAll(async () => {
      mkdirSync(inbox);
      await changeSettings(folder, { change: 'share', path: inbox, receiveDownloads: true });
    });
    afterAll(() => changeSettings(folder, { change: 'unshare', path: inbox }));
    beforeEach(() => {
      for (const name of readdirSync(inbox)) rmSync(join(inbox, name), { recursive: true });
      mkdirSync(join(inbox, 'sub'));
    });

    test('a download is also saved in the folder, under a free name and readable by its owner only', async () => {
      const run = runOf();
      await open(run, '/downloads');
      const saved: unknown[] = [];
      for (const folderOfStep of [inbox, 'inbox', join(inbox, 'sub')]) {
        const { output, artifacts } = await click(run, folderOfStep);
        expect(artifacts).toMatchObject([{ content: 'a,b\n1,2\n' }]);
        saved.push(output['downloads'][0].path);
      }
      expect(saved).toEqual([
        join(inbox, 'Report 1.csv'),
        join(inbox, 'Report 1 (1).csv'),
        join(inbox, 'sub', 'Report 1.csv'),
      ]);
      for (const path of saved) {
        expect(readFileSync(path as string, 'utf8')).toBe('a,b\n1,2\n');
        expect(statSync(path as string).mode & 0o777).toBe(0o600);
      }
    });

    test('a folder that does not receive downloads is refused before the command acts on the page', async () => {
      symlinkSync(shared, join(inbox, 'link'));
      mkdirSync(join(inbox, '.hidden'));
      writeFileSync(join(inbox, 'Report 1.csv'), '');
      const run = runOf();
      await open(run, '/downloads');
      const before = requests.filter((path) => path === '/report.csv').length;
      for (const [path, code] of [
        [shared, 'downloads_not_received'],
        [join(inbox, 'link'), 'downloads_not_received'],
        [home, 'outside_shared_folders'],
        [join(inbox, '..', 'data'), 'outside_shared_folders'],
        [join(inbox, '.hidden'), 'protected_path'],
        [join(inbox, 'none'), 'not_found'],
        [join(inbox, 'Report 1.csv'), 'invalid_input'],
      ] as const)
        expect(await click(run, path), path).toMatchObject({ code });
      await changeSettings(folder, { change: 'deny', power: 'files' });
      expect(await click(run, inbox)).toMatchObject({ code: 'denied_by_device' });
      await changeSettings(folder, { change: 'allow', power: 'files' });
      expect(requests.filter((path) => path === '/report.csv')).toHaveLength(before);
    });
  });

  describe('pages', () => {
    test('each run has its own current page', async () => {
      const [one, other] = [runOf(), runOf()];
      await open(one, '/');
      await open(other, '/other');
      expect((await send(one, 'content')).output).toMatchObject({ title: 'Start' });
      expect((await send(other, 'content')).output).toMatchObject({ title: 'Other' });
    });

    test('a page that hangs does not keep other pages of its run from being listed and closed', async () => {
      const run = runOf();
      const hanging = (await open(run, '/')).output['pageId'] as string;
      const other = (await open(run, '/other', { newPage: true })).output['pageId'] as string;
      await send(run, 'evaluate', { pageId: hanging, expression: 'void setTimeout(() => { for (;;); })' });
      expect((await send(run, 'pages')).output).toMatchObject({
        pages: [
          { pageId: hanging, title: '' },
          { pageId: other, title: 'Other' },
        ],
      });
      expect((await send(run, 'close', { pageId: other })).output).toMatchObject({ pageId: other });
      await send(run, 'close', { pageId: hanging });
    });

    test('a command does not wait for the title of a page that hangs', async () => {
      const run = runOf();
      const { pageId } = (await open(run, '/')).output;
      const script = 'void setTimeout(() => { for (;;); })';
      expect((await send(run, 'evaluate', { expression: script })).output).toMatchObject({ pageId, title: '' });
      await send(run, 'close');
    });

    test('a click that waits for its element is not made after its command was withdrawn', async () => {
      const run = runOf();
      await open(run, '/disabled');
      const value = async (expression: string) =>
        (await send(run, 'evaluate', { expression })).output['value'] as unknown;
      const id = randomUUID();
      const clicked = dispatcher.execute({
        id,
        type: 'browser.click',
        input: { target: { text: 'Act' }, timeoutMs: 20_000 },
        origin: run,
      });
      await expect.poll(() => value('isFound')).toBe(true);
      dispatcher.withdraw(id);
      expect((await clicked).result).toMatchObject({ status: 'failed', error: { code: 'withdrawn' } });
      await value(`document.querySelector('button').disabled = false`);
      expect((await send(run, 'hover', { target: { text: 'Act' } })).code).toBeUndefined();
      expect(await value('new Promise((done) => setTimeout(() => done(clicks), 1_000))')).toBe(0);
      expect((await send(run, 'click', { target: { text: 'Act' } })).code).toBeUndefined();
      expect(await value('clicks')).toBe(1);
    });

    test('a click whose page was busy until after its time-out is made once, by the retry', async () => {
      const run = runOf();
      await open(run, '/busy');
      const click = (timeoutMs: number) => send(run, 'click', { target: { text: 'Act' }, timeoutMs });
      // The page is busy for 8 s: longer than the command may take, which is its time-out and 5 s.
      expect(await click(1_000)).toMatchObject({ code: 'timeout' });
      const wait = 'new Promise((done) => setTimeout(() => done(clicks), 1_000))';
      expect((await send(run, 'evaluate', { expression: wait, timeoutMs: 30_000 })).output).toMatchObject({ value: 0 });
      expect((await click(30_000)).code).toBeUndefined();
      expect((await send(run, 'evaluate', { expression: 'clicks' })).output).toMatchObject({ value: 1 });
    });

    test('evaluating a value with the key __proto__ fails with the reason', async () => {
      const run = runOf();
      await open(run, '/');
      const expression = `JSON.parse('{"list":[{"__proto__":1}]}')`;
      expect(await send(run, 'evaluate', { expression })).toMatchObject({
        code: 'evaluation_failed',
        message: expect.stringContaining('the key __proto__') as string,
      });
    });

    test('a browser that is denied while a command waits for it does not restart for that command', async () => {
      const [one, denied, other] = [runOf(), runOf(), runOf()];
      await open(one, '/');
      await settings({ maxPages: 1 });
      onFull = () => dispatcher.denyAll('paused', 'The owner of this machine paused the companion.');
      try {
        expect(await open(denied, '/denied')).toMatchObject({ code: 'interrupted' });
      } finally {
        onFull = async () => undefined;
        await settings({ maxPages: 20 });
      }
      expect(await send(one, 'content')).toMatchObject({
        code: 'page_closed',
        message: expect.stringContaining('The owner of this machine paused the companion.') as string,
      });
      await open(other, '/');
      expect(dispatcher.browserRuns).toEqual([other.run?.id]);
      expect(requests).not.toContain('/denied');
    });

    test('a browser that is denied while it starts leaves no page in the page count', async () => {
      const denied = () => dispatcher.denyAll('paused', 'The owner of this machine paused the companion.');
      await denied();
      for (const momentMs of [50, 150, 250, 400, 600]) {
        const opened = open(runOf(), '/');
        await delay(momentMs);
        await denied();
        expect([undefined, 'interrupted']).toContain((await opened).code);
      }
      await settings({ maxPages: 1 });
      try {
        expect(await open(runOf(), '/')).toMatchObject({ code: undefined, output: { title: 'Start' } });
      } finally {
        await settings({ maxPages: 20 });
      }
    });

    test('a command on a page of another run fails and does not change the page', async () => {
      const [one, other] = [runOf(), runOf()];
      const { pageId } = (await open(one, '/')).output;
      for (const [action, input] of [
        ['content', {}],
        ['navigate', { url: `${base}/other` }],
        ['switch', {}],
        ['close', {}],
      ] as const)
        expect(await send(other, action, { ...input, pageId }), action).toMatchObject({ code: 'page_of_another_run' });
      expect((await send(other, 'pages')).output).toEqual({ pages: [] });
      expect((await send(one, 'content')).output).toMatchObject({ title: 'Start', pageId });
    });

    test('two runs use the browser at the same time', async () => {
      const [one, other] = [runOf(), runOf()];
      await open(one, '/later');
      await open(other, '/links');
      const waiting = send(one, 'evaluate', { expression: 'gate.then(() => document.title)', timeoutMs: 30_000 });
      expect((await send(other, 'click', { target: { text: 'Same' } })).code).toBeUndefined();
      expect((await send(other, 'wait_for', { url: '**/other' })).output).toMatchObject({ title: 'Other' });
      for (const release of gates.splice(0)) release();
      expect((await waiting).output).toMatchObject({ value: 'Later' });
    });

    test('a command of a run without a page fails with page_closed and does not use about:blank', async () => {
      const run = runOf();
      for (const [action, input] of [
        ['content', {}],
        ['evaluate', { expression: '1' }],
        ['click', { target: { text: 'x' } }],
        ['close', {}],
      ] as const)
        expect(await send(run, action, input), action).toMatchObject({ code: 'page_closed' });
      expect(await send(run, 'content', { pageId: 'page-1' })).toMatchObject({ code: 'page_closed' });
    });

    test('the pages of a run stay open after the idle time-out and close when the run ends', async () => {
      await settings({ idleSeconds: 5 });
      const [run, direct] = [runOf(), directBy('key-1')];
      await open(run, '/');
      const { pageId } = (await open(direct, '/')).output;
      // The close of the page of a direct call shows that the idle time-out has expired.
      await expect.poll(() => session.pagesOf({ key: 'direct key key-1', runId: null }).open.size).toBe(0);
      expect(await send(direct, 'content')).toMatchObject({
        code: 'page_closed',
        message: expect.stringContaining('no command used it for 5 seconds') as string,
      });
      expect(await send(direct, 'content', { pageId })).toMatchObject({ code: 'page_closed' });
      expect((await send(run, 'content')).output).toMatchObject({ title: 'Start' });
      await settings({ idleSeconds: 300 });
      expect(dispatcher.browserRuns).toEqual([run.run?.id]);
      await dispatcher.endRuns([run.run?.id as string]);
      expect(dispatcher.browserRuns).toEqual([]);
      expect(await send(run, 'content')).toMatchObject({ code: 'page_closed' });
    });

    test('direct calls of one API key share a page that another key cannot use', async () => {
      const { pageId } = (await open(directBy('key-2'), '/')).output;
      expect((await send(directBy('key-2'), 'content')).output).toMatchObject({ title: 'Start', pageId });
      expect(await send(directBy('key-3'), 'content')).toMatchObject({ code: 'page_closed' });
      expect(await send(directBy('key-3'), 'content', { pageId })).toMatchObject({ code: 'page_of_another_run' });
      await send(directBy('key-2'), 'close');
    });

    test('commands of a hub that sends no origin share one set of pages', async () => {
      await open(undefined, '/');
      expect((await send(undefined, 'content')).output).toMatchObject({ title: 'Start' });
      await send(undefined, 'close');
    });

    test('commands on old pages fail with page_closed after the browser ends or the companion restarts', async () => {
      const run = runOf();
      const { pageId } = (await open(run, '/')).output;
      const { page } = session.find({ key: `run ${run.run?.id}`, runId: run.run?.id ?? '' }, pageId as string);
      const cdp = await page.context().newCDPSession(page);
      await cdp.send('Browser.close' as never).catch(() => undefined);
      await expect.poll(() => dispatcher.browserRuns).toEqual([]);
      expect(await send(run, 'content')).toMatchObject({
        code: 'page_closed',
        message: expect.stringContaining('browser ended') as string,
      });
      const again = (await open(run, '/')).output;
      await dispatcher[Symbol.asyncDispose]();
      openDispatcher();
      expect(await send(run, 'content')).toMatchObject({ code: 'page_closed' });
      expect(await send(run, 'content', { pageId: again['pageId'] as string })).toMatchObject({ code: 'page_closed' });
      expect((await open(run, '/')).output['pageId']).not.toBe(again['pageId']);
    });

    test('an idle page stays open while the hub confirms its run, and closes when the hub does not answer', async () => {
      const data = new DataFolder(join(home, 'idle'));
      await changeSettings(data, { change: 'allow', power: 'browser', withoutSandbox: process.getuid?.() === 0 });
      await data.changeSettings((current) => {
        current.browser.executablePath = browser?.path;
      });
      const runId = randomUUID();
      const heartbeats: string[][] = [];
      let isReachable = true;
      const hub = createServer((request, response) => {
        let text = '';
        request.on('data', (chunk: Buffer) => (text += chunk.toString()));
        request.on('end', () => {
          const isHeartbeat = request.url?.endsWith('/heartbeat') === true;
          if (isHeartbeat) heartbeats.push((JSON.parse(text) as { browserRuns: string[] }).browserRuns);
          response.writeHead(isReachable ? 200 : 503, { 'content-type': 'application/json' });
          const answer = { commands: [], withdrawn: [], endedRuns: [], hub: { pollSeconds: 1, heartbeatSeconds: 1 } };
          response.end(JSON.stringify(answer));
        });
      });
      await new Promise<void>((done) => hub.listen(0, '127.0.0.1', done));
      const idle = new BrowserSession(data.browserProfile, { runPageIdleMs: 15_000 });
      const stop = new AbortController();
      const companion = new Companion({
        folder: data,
        identity: {
          nodeId: randomUUID(),
          deviceSecret: 'x',
          hub: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`,
          pairedAt: '2026-01-01T00:00:00Z',
        },
        signal: stop.signal,
        onEvent: () => undefined,
        browser: idle,
      }).run();
      try {
        const owner = { key: `run ${runId}`, runId };
        const { id } = await idle.withPage(
          data.settingsInForce().browser,
          owner,
          { opens: true },
          async (entry) => entry,
        );
        const opened = heartbeats.length;
        // Heartbeats follow each other in at least 0.8 s, so that these take longer than the limit.
        await expect.poll(() => heartbeats.length - opened, { timeout: 60_000 }).toBeGreaterThan(20);
        expect(heartbeats.at(-1)).toEqual([runId]);
        expect(idle.find(owner, id).closedWhy).toBeNull();
        isReachable = false;
        await expect.poll(() => idle.runIds, { timeout: 60_000 }).toEqual([]);
        expect(() => idle.find(owner, id)).toThrow(
          expect.objectContaining({
            code: 'page_closed',
            message: expect.stringContaining('the hub did not confirm its run') as string,
          }),
        );
      } finally {
        stop.abort();
        await companion;
        hub.closeAllConnections();
        hub.close();
      }
    }, 180_000);

    test('the number of open pages of all runs is limited', async () => {
      const [one, other] = [runOf(), runOf()];
      await settings({ maxPages: 3 });
      try {
        await open(one, '/');
        await open(one, '/', { newPage: true });
        await open(other, '/');
        expect(await open(other, '/', { newPage: true })).toMatchObject({ code: 'too_many_pages' });
        await send(one, 'close');
        expect((await open(other, '/', { newPage: true })).code).toBeUndefined();
      } finally {
        await settings({ maxPages: 20 });
      }
    });

    test('pages of ended runs are closed when the page limit is reached, before the next heartbeat', async () => {
      const [one, other] = [runOf(), runOf()];
      await settings({ maxPages: 2 });
      let asked = 0;
      onFull = async () => {
        asked += 1;
        await dispatcher.endRuns([one.run?.id as string]);
      };
      try {
        await open(one, '/');
        await open(one, '/', { newPage: true });
        expect(asked).toBe(0);
        expect((await open(other, '/')).code).toBeUndefined();
        expect(asked).toBe(1);
      } finally {
        onFull = async () => undefined;
        await settings({ maxPages: 20 });
      }
    });

    test('pages are listed, switched and closed', async () => {
      const run = runOf();
      const first = (await open(run, '/')).output['pageId'] as string;
      const second = (await open(run, '/other', { newPage: true })).output['pageId'] as string;
      expect((await send(run, 'pages')).output['pages']).toMatchObject([
        { pageId: first, title: 'Start', current: false },
        { pageId: second, title: 'Other', current: true },
      ]);
      expect((await send(run, 'switch', { pageId: first })).output).toMatchObject({ pageId: first, title: 'Start' });
      expect((await send(run, 'content')).output).toMatchObject({ pageId: first });
      expect((await send(run, 'close')).output).toMatchObject({
        pageId: first,
        pages: [{ pageId: second, current: true }],
      });
      expect((await send(run, 'content')).output).toMatchObject({ title: 'Other' });
      expect(await send(run, 'content', { pageId: first })).toMatchObject({
        code: 'page_closed',
        message: expect.stringContaining('browser.close') as string,
      });
    });

    test('a page goes back and reloads', async () => {
      const run = runOf();
      await open(run, '/');
      await open(run, '/other');
      expect((await send(run, 'back')).output).toMatchObject({ title: 'Start' });
      await send(run, 'evaluate', { expression: "document.title = 'Changed'" });
      expect((await send(run, 'reload')).output).toMatchObject({ title: 'Start', status: 200 });
    });
  });

  describe('windows, dialogs and downloads of pages', () => {
    test.each([
      ['a link with a target', { text: 'Blank' }],
      ['a link without an opener', { text: 'No opener' }],
      ['a script', { text: 'Popup' }],
    ])('a click reports the page that %s opens, and the page belongs to the run', async (_what, target) => {
      const run = runOf();
      await open(run, '/links');
      const click = await send(run, 'click', { target });
      expect(click.output['opened']).toEqual([{ pageId: expect.any(String) as string, url: `${base}/other` }]);
      expect(click.output).toMatchObject({ title: 'Links' });
      const { pageId } = click.output['opened'][0] as { pageId: string };
      expect((await send(run, 'content', { pageId })).output).toMatchObject({ title: 'Other' });
      expect(await send(runOf(), 'content', { pageId })).toMatchObject({ code: 'page_of_another_run' });
    });

    test('the page that opened a popup becomes the current page when the popup closes itself', async () => {
      const run = runOf();
      const { pageId } = (await open(run, '/links')).output;
      const { output } = await send(run, 'evaluate', { expression: "void window.open('/links')" });
      await send(run, 'switch', { pageId: output['opened'][0].pageId });
      await send(run, 'evaluate', { expression: 'void setTimeout(() => window.close())' });
      await expect
        .poll(async () => (await send(run, 'pages')).output['pages'])
        .toMatchObject([{ pageId, current: true }]);
      expect((await send(run, 'content')).output).toMatchObject({ pageId });
    });

    test('a popup whose opener closes itself immediately is closed with its windows', async () => {
      const run = runOf();
      await open(run, '/orphan');
      await send(run, 'click', { target: { text: 'Popup' } });
      await expect.poll(() => requests.filter((path) => path === '/orphan-window').length).toBe(4);
      await expect.poll(() => session.unownedPages()).toEqual([]);
    });

    test('windows that a page opens while its run ends are closed', async () => {
      const [run, other] = [runOf(), runOf()];
      await open(other, '/');
      await open(run, '/orphan');
      await send(run, 'click', { target: { text: 'Endless' } });
      await expect.poll(() => session.pagesOf({ key: `run ${run.run?.id}`, runId: null }).open.size).toBeGreaterThan(5);
      await dispatcher.endRuns([run.run?.id as string]);
      await expect.poll(() => session.unownedPages()).toEqual([]);
      expect(dispatcher.browserRuns).toEqual([other.run?.id]);
    });

    test('dialogs get the answer that the command sets, and the command reports them', async () => {
      const run = runOf();
      await open(run, '/dialogs');
      const out = async () => (await send(run, 'content')).output['text'] as string;
      const target = { role: 'button', name: 'Delete' };
      expect((await send(run, 'click', { target })).output['dialogs']).toEqual([
        { type: 'confirm', message: 'Delete it?', answer: 'dismissed' },
      ]);
      expect(await out()).toContain('confirm false');
      expect((await send(run, 'click', { target, dialogs: 'accept' })).output['dialogs']).toEqual([
        { type: 'confirm', message: 'Delete it?', answer: 'accepted' },
      ]);
      expect(await out()).toContain('confirm true');
      await send(run, 'click', { target: { role: 'button', name: 'Name' }, dialogs: 'accept', promptText: 'Ada' });
      expect(await out()).toContain('prompt Ada');
      expect((await send(run, 'click', { target: { text: 'Save' } })).output['dialogs']).toEqual([
        { type: 'alert', message: 'Saved', answer: 'dismissed' },
      ]);
      expect((await send(run, 'content')).output['dialogs']).toEqual([]);
    });

    test('a beforeunload dialog is accepted unless the command dismisses it', async () => {
      const run = runOf();
      await open(run, '/unload');
      await send(run, 'click', { target: { text: 'Touch me' } });
      expect(await open(run, '/other', { dialogs: 'dismiss', timeoutMs: 3_000 })).toMatchObject({
        code: expect.stringMatching(/navigation_failed|timeout/) as string,
      });
      expect((await send(run, 'content')).output).toMatchObject({ title: 'Unload' });
      const left = await open(run, '/other');
      expect(left.output).toMatchObject({ title: 'Other' });
      expect(left.output['dialogs']).toContainEqual({ type: 'beforeunload', message: '', answer: 'accepted' });
    });

    test.each(['/endless-load', '/endless'])(
      'a page with endless dialogs is closed, and the run can open another page (%s)',
      async (path) => {
        const run = runOf();
        const opened = await open(run, path);
        const trapped =
          path === '/endless' ? await send(run, 'click', { target: { text: 'Trap' }, timeoutMs: 20_000 }) : opened;
        expect(trapped).toMatchObject({
          code: 'page_closed',
          message: expect.stringMatching(/too many dialogs \(\d+\); the last one says "1"/) as string,
        });
        expect(await send(run, 'content')).toMatchObject({ code: 'page_closed' });
        expect((await open(run, '/other')).output).toMatchObject({ title: 'Other' });
      },
    );

    test.each(['Late link', 'Late page'])('a click waits until its download begins (%s)', async (text) => {
      const run = runOf();
      await open(run, '/downloads');
      expect(await send(run, 'click', { target: { text } })).toMatchObject({
        code: undefined,
        output: { downloads: [{ name: 'Report 1.csv', state: 'saved' }] },
      });
    });

    test('a download by a click or by its address becomes an artifact with name and content type', async () => {
      const run = runOf();
      await open(run, '/downloads');
      for (const begin of [
        () => send(run, 'click', { target: { text: 'Report' } }),
        () => send(run, 'click', { target: { text: 'Blank report' } }),
        () => open(run, '/report.csv'),
      ]) {
        const answer = await begin();
        expect(answer.output['downloads']).toEqual([
          {
            name: 'Report 1.csv',
            url: `${base}/report.csv`,
            state: 'saved',
            contentType: 'text/csv',
            bytes: 8,
            artifact: 'download-1-Report_1.csv',
          },
        ]);
        expect(answer.artifacts).toEqual([
          { name: 'download-1-Report_1.csv', contentType: 'text/csv', content: 'a,b\n1,2\n' },
        ]);
      }
    });

    test('a download that takes longer than its command is returned by a later command', async () => {
      const run = runOf();
      await open(run, '/downloads');
      const click = await send(run, 'click', { target: { text: 'Slow' }, timeoutMs: 10_000 });
      expect(click.output['downloads']).toMatchObject([{ state: 'running' }]);
      for (const release of gates.splice(0)) release();
      const waited = await send(run, 'wait_for', { download: true });
      expect(waited.output['downloads']).toMatchObject([
        { state: 'saved', bytes: 4, contentType: 'application/x-slow' },
      ]);
    });
  });

  describe('private networks', () => {
    test('are refused before a request is sent, unless the owner allows them', async () => {
      const { port } = server.address() as AddressInfo;
      const run = runOf();
      await settings({ privateHosts: [`127.0.0.1:${port}`] });
      const away = `http://127.0.0.2:${port}`;
      await open(run, '/');
      requests.length = 0;
      for (const url of [`${away}/direct`, `http://[::1]:${port}/`, `http://0.0.0.0:${port}/`])
        expect(await send(run, 'navigate', { url }), url).toMatchObject({ code: 'denied_by_policy' });
      expect(await open(run, `/redirect?to=${away}/redirected`)).toMatchObject({ code: 'denied_by_policy' });
      await open(run, '/');
      const { output } = await send(run, 'evaluate', {
        expression: `(async () => {
          const held = (promise) => promise.then(() => 'passed', () => 'held');
          document.body.append(Object.assign(document.createElement('iframe'), { src: '${away}/frame' }));
          return Promise.all([
            held(fetch('${away}/fetch', { mode: 'no-cors' })),
            held(fetch('/redirect?to=${away}/fetched', { mode: 'no-cors' })),
            held(new Promise((yes, no) => Object.assign(new Image(), { onload: yes, onerror: no, src: '${away}/image' }))),
            held(new Promise((yes, no) => Object.assign(new WebSocket('ws://127.0.0.2:${port}/socket'), { onopen: yes, onerror: no }))),
          ]);
        })()`,
      });
      expect(output['value']).toEqual(['held', 'held', 'held', 'held']);
      expect(
        await send(run, 'evaluate', {
          expression: `(location.href = '${away}/scripted', new Promise((done) => setTimeout(done, 2000)))`,
        }),
      ).toMatchObject({ code: 'denied_by_policy' });
      expect(requests.filter((path) => !['/', '/redirect', '/favicon.ico'].includes(path))).toEqual([]);
      await settings({ privateHosts: ['127.0.0.0/8'] });
      expect((await send(run, 'navigate', { url: `${away}/other` })).output).toMatchObject({ title: 'Other' });
    });
  });

  describe('forms and frames', () => {
    test('commands select options, check boxes, press keys, hover and scroll', async () => {
      const run = runOf();
      await open(run, '/form');
      const value = async (expression: string) =>
        (await send(run, 'evaluate', { expression })).output['value'] as unknown;
      expect(
        (await send(run, 'select', { target: { selector: '#color' }, options: ['Green'] })).output['selected'],
      ).toEqual(['g']);
      expect(
        (await send(run, 'select', { target: { role: 'listbox', name: 'Sizes' }, options: ['S', 'L'] })).output[
          'selected'
        ],
      ).toEqual(['S', 'L']);
      const agree = { role: 'checkbox', name: 'I agree' };
      await send(run, 'check', { target: agree });
      expect(await value('agree.checked')).toBe(true);
      await send(run, 'check', { target: agree, checked: false });
      expect(await value('agree.checked')).toBe(false);
      await send(run, 'press', { target: { role: 'textbox', name: 'Search' }, key: 'ArrowDown' });
      expect(await value('out.textContent')).toBe('key ArrowDown');
      await send(run, 'press', { key: 'Escape' });
      expect(await value('out.textContent')).toBe('key Escape');
      expect(await send(run, 'press', { key: 'NoSuchKey' })).toMatchObject({ code: 'invalid_input' });
      await send(run, 'hover', { target: { selector: '#spot' } });
      expect(await value('out.textContent')).toBe('over');
      await send(run, 'scroll', { target: { text: 'Far away' } });
      expect(await value('scrollY > 1000')).toBe(true);
      await send(run, 'scroll', { y: -100_000 });
      expect(await value('scrollY')).toBe(0);
    });

    test('a click acts on a ref of a snapshot and fails with target_not_found for an unknown ref', async () => {
      const run = runOf();
      await open(run, '/frames');
      const { snapshot } = (await send(run, 'content')).output;
      const ref = /button "Inside" \[ref=(\w+)\]/.exec(snapshot as string)?.[1];
      await send(run, 'click', { target: { ref } });
      expect((await send(run, 'wait_for', { text: 'Pressed' })).code).toBeUndefined();
      expect(await send(run, 'click', { target: { ref: 'e9999' }, timeoutMs: 1_000 })).toMatchObject({
        code: 'target_not_found',
      });
    });

    test('files of a shared folder are uploaded, and other files are refused', async () => {
      writeFileSync(join(shared, 'one.txt'), 'first');
      writeFileSync(join(shared, 'two.txt'), 'second');
      writeFileSync(join(home, 'secret.txt'), 'secret');
      const run = runOf();
      await open(run, '/form');
      const target = { selector: 'input[type=file]' };
      await send(run, 'upload', { target, files: [{ path: join(shared, 'one.txt') }, { path: 'shared/two.txt' }] });
      expect((await send(run, 'wait_for', { text: 'one.txt=first;two.txt=second' })).code).toBeUndefined();
      expect(await send(run, 'upload', { target, files: [{ path: join(home, 'secret.txt') }] })).toMatchObject({
        code: 'outside_shared_folders',
      });
      await changeSettings(folder, { change: 'deny', power: 'files' });
      expect(await send(run, 'upload', { target, files: [{ path: join(shared, 'one.txt') }] })).toMatchObject({
        code: 'denied_by_device',
      });
      await changeSettings(folder, { change: 'allow', power: 'files' });
    });

    test('a folder that is unshared while a command waits is neither read nor written', async () => {
      const own = join(home, 'unshared');
      mkdirSync(own);
      writeFileSync(join(own, 'one.txt'), 'first');
      await changeSettings(folder, { change: 'share', path: own, receiveDownloads: true });
      const [reader, writer] = [runOf(), runOf()];
      for (const run of [reader, writer]) {
        await open(run, '/later');
        const body = `<input type=file id=late><a id=late-link href=/report.csv download>Report</a>`;
        const expression = `void gate.then(() => document.body.insertAdjacentHTML('beforeend', '${body}'))`;
        await send(run, 'evaluate', { expression });
      }
      const files = [{ path: join(own, 'one.txt') }];
      const commands = [
        send(reader, 'upload', { target: { selector: '#late' }, files }),
        send(writer, 'click', { target: { selector: '#late-link' }, saveDownloadsTo: own }),
      ];
      await expect.poll(() => dispatcher.running.length).toBe(2);
      // No event shows that the commands have checked the folder and wait for their elements.
      await delay(500);
      await changeSettings(folder, { change: 'unshare', path: own });
      await dispatcher.applySettings(folder.readSettings());
      for (const release of gates.splice(0)) release();
      const [read, written] = await Promise.all(commands);
      expect(read).toMatchObject({ code: 'outside_shared_folders' });
      // Either the command fails, or the download is only an artifact.
      expect([written?.code, written?.output['downloads']?.[0]?.path]).not.toEqual([undefined, expect.any(String)]);
      expect(readdirSync(own)).toEqual(['one.txt']);
    });

    test('an artifact of the run is uploaded together with a file, and also if files are denied', async () => {
      writeFileSync(join(shared, 'one.txt'), 'first');
      const run = runOf();
      await open(run, '/form');
      const target = { selector: 'input[type=file]' };
      const artifactId = randomUUID();
      await send(run, 'upload', { target, files: [{ artifactId }, { path: join(shared, 'one.txt') }] });
      expect(
        (await send(run, 'wait_for', { text: `artifact.txt=of ${artifactId};one.txt=first` })).code,
      ).toBeUndefined();
      await changeSettings(folder, { change: 'deny', power: 'files' });
      expect((await send(run, 'upload', { target, files: [{ artifactId }] })).code).toBeUndefined();
      await changeSettings(folder, { change: 'allow', power: 'files' });
      expect(await send(run, 'upload', { target, files: [{ name: 'x' }] })).toMatchObject({ code: 'invalid_input' });
    });

    test('an uploaded download has its original file name, not the name of its artifact', async () => {
      const run = runOf();
      await open(run, '/downloads');
      const { artifacts } = await send(run, 'click', { target: { text: 'Report' } });
      await open(run, '/form');
      const [known, unknown] = [randomUUID(), randomUUID()];
      artifactNames.set(known, artifacts[0]?.name as string);
      // This file was downloaded before a restart of the companion.
      artifactNames.set(unknown, 'download-2-table.csv');
      await send(run, 'upload', {
        target: { selector: 'input[type=file]' },
        files: [{ artifactId: known }, { artifactId: unknown }],
      });
      expect(
        (await send(run, 'wait_for', { text: `Report 1.csv=of ${known};table.csv=of ${unknown}` })).code,
      ).toBeUndefined();
    });

    test('selecting a missing or disabled option fails with the list of existing options', async () => {
      const run = runOf();
      await open(run, '/form');
      await send(run, 'evaluate', { expression: "document.querySelector('#color').options[0].disabled = true" });
      const select = async (target: object, options: string[], timeoutMs = 300) =>
        send(run, 'select', { target, options, timeoutMs });
      expect(await select({ selector: '#color' }, ['Blue'])).toMatchObject({
        code: 'target_not_found',
        message: 'The field has no option "Blue". Its options: "Red (disabled)", "Green".',
      });
      expect(await select({ selector: '#color' }, ['r'])).toMatchObject({
        code: 'target_not_found',
        message: 'The page disabled the option "r". Its options: "Red (disabled)", "Green".',
      });
      expect((await select({ selector: '#color' }, ['Green'], 20_000)).output['selected']).toEqual(['g']);
    });

    test('targets match elements in frames, and a frame selector resolves ambiguous matches', async () => {
      const run = runOf();
      await open(run, '/outer');
      await send(run, 'click', { target: { role: 'button', name: 'Deep button' } });
      expect((await send(run, 'wait_for', { text: 'Reached' })).code).toBeUndefined();
      await open(run, '/frames');
      expect(await send(run, 'click', { target: { text: 'Inside' } })).toMatchObject({
        code: 'target_not_found',
        message: expect.stringContaining('2 elements') as string,
      });
      await send(run, 'click', { target: { text: 'Inside', frame: '#two' } });
      expect(
        (await send(run, 'wait_for', { target: { role: 'button', name: 'Pressed', frame: '#two' } })).code,
      ).toBeUndefined();
      expect(await send(run, 'click', { target: { selector: '.only', frame: '#none' }, timeoutMs: 300 })).toMatchObject(
        {
          code: 'target_not_found',
        },
      );
    });

    test('wait_for waits for later content until its time-out', async () => {
      const run = runOf();
      await open(run, '/later');
      await send(run, 'click', { target: { text: 'Go' } });
      for (const input of [
        { text: 'Now it is here' },
        { target: { selector: '#out' } },
        { url: '**/done' },
        { download: true },
      ])
        expect(await send(run, 'wait_for', { ...input, timeoutMs: 300 }), JSON.stringify(input)).toMatchObject({
          code: 'timeout',
          message: expect.not.stringMatching(/\d\.\d|Timeout \d+ms exceeded\.$/) as string,
        });
      expect(await send(run, 'wait_for', {})).toMatchObject({ code: 'invalid_input' });
      for (const release of gates.splice(0)) release();
      expect(
        await send(run, 'wait_for', {
          text: 'Now it is here',
          target: { selector: '#out' },
          url: '**/later/done',
          load: 'load',
        }),
      ).toMatchObject({ output: { url: `${base}/later/done` } });
      expect((await send(run, 'wait_for', { target: { selector: '#none' }, state: 'detached' })).code).toBeUndefined();
    });
  });

  describe('resource limits of pages', () => {
    // Low limits, so that pages reach them soon.
    const limits = { maxDownloadBytes: 8 * 1024 * 1024, openedMs: 500 };
    beforeAll(async () => {
      await dispatcher[Symbol.asyncDispose]();
      openDispatcher(limits);
    });

    test('windows whose first navigation never commits are closed with the run of their opener', async () => {
      const run = runOf();
      await open(run, '/windows');
      await send(run, 'click', { target: { text: 'Hold' } });
      await expect.poll(() => blocked.length).toBe(2);
      // The opening of this page starts a check of the windows.
      await open(runOf(), '/');
      expect(await session.unownedPages()).toEqual([]);
      expect((await send(run, 'evaluate', { expression: 'isOpen()' })).output['value']).toEqual([true, true]);
      expect((await send(run, 'pages')).output['pages']).toHaveLength(1);
      await dispatcher.endRuns([run.run?.id as string]);
      await expect.poll(() => blocked.map(({ destroyed }) => destroyed)).toEqual([true, true]);
    });

    test('windows whose first navigation never commits are closed with their opener', async () => {
      const run = runOf();
      await open(run, '/');
      await open(run, '/windows', { newPage: true });
      await send(run, 'click', { target: { text: 'Hold' } });
      await expect.poll(() => blocked.length).toBe(2);
      await send(run, 'close');
      await expect.poll(() => blocked.map(({ destroyed }) => destroyed)).toEqual([true, true]);
      expect((await send(run, 'pages')).output['pages']).toMatchObject([{ title: 'Start' }]);
    });

    test('windows whose first navigation never commits count towards the page limits', async () => {
      const run = runOf();
      await open(run, '/windows');
      const { output } = await send(run, 'click', { target: { text: 'Many' } });
      // A window that is refused after the end of the click is in the output of a later command.
      const opened = [...((output['opened'] ?? []) as unknown[])];
      const isOpen = async () => {
        const later = (await send(run, 'evaluate', { expression: 'isOpen().filter(Boolean).length' })).output;
        opened.push(...((later['opened'] ?? []) as unknown[]));
        return [later['value'] as unknown, opened];
      };
      // The address of a refused window is known only if a command waits for the window.
      const refused = { pageId: '', url: expect.toBeOneOf(['', `${base}/no-content`]) as string };
      await expect.poll(isOpen).toEqual([9, expect.arrayContaining([refused])]);
      expect(await open(run, '/', { newPage: true })).toMatchObject({ code: 'too_many_pages' });
      await settings({ maxPages: 10 });
      try {
        expect(await open(runOf(), '/')).toMatchObject({ code: 'too_many_pages' });
      } finally {
        await settings({ maxPages: 20 });
      }
    });

    test('a window that navigates late becomes a page of the run', async () => {
      const run = runOf();
      await open(run, '/windows');
      await send(run, 'click', { target: { text: 'Late' } });
      await expect.poll(() => unanswered.length).toBe(1);
      await open(runOf(), '/');
      unanswered[0]?.writeHead(200, { 'content-type': 'text/html' }).end('<title>Late</title>');
      await expect
        .poll(async () => (await send(run, 'pages')).output['pages'])
        .toMatchObject([{ title: 'Windows' }, { title: 'Late' }]);
    });

    test('a download that is too large fails without affecting other downloads', async () => {
      await dispatcher[Symbol.asyncDispose]();
      openDispatcher({ maxDownloadBytes: limits.maxDownloadBytes });
      const [run, other] = [runOf(), runOf()];
      await open(other, '/downloads');
      const slow = send(other, 'click', { target: { text: 'Slow' } });
      await expect.poll(() => gates.length).toBe(1);
      await open(run, '/downloads');
      const failed = await send(run, 'click', { target: { text: 'Large' } });
      expect(failed.output['downloads']).toMatchObject([
        { state: 'failed', error: expect.stringContaining(`${limits.maxDownloadBytes} bytes`) as string },
      ]);
      for (const release of gates.splice(0)) release();
      expect((await slow).output['downloads']).toMatchObject([{ state: 'saved', bytes: 4 }]);
      await dispatcher[Symbol.asyncDispose]();
      openDispatcher(limits);
    });

    test('an endless download of a page without a run is ended', async () => {
      const run = runOf();
      await open(run, '/orphan');
      await send(run, 'click', { target: { text: 'Download' } });
      await expect.poll(() => requests.includes('/large.bin')).toBe(true);
      const downloads = `${folder.browserProfile}-downloads`;
      const files = () => (existsSync(downloads) ? readdirSync(downloads) : []);
      await expect.poll(() => large.every(({ destroyed }) => destroyed)).toBe(true);
      await expect.poll(files).toEqual([]);
    });

    test('console messages that fill the heap of the companion end the browser, not the companion', async () => {
      await dispatcher[Symbol.asyncDispose]();
      openDispatcher({ maxHeapGrowthBytes: 50 * 1024 * 1024 });
      const run = runOf();
      await open(run, '/many-values');
      await send(run, 'click', { target: { text: 'Log' } });
      await expect.poll(() => dispatcher.browserRuns, { timeout: 120_000 }).toEqual([]);
      expect(await send(run, 'content')).toMatchObject({
        code: 'page_closed',
        message: expect.stringContaining('sent more data than the companion can read') as string,
      });
      expect((await open(run, '/other')).output).toMatchObject({ title: 'Other' });
    });

    test('a console message that is too long to read ends the browser, not the companion', async () => {
      const run = runOf();
      await open(run, '/long-message');
      await send(run, 'click', { target: { text: 'Log' } });
      await expect.poll(() => dispatcher.browserRuns, { timeout: 240_000 }).toEqual([]);
      expect(await send(run, 'content')).toMatchObject({
        code: 'page_closed',
        // Which of the two happens first depends on the browser.
        message: expect.stringMatching(/the browser failed|sent more data than the companion can read/) as string,
      });
      expect((await open(run, '/other')).output).toMatchObject({ title: 'Other' });
    }, 360_000);
  });
});
