import { extname } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HistoryEntry } from '../../shared/companion/state.ts';
import { CompanionStandIn, makePrompt, makeHistoryEntry, pixel } from '../../test/fixtures/companion-stand-in.ts';
import { accessibilityViolations, startWindowHost } from '../../test/fixtures/companion-window.ts';
import type { WindowHost } from '../../test/fixtures/companion-window.ts';
import { findPageBrowser } from '../../test/fixtures/page-browser.ts';

const browser = findPageBrowser();
const pages = ['Overview', 'Activity', 'Permissions', 'Check', 'Settings'] as const;
const show = (page: Page, name: string) => page.getByRole('tab', { name }).click();

const hostile =
  '<img src="http://evil.example/x.png" onerror="document.title=\'owned\'"><script>document.title="owned"</script>';
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

describe.skipIf(browser === null)('the window (needs Chromium)', () => {
  let host: WindowHost;
  let companion: CompanionStandIn;
  beforeAll(async () => {
    host = await startWindowHost(browser?.path as string);
  });
  afterAll(() => host[Symbol.asyncDispose]());
  beforeEach(() => {
    companion = new CompanionStandIn();
    const { settings } = companion.state;
    settings.capture.screen = true;
    settings.sharedFolders = ['/home/ann/Documents'];
    settings.browser.allowHosts = ['example.org'];
    settings.system.rules = [
      {
        id: crypto.randomUUID(),
        decision: 'deny',
        pattern: 'rm **',
        exact: null,
        until: null,
        createdAt: minutesAgo(9),
      },
    ];
    companion.state.running = [
      { id: 'r', type: 'node.capture_audio', summary: 'seconds=60', startedAt: minutesAgo(0.1) },
    ];
    companion.history = [
      makeHistoryEntry({ hasPicture: true }),
      makeHistoryEntry({
        type: 'system.run',
        summary: 'argv=["make"]',
        approvedBy: 'ben@example.org',
        outcome: 'timeout',
        message: 'It was ended.',
        time: minutesAgo(4),
      }),
      makeHistoryEntry({ type: 'node.ping', summary: 'of the day before', time: minutesAgo(26 * 60) }),
    ];
    companion.system.set('camera', {
      state: 'missing',
      detail: 'ffmpeg is not installed',
      remedy: { text: 'Install ffmpeg.', action: { kind: 'copy', command: 'apt install ffmpeg' } },
    });
    companion.system.set('audio', {
      state: 'denied',
      detail: '',
      remedy: { text: 'Allow the microphone.', action: { kind: 'open_settings', pane: 'microphone' } },
    });
    companion.results = [
      { part: 'screen', state: 'passed', detail: 'It came.', permission: null, picture: pixel, durationMs: 400 },
      {
        part: 'camera',
        state: 'failed',
        detail: 'No picture came.',
        permission: companion.system.get('camera') ?? null,
        picture: null,
        durationMs: 3,
      },
      { part: 'audio', state: 'off', detail: '', permission: null, picture: null, durationMs: 0 },
    ];
  });

  describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
    test('shows each page without accessibility violations, policy violations or horizontal scrolling', async () => {
      for (const viewport of [
        { width: 1400, height: 900 },
        { width: 420, height: 760 },
      ]) {
        await using opened = await host.open(companion, {
          colorScheme,
          viewport,
          reducedMotion: 'reduce',
        });
        for (const name of pages) {
          await show(opened.page, name);
          await opened.page.getByRole('heading', { level: 1, name }).waitFor({ state: 'attached' });
          expect(await accessibilityViolations(opened.page), `${name} at ${viewport.width}`).toEqual([]);
          expect(
            await opened.page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
            `${name} at ${viewport.width}`,
          ).toBe(true);
        }
        companion.updateState((state) => (state.prompts = [makePrompt({ stdin: 'x' })]));
        await opened.page.getByRole('alertdialog').waitFor();
        // In a small window, the owner must scroll to the end first.
        await opened.page.locator('.prompt-body').evaluate((body) => body.scrollTo(0, body.scrollHeight));
        await expect
          .poll(() => opened.page.getByRole('button', { name: 'Allow once' }).getAttribute('aria-disabled'))
          .toBe('false');
        expect(await accessibilityViolations(opened.page), `a prompt at ${viewport.width}`).toEqual([]);
        companion.updateState((state) => (state.prompts = []));
        expect(opened.complaints).toEqual([]);
      }
    });
  });

  test('loads only its own files', async () => {
    await using opened = await host.open(companion);
    for (const name of pages) await show(opened.page, name);
    // The order of the requests of two connections is not defined.
    const sorted = opened.requests.toSorted((one, other) => extname(one).localeCompare(extname(other)));
    expect(sorted).toEqual(['/', expect.stringMatching(/\.css$/), expect.stringMatching(/\.js$/)]);
  });

  test('shows permissions, running commands, and recent commands with their pictures on the overview', async () => {
    await using opened = await host.open(companion);
    const { page } = opened;
    await expect
      .poll(() => page.getByRole('status').first().textContent())
      .toContain('Connectedhub.example.org by channel');
    expect(await page.locator('.tile').allTextContents()).toEqual([
      'ScreenAllowed',
      'CameraOff',
      'MicrophoneOff',
      'Files1 folder',
      'ProgramsOff',
      'BrowserOff',
    ]);
    expect(await page.locator('section', { hasText: 'Running now' }).textContent()).toContain('Record soundfor');
    await page.getByRole('button', { name: /Show the picture that was sent/ }).click();
    await page.getByRole('dialog').getByAltText('The picture as it was sent').waitFor();
    expect(companion.of('picture')).toContainEqual({ commandId: companion.history[0]?.commandId });
  });

  test('shows on the overview that no allowed power can be used while the companion is paused', async () => {
    companion.state.settings.browser.allowed = true;
    companion.state.settings.until = { browser: minutesAgo(-60) };
    companion.state.settings.system = { ...companion.state.settings.system, allowed: true, ask: true };
    companion.hubAllows.set('system', true);
    await using opened = await host.open(companion);
    const { page } = opened;
    const tiles = () => page.locator('.tile').allTextContents();
    const usable = () => page.locator('.tile.on .tile-name').allTextContents();
    const whileAllowed = [
      'ScreenAllowed',
      'CameraOff',
      'MicrophoneOff',
      'Files1 folder',
      'ProgramsAsks you first',
      expect.stringMatching(/^BrowserUntil .*\d/) as string,
    ];
    await expect.poll(tiles).toEqual(whileAllowed);
    expect(await usable()).toEqual(['Screen', 'Files', 'Programs', 'Browser']);
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await expect
      .poll(tiles)
      .toEqual(['ScreenPaused', 'CameraOff', 'MicrophoneOff', 'FilesPaused', 'ProgramsPaused', 'BrowserPaused']);
    expect(await usable()).toEqual([]);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await expect.poll(tiles).toEqual(whileAllowed);
    expect(await usable()).toEqual(['Screen', 'Files', 'Programs', 'Browser']);
  });

  test('lists the commands of the last day with their summary, outcome, approver and duration', async () => {
    await using opened = await host.open(companion);
    await show(opened.page, 'Activity');
    await expect.poll(() => opened.page.locator('.command-row').count()).toBe(2);
    const row = await opened.page.locator('.command-row').nth(1).textContent();
    for (const part of [
      'Run a program',
      'Ended: took too long',
      'argv=["make"]',
      'It was ended.',
      'ben@example.org',
      '0.4 s',
    ])
      expect(row).toContain(part);
    const entry = makeHistoryEntry({ type: 'node.ping', summary: 'a new one' });
    companion.emit({ event: 'command', entry });
    companion.emit({ event: 'command', entry });
    await expect.poll(() => opened.page.locator('.command-row').count()).toBe(3);
  });

  test('shows the origin and the script of a command in Activity, and no outcome codes', async () => {
    companion.history = [
      makeHistoryEntry({
        type: 'browser.evaluate',
        summary: 'document.title',
        script: { text: `document.title\n// ${hostile}`, characters: 20_000, sha256: 'c'.repeat(64) },
        outcome: 'denied_by_device',
        message: 'The owner of this machine does not allow browser.',
        began: false,
        origin: {
          workspace: { id: crypto.randomUUID(), name: 'Acme' },
          workflow: { id: crypto.randomUUID(), name: 'Nightly check' },
          run: { id: '01a20753-0000-7000-8000-000000000001', step: { index: 1, name: 'title' } },
          startedBy: { kind: 'schedule', name: 'every night' },
          approvedBy: { kind: 'user', id: '1', name: 'ben@example.org', at: minutesAgo(2) },
          reason: 'To see that the site is up',
        },
      }),
    ];
    await using opened = await host.open(companion);
    const { page } = opened;
    await show(page, 'Activity');
    const row = page.locator('.command-row');
    await row.waitFor();
    for (const part of [
      'Refused: not allowed on this machine',
      'WorkspaceAcme',
      'WorkflowNightly check',
      'Run01a20753-0000-7000-8000-000000000001, step 2 (title)',
      'Started byevery night (schedule)',
      'Approved byben@example.org (user)',
      'ReasonTo see that the site is up',
    ])
      expect(await row.textContent()).toContain(part);
    expect(await row.textContent()).not.toContain('denied_by_device');
    expect(await page.getByRole('status').first().textContent()).toContain(
      'hub.example.org, workspace “Acme”, by channel',
    );
    const script = row.getByLabel('Script');
    expect(await script.isVisible()).toBe(false);
    await row.getByText('Script, 20,000 characters').click();
    await expect.poll(() => script.textContent()).toBe(`document.title\n// ${hostile}`);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.locator('img').count()).toBe(0);
  });

  test('describes outcomes and actions of the owner in words addressed to the owner', async () => {
    const refused = (outcome: string, message: string, minutes: number, reason: HistoryEntry['reason'] = null) =>
      makeHistoryEntry({ type: 'system.run', outcome, message, reason, began: false, time: minutesAgo(minutes) });
    companion.history = [
      refused('denied_by_device', 'The owner of this machine was asked, and said no.', 1, 'owner_said_no'),
      refused(
        'denied_by_device',
        'The owner of this machine was asked, and did not answer within 120 s. Run it again, and answer on that machine: outrigger-companion prompts shows the question, and outrigger-companion answer answers it. To run programs there without a question: outrigger-companion ask off',
        2,
        'owner_did_not_answer',
      ),
      refused('paused', 'The owner of this machine paused the companion.', 3),
      makeHistoryEntry({ type: 'owner.change', summary: 'allow screen', outcome: 'done', time: minutesAgo(4) }),
      makeHistoryEntry({ type: 'system.run', outcome: 'paused', message: null, began: true, time: minutesAgo(5) }),
      makeHistoryEntry({
        type: 'system.run',
        outcome: 'interrupted',
        message:
          'The owner of this machine paused the companion. system.run had begun and was ended after 2.0 s; look at the machine before you retry.',
        reason: 'owner_paused',
        durationMs: 2_000,
        began: true,
        time: minutesAgo(6),
      }),
      makeHistoryEntry({
        type: 'system.run',
        outcome: 'outcome_unknown',
        message: null,
        durationMs: 4_000,
        began: true,
        time: minutesAgo(7),
      }),
    ];
    await using opened = await host.open(companion);
    const { page } = opened;
    await show(page, 'Activity');
    await expect
      .poll(() => page.locator('.command-row .badge').allTextContents())
      .toEqual([
        'You denied it',
        'Refused: you did not answer in time',
        'Refused: you had paused',
        'Ended: you paused',
        'Ended: you paused',
        'Interrupted: its effect is unknown',
      ]);
    expect(await page.locator('.command-row').last().textContent()).toContain('at most 4 s');
    expect(await page.locator('.command-row .message').allTextContents()).toEqual([
      'You said no.',
      'You were asked, and did not answer within 120 s. Run it again, and answer in this window.',
      'You paused the companion.',
      'allow screen',
      'You paused the companion. system.run had begun and was ended after 2.0 s; look at the machine before you retry.',
    ]);
    await page.getByRole('button', { name: 'What you did' }).click();
    await expect.poll(() => page.locator('.command-row').count()).toBe(1);
    expect(await page.locator('.command-row').textContent()).toContain('You changed a setting');
  });

  test('reports a missing folder as a problem, but not the absence of shared folders', async () => {
    companion.state.settings.sharedFolders = [];
    companion.state.settings.system = { ...companion.state.settings.system, allowed: true, ask: true };
    companion.hubAllows.set('system', null);
    companion.system.set('files', { state: 'missing', detail: 'No folder is shared.', remedy: null });
    await using opened = await host.open(companion);
    const { page } = opened;
    const tile = (name: string) => page.locator('.tile', { hasText: name }).textContent();
    await expect.poll(() => tile('Files')).toBe('FilesNo folder shared');
    expect(await tile('Programs')).toBe('ProgramsAsks you first');
    await show(page, 'Permissions');
    const files = page.locator('.power', { hasText: 'folders that you share' });
    await expect
      .poll(() => files.locator('.badge').allTextContents())
      .toEqual(['Hub: no restriction', 'No folder shared']);
    expect(await page.locator('.power', { hasText: 'Run programs' }).textContent()).toContain('Hub: unknown');
    await show(page, 'Overview');
    companion.state.settings.sharedFolders = ['/srv/scans', '/home/ann/Documents'];
    companion.system.set('files', { state: 'missing', detail: '/srv/scans is not there.', remedy: null });
    companion.updateState(() => undefined);
    await expect.poll(() => tile('Files')).toBe('Files2 folders1 folder is not there');
  });

  test('shows that a lost connection is retried, and that a companion with a problem is not working', async () => {
    companion.state.connection = { isUp: false, by: 'channel', lastError: 'The hub is away' };
    await using opened = await host.open(companion);
    const status = () => opened.page.getByRole('status').first().textContent();
    await expect.poll(status).toBe('Not connectedThe hub is away. It will retry automatically.');
    companion.state.connection = { isUp: true, by: 'channel', lastError: null };
    companion.updateState((state) => (state.problem = 'The hub revoked this machine.'));
    await expect.poll(status).toBe('Not workingPaired with hub.example.org');
    expect(await opened.page.locator('.dot.good').count()).toBe(0);
  });

  test('starts each page scrolled to its top', async () => {
    companion.history = Array.from({ length: 40 }, () => makeHistoryEntry());
    await using opened = await host.open(companion);
    const { page } = opened;
    await show(page, 'Activity');
    await page.evaluate('scrollTo(0, 2_000)');
    await expect.poll(() => page.evaluate('scrollY')).toBeGreaterThan(500);
    await show(page, 'Settings');
    await expect.poll(() => page.evaluate('scrollY')).toBe(0);
  });

  test('shows the command that pauses exactly this companion when there is no shortcut', async () => {
    companion.app.pauseShortcut = null;
    await using opened = await host.open(companion);
    await show(opened.page, 'Settings');
    const command = opened.page.getByText('outrigger-companion --data-folder "/home/ada/second hub" pause');
    await expect.poll(() => command.isVisible()).toBe(true);
  });

  test('says when the list does not cover a whole day', async () => {
    companion.history = Array.from({ length: 1_000 }, () => makeHistoryEntry());
    await using opened = await host.open(companion);
    await show(opened.page, 'Activity');
    const note = opened.page.getByText('The last 24 hours had more entries than the newest 1,000');
    await expect.poll(() => note.isVisible()).toBe(true);
  });

  test('changes nothing on the page for a state without changes', async () => {
    companion.history = Array.from({ length: 60 }, () => makeHistoryEntry());
    await using opened = await host.open(companion, { reducedMotion: 'reduce' });
    const { page } = opened;
    await show(page, 'Activity');
    await page.locator('.command-row').nth(49).waitFor();
    await page.evaluate(`{
      window.changes = 0;
      new MutationObserver(() => (window.changes += 1)).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    }`);
    for (let time = 0; time < 20; time += 1) companion.updateState(() => undefined);
    companion.updateState((state) => (state.settings.paused = true));
    await expect.poll(() => page.getByRole('status').first().textContent()).toContain('Paused');
    expect(await page.locator('.command-row').count()).toBe(50);
    expect(await page.evaluate('window.changes')).toBeLessThan(10);
  });

  test.each(pages)('pauses everything with one click on the page %s, and shows it', async (name) => {
    await using opened = await host.open(companion);
    await show(opened.page, name);
    await opened.page.getByRole('button', { name: 'Pause', exact: true }).click();
    await expect.poll(() => opened.page.getByRole('status').first().textContent()).toContain('Paused');
    expect(companion.of('change')).toEqual([{ change: 'pause' }]);
    await opened.page.getByRole('button', { name: 'Resume', exact: true }).click();
    await expect.poll(() => companion.of('change').at(-1)).toEqual({ change: 'resume' });
  });

  test('allows a power permanently, for a limited time, and not at all', async () => {
    await using opened = await host.open(companion);
    const { page } = opened;
    await show(page, 'Permissions');
    const camera = page.getByRole('switch', { name: 'Allow camera' });
    // The window ignores a change of a power while another change of the power is in progress.
    const isShown = () => camera.getAttribute('aria-checked');
    await camera.click();
    await expect.poll(() => companion.of('change')).toEqual([{ change: 'allow', power: 'camera' }]);
    await expect.poll(isShown).toBe('true');
    await page.getByRole('button', { name: 'How long camera is allowed' }).click();
    await page.getByRole('menuitem', { name: 'For 1 hour' }).click();
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await expect.poll(() => companion.of('change').at(-1)).toEqual({ change: 'allow', power: 'camera', minutes: 60 });
    await expect
      .poll(() => page.getByRole('button', { name: 'How long camera is allowed' }).textContent())
      .toMatch(/: Until .*\d/);
    await camera.click();
    await expect.poll(() => companion.of('change').at(-1)).toEqual({ change: 'deny', power: 'camera' });
    await expect.poll(isShown).toBe('false');
    companion.updateState((state) => (state.settings.browser.withoutSandbox = true));
    await page.getByText('It runs without its sandbox').waitFor();
    await page.getByRole('button', { name: 'How long browser is allowed' }).click();
    await page.getByRole('menuitem', { name: 'For 15 minutes' }).click();
    await expect
      .poll(() => companion.of('change').at(-1))
      .toEqual({ change: 'allow', power: 'browser', minutes: 15, withoutSandbox: true });
  });

  test('shows the hub switch, the system permission and a remedy for each power', async () => {
    await using opened = await host.open(companion);
    const { page } = opened;
    await show(page, 'Permissions');
    expect(await page.locator('.power', { hasText: 'Run programs' }).textContent()).toContain('Hub: off');
    expect(await page.locator('.power', { hasText: 'Use a browser' }).textContent()).toContain('Hub: on');
    expect(await page.locator('.power', { hasText: 'your camera' }).textContent()).toContain('System: missing');
    await page.getByRole('button', { name: 'Copy' }).click();
    await expect.poll(() => companion.of('app.copy')).toEqual([{ text: 'apt install ffmpeg' }]);
    await page.getByRole('button', { name: 'Open system settings' }).click();
    await expect.poll(() => companion.of('app.openSystemSettings')).toEqual([{ pane: 'microphone' }]);
  });

  test('shares the folder chosen in the system dialog, and nothing when no folder is chosen', async () => {
    await using opened = await host.open(companion);
    await show(opened.page, 'Permissions');
    companion.chosenFolder = null;
    await opened.page.getByRole('button', { name: 'Share a folder…' }).click();
    await expect.poll(() => companion.of('app.chooseFolder')).toHaveLength(1);
    companion.chosenFolder = '/srv/scans';
    await opened.page.getByRole('button', { name: 'Share a folder…' }).click();
    await opened.page.getByText('/srv/scans').waitFor();
    await opened.page.getByRole('button', { name: 'Stop sharing /srv/scans' }).click();
    await expect
      .poll(() => companion.of('change'))
      .toEqual([
        { change: 'share', path: '/srv/scans' },
        { change: 'unshare', path: '/srv/scans' },
      ]);
  });

  test('shows why the companion refused a change, and keeps the typed text', async () => {
    await using opened = await host.open(companion);
    const { page } = opened;
    await show(page, 'Permissions');
    const refusal = 'settings.browser.allowHosts.1 must be a host such as example.org';
    companion.failures.set('change', refusal);
    const allowed = page.getByLabel('Allowed hosts').first();
    await allowed.fill('not a host');
    await allowed.press('Enter');
    await page.getByRole('alert').getByText(refusal).waitFor();
    expect(await allowed.inputValue()).toBe('not a host');
    await page.getByLabel('Command line').fill('git log *');
    await show(page, 'Settings');
    await show(page, 'Permissions');
    expect(await allowed.inputValue()).toBe('not a host');
    await page.getByLabel('Decision').selectOption('Never allow');
    await page.getByLabel('How long', { exact: true }).selectOption('For 1 hour');
    await page.getByRole('button', { name: 'Add rule' }).click();
    await expect.poll(() => page.getByRole('alert').count()).toBe(2);
    expect(await page.getByLabel('Command line').inputValue()).toBe('git log *');
    companion.failures.clear();
    await page.getByRole('button', { name: 'Add rule' }).click();
    await expect.poll(() => page.getByLabel('Command line').inputValue()).toBe('');
    expect(companion.of('change').at(-1)).toEqual({
      change: 'add_rule',
      decision: 'deny',
      pattern: 'git log *',
      minutes: 60,
    });
    await allowed.press('Enter');
    await expect
      .poll(() => companion.of('change').at(-1))
      .toEqual({
        change: 'browser_hosts',
        allowHosts: ['example.org', 'not a host'],
        blockHosts: [],
      });
  });

  test('tests the chosen parts, and shows the picture, what denies a part and how to allow it', async () => {
    await using opened = await host.open(companion);
    const { page } = opened;
    await show(page, 'Check');
    await page.getByRole('checkbox', { name: /^Hub/ }).uncheck();
    await page.getByRole('button', { name: 'Run the check' }).click();
    await page.getByAltText('Result: Screen').waitFor();
    expect(companion.of('test')).toEqual([{ parts: ['screen', 'camera', 'audio', 'system', 'browser'] }]);
    const camera = await page.locator('.check', { hasText: 'Camera' }).textContent();
    for (const part of ['Does not work', 'No picture came.', 'ffmpeg is not installed', 'Install ffmpeg.'])
      expect(camera).toContain(part);
    await page.locator('.check', { hasText: 'Microphone' }).getByText('You have switched it off').waitFor();
    await page.locator('.check', { hasText: 'Programs' }).getByText('No result').waitFor();
    expect(await page.locator('.check', { hasText: 'Hub' }).textContent()).not.toContain('No result');
  });

  test('unpairs only after a confirmation', async () => {
    await using opened = await host.open(companion);
    await show(opened.page, 'Settings');
    await opened.page.getByRole('button', { name: 'Unpair…' }).click();
    await opened.page.getByRole('button', { name: 'Cancel' }).click();
    expect(companion.of('unpair')).toEqual([]);
    await opened.page.getByRole('button', { name: 'Unpair…' }).click();
    await opened.page.getByRole('button', { name: 'Unpair', exact: true }).click();
    await opened.page.getByText('This machine is not paired').waitFor();
  });

  test('shows untrusted markup as text everywhere', async () => {
    const marked = `\u202E${hostile}`;
    companion.history = [
      makeHistoryEntry({
        type: marked,
        summary: marked,
        outcome: marked,
        message: marked,
        approvedBy: marked,
        hasPicture: true,
      }),
    ];
    companion.pictures.set(companion.history[0]?.commandId as string, {
      contentType: 'text/html',
      base64: btoa(hostile),
    });
    companion.state.running = [{ id: 'r', type: marked, summary: marked, startedAt: minutesAgo(1) }];
    companion.state.connection = { isUp: false, by: 'poll', lastError: marked };
    companion.state.problem = marked;
    companion.state.settings.sharedFolders = [`/${marked}`];
    companion.state.settings.browser.allowHosts = [marked.slice(0, 300)];
    companion.system.set('screen', {
      state: 'denied',
      detail: marked,
      remedy: { text: marked, action: { kind: 'copy', command: marked } },
    });
    companion.results = [
      {
        part: 'hub',
        state: 'failed',
        detail: marked,
        permission: null,
        picture: { contentType: 'image/svg+xml', base64: btoa('<svg/>') },
        durationMs: 1,
      },
    ];
    if (companion.state.paired !== null)
      companion.state.paired = { ...companion.state.paired, hub: marked, name: marked };
    companion.app.update = { by: 'app', current: '0', state: 'refused', version: marked, detail: marked };
    await using opened = await host.open(companion);
    const { page } = opened;
    for (const name of pages) {
      await show(page, name);
      if (name === 'Check') await page.getByRole('button', { name: 'Run the check' }).click();
      await expect
        .poll(() => page.getByRole('tabpanel').textContent(), { message: name })
        .toContain(`⟨U+202E⟩${hostile}`);
      expect(await page.getByRole('tabpanel').textContent(), name).not.toContain('\u202E');
      expect(await page.locator('img').count(), name).toBe(0);
    }
    companion.updateState(
      (state) =>
        (state.prompts = [
          makePrompt({
            argv: ['x', marked],
            program: marked,
            cwd: marked,
            env: { [marked]: marked },
            stdin: marked,
            approvedBy: marked,
          }),
        ]),
    );
    await page.getByRole('alertdialog').waitFor();
    expect(await page.locator('img, main script').count()).toBe(0);
    expect(await page.title()).toBe('Outrigger Companion');
    expect(opened.requests).toHaveLength(3);
    expect(opened.complaints).toEqual([]);
  });

  test('shows that the companion is unreachable, and recovers with it', async () => {
    companion.failures.set('subscribe', 'The companion does not run.');
    companion.app.runtime = { state: 'restarting', detail: 'It ended and is started again.' };
    await using opened = await host.open(companion);
    const status = () => opened.page.getByRole('status').first().textContent();
    await expect.poll(status).toBe('RestartingThe companion does not run.');
    await opened.page.getByRole('button', { name: 'Open log folder' }).click();
    await expect.poll(() => companion.of('app.openLogFolder')).toHaveLength(1);
    companion.failures.clear();
    companion.updateApp((app) => (app.runtime = { state: 'running', detail: null }));
    await expect.poll(status).toContain('Connected');
    companion.updateApp((app) => (app.runtime = { state: 'stopped', detail: 'It ended five times.' }));
    await expect.poll(status).toBe('StoppedIt ended five times.');
  });

  test('supports navigation to pages and to the pause button by keyboard', async () => {
    await using opened = await host.open(companion);
    const { page } = opened;
    await expect.poll(() => page.getByRole('status').first().textContent()).toContain('Connected');
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Permissions' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    await page.keyboard.press('Space');
    await expect.poll(() => companion.of('change')).toEqual([{ change: 'pause' }]);
  });
});
