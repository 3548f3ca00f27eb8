import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PairingLink } from '../../shared/companion/app.ts';
import { CompanionStandIn, makePrompt } from '../../test/fixtures/companion-stand-in.ts';
import { startWindowHost } from '../../test/fixtures/companion-window.ts';
import type { WindowHost } from '../../test/fixtures/companion-window.ts';
import { findPageBrowser } from '../../test/fixtures/page-browser.ts';

const browser = findPageBrowser();

const aLink = (changes: Partial<PairingLink> = {}): PairingLink => ({
  code: 'ABCD-EFGH',
  hub: 'https://xn--utrigger-kif.example.org',
  looksLike: '\u043Eutrigger.example.org',
  isEncrypted: true,
  isLocal: false,
  problem: null,
  ...changes,
});

describe.skipIf(browser === null)('a decision in the window (needs Chromium)', () => {
  let host: WindowHost;
  let companion: CompanionStandIn;
  beforeAll(async () => {
    host = await startWindowHost(browser?.path as string);
  });
  afterAll(() => host[Symbol.asyncDispose]());
  beforeEach(() => {
    companion = new CompanionStandIn();
  });

  describe('about a program', () => {
    test('shows exactly what would run, each argument separately, and who approved it', async () => {
      companion.state.prompts = [
        makePrompt({
          argv: ['tar', 'two words ', '', '--flag=\u202Efdp ⟨U+200B⟩', 'line\nbreak', '"quoted"'],
          env: { A: 'b c', EMPTY: '' },
          stdin: `first\u200B line\n${'x'.repeat(5_000)}`,
          reason: 'program_changed',
        }),
      ];
      await using opened = await host.open(companion);
      const dialog = opened.page.getByRole('alertdialog', { name: 'May this program run?' });
      await dialog.waitFor();
      expect(await dialog.locator('.argv').first().locator('li').allTextContents()).toEqual([
        '"tar"',
        '"two words "',
        '""',
        '"--flag=⟨U+202E⟩fdp ⟨U+200B⟩"',
        'line\nbreak',
        String.raw`"\"quoted\""`,
      ]);
      expect(await dialog.locator('.argv mark').allTextContents()).toEqual(['⟨U+202E⟩']);
      expect(await dialog.locator('.argv').last().locator('li').allTextContents()).toEqual(['A="b c"', 'EMPTY=""']);
      expect(await dialog.locator('.stdin').textContent()).toMatch(/^first⟨U\+200B⟩ line\nx{5000}$/);
      const text = await dialog.textContent();
      for (const part of [
        '/usr/bin/tar',
        '/home/ann/Documents',
        '5,012 characters',
        'Approved byann@example.org',
        'Time limit1 min',
        'a'.repeat(64),
        'This program has changed',
      ])
        expect(text).toContain(part);
      expect(await dialog.getByRole('timer').textContent()).toMatch(/^[12]:\d\d left, then it is denied$/);
    });

    test('shows the origin of the command as text, and what the hub does not state', async () => {
      const hostile = '<img src="http://evil.example/x.png">\u202Egpj';
      const prompt = makePrompt({
        origin: {
          workspace: { id: crypto.randomUUID(), name: hostile },
          workflow: { id: crypto.randomUUID(), name: 'Nightly report' },
          run: { id: '01a20753-0000-7000-8000-000000000001', step: { index: 2, name: 'pack' } },
          startedBy: { kind: 'schedule', name: 'every night' },
          approvedBy: { kind: 'key', id: '1', name: 'key of the office', at: '2026-11-27T09:00:00.000Z' },
          reason: 'The report of November',
        },
      });
      companion.state.prompts = [prompt];
      await using opened = await host.open(companion);
      const dialog = opened.page.getByRole('alertdialog', { name: 'May this program run?' });
      await dialog.waitFor();
      const origin = async () => {
        const facts = await dialog.locator('.facts.exact > dt, .facts.exact > dd').allTextContents();
        return facts.slice(facts.indexOf('Time limit') + 2, facts.indexOf('Input'));
      };
      expect(await origin()).toEqual([
        'Workspace',
        '<img src="http://evil.example/x.png">⟨U+202E⟩gpj',
        'Workflow',
        'Nightly report',
        'Run',
        '01a20753-0000-7000-8000-000000000001, step 3 (pack)',
        'Started by',
        'every night (schedule)',
        'Approved by',
        'key of the office (API key)',
        'Reason',
        'The report of November',
      ]);
      expect(await dialog.locator('img').count()).toBe(0);
      // A prompt of an older hub.
      companion.updateState((state) => (state.prompts = [{ ...prompt, origin: null, approvedBy: null }]));
      await expect
        .poll(origin)
        .toEqual(
          ['Workspace', 'Workflow', 'Run', 'Started by', 'Approved by', 'Reason'].flatMap((name) => [
            name,
            'not stated by the hub',
          ]),
        );
    });

    test.each([
      { width: 980, height: 720 },
      { width: 480, height: 800 },
    ])(
      'keeps countdown and buttons visible at $width x $height, and allows nothing before all content was seen',
      async (viewport) => {
        const prompt = makePrompt({
          argv: ['sh', ...Array.from({ length: 60 }, (_, index) => `word ${index}`)],
          stdin: `echo hello\n${'\n'.repeat(5_000)}rm -rf ~`,
          reason: 'program_changed',
        });
        companion.state.prompts = [prompt];
        await using opened = await host.open(companion, { viewport });
        const { page } = opened;
        const isInSight = async (locator: Locator) => {
          const box = await locator.boundingBox();
          return box !== null && box.y >= 0 && box.y + box.height <= viewport.height;
        };
        const allow = page.getByRole('button', { name: 'Allow once' });
        const seen = page.getByRole('button', { name: 'I have seen all of it' });
        await expect.poll(() => seen.getAttribute('aria-disabled')).toBe('false');
        for (const part of [page.getByRole('timer'), page.getByRole('button', { name: 'Deny' }), allow, seen])
          expect(await isInSight(part)).toBe(true);
        expect(await allow.getAttribute('aria-disabled')).toBe('true');
        await allow.click({ force: true });
        const toEnd = (selector: string) =>
          page.locator(selector).evaluate((element) => element.scrollTo(0, element.scrollHeight));
        await toEnd('.prompt-body');
        await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
        expect(await allow.getAttribute('aria-disabled')).toBe('true');
        await toEnd('.stdin');
        await seen.waitFor({ state: 'detached' });
        expect(companion.of('answerPrompt')).toEqual([]);
        await allow.click();
        await expect.poll(() => companion.of('answerPrompt')).toEqual([{ promptId: prompt.id, answer: 'once' }]);
      },
    );

    test('accepts the confirmation that a long input was seen, and names each of its invisible characters', async () => {
      companion.state.prompts = [makePrompt({ stdin: 'a\u200B⟨'.repeat(40_000) })];
      await using opened = await host.open(companion);
      const { page } = opened;
      const seen = page.getByRole('button', { name: 'I have seen all of it' });
      await expect.poll(() => seen.getAttribute('aria-disabled')).toBe('false');
      expect(await page.locator('.stdin').textContent()).toBe('a⟨U+200B⟩⟨U+27E8⟩'.repeat(40_000));
      await seen.click();
      await page.getByRole('button', { name: 'Allow once' }).click();
      await expect.poll(() => companion.of('answerPrompt')).toHaveLength(1);
    });

    test.each([
      ['Allow once', 'once'],
      ['Allow for 30 minutes', '30_minutes'],
      ['Always allow exactly this', 'always'],
      ['Deny', 'deny'],
      ['Never allow this', 'never'],
    ])('sends the chosen answer %s', async (name, answer) => {
      const prompt = makePrompt();
      companion.state.prompts = [prompt];
      await using opened = await host.open(companion);
      const button = opened.page.getByRole('button', { name });
      await expect.poll(() => button.getAttribute('aria-disabled')).not.toBe('true');
      await button.click();
      await opened.page.getByRole('alertdialog').waitFor({ state: 'detached' });
      expect(companion.of('answerPrompt')).toEqual([{ promptId: prompt.id, answer }]);
    });

    test('warns of interpreters whose code is in their arguments, and of no other program', async () => {
      await using opened = await host.open(companion);
      const dialog = opened.page.getByRole('alertdialog', { name: 'May this program run?' });
      for (const [index, [name, ...argv]] of [
        ['sh', 'sh', '-c', 'rm -rf ~'],
        ['bash', '/bin/bash', '-lc', 'true'],
        ['sh', 'env', 'sh', '-c', 'true'],
        ['zsh', '/usr/bin/env', '-S', 'zsh -c true'],
        ['sh', 'env', 'A=1', 'sh', '-c', 'true'],
        ['python3', 'env', '-Spython3 -c x'],
        ['sh', 'env', '--split-string=sh -c x'],
        ['dash', 'sudo', '-u', 'ann', 'nice', '-n', '5', 'dash', '-c', 'true'],
        ['python3.12', 'timeout', '5', 'python3.12', '-c', 'pass'],
        ['python', 'python', '-Ic', 'pass'],
        ['node', 'node', '-e', '0'],
        ['node', 'node', '--input-type=module', '--eval=0'],
        ['perl', 'perl', '-E', '1'],
        ['cmd', 'cmd.exe', '/c', 'dir'],
        [null, 'git', '-c', 'user.name=Ann', 'status'],
        [null, 'python3', 'report.py'],
        [null, 'echo', 'sh', '-c', 'true'],
      ].entries()) {
        companion.updateState((state) => {
          state.prompts = [makePrompt({ argv: argv as string[], cwd: `/case/${index}` })];
        });
        await dialog.getByText(`/case/${index}`, { exact: true }).waitFor();
        const text = (await dialog.textContent()) ?? '';
        const warnings = [
          ...text.matchAll(/code from its arguments(\S+) runs code that is in its arguments: read all/g),
        ];
        expect(
          warnings.map((warning) => warning[1]),
          JSON.stringify(argv),
        ).toEqual(name === null ? [] : [name]);
      }
      expect(opened.complaints).toEqual([]);
    });

    test('ignores keys and clicks directly after the dialog appears', async () => {
      await using opened = await host.open(companion);
      const { page } = opened;
      await page.getByRole('button', { name: 'Pause' }).focus();
      // The guard uses the clock of the page, which is paused here.
      await page.clock.install();
      await page.clock.pauseAt(Date.now() + 20_000);
      companion.updateState(
        (state) => (state.prompts = [makePrompt({ expiresAt: new Date(Date.now() + 600_000).toISOString() })]),
      );
      await page.getByRole('alertdialog').waitFor();
      await page.clock.runFor(100);
      await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('May this program run?');
      for (const key of ['Enter', 'Space', 'Escape']) await page.keyboard.press(key);
      const allow = page.getByRole('button', { name: 'Allow once' });
      await allow.click({ force: true });
      await allow.focus();
      await page.keyboard.press('Enter');
      expect(companion.of('answerPrompt')).toEqual([]);
      await page.clock.runFor(590);
      await allow.click({ force: true });
      expect(companion.of('answerPrompt')).toEqual([]);
      await page.clock.runFor(1_000);
      await allow.click();
      await expect.poll(() => companion.of('answerPrompt')).toHaveLength(1);
    });

    test('is denied once by Escape', async () => {
      companion.state.prompts = [makePrompt()];
      await using opened = await host.open(companion);
      await expect
        .poll(() => opened.page.getByRole('button', { name: 'Allow once' }).getAttribute('aria-disabled'))
        .toBe('false');
      await opened.page.keyboard.press('Escape');
      await expect.poll(() => companion.of('answerPrompt')).toEqual([expect.objectContaining({ answer: 'deny' })]);
    });

    test('ignores input again for the next prompt, and when the window returns to the front', async () => {
      const [first, second] = [makePrompt({ cwd: '/first' }), makePrompt({ cwd: '/second' })];
      companion.state.prompts = [first, second];
      await using opened = await host.open(companion);
      const { page } = opened;
      const isDisabled = () => page.getByRole('button', { name: 'Allow once' }).getAttribute('aria-disabled');
      const dialog = page.getByRole('alertdialog');
      await expect.poll(() => dialog.textContent()).toContain('1 more waits');
      await expect.poll(isDisabled).toBe('false');
      await page.clock.install();
      await page.clock.pauseAt(Date.now() + 20_000);
      await page.getByRole('button', { name: 'Allow once' }).click();
      await expect.poll(() => dialog.textContent()).toContain('/second');
      expect(await isDisabled()).toBe('true');
      await page.clock.runFor(100);
      await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('May this program run?');
      await page.clock.runFor(800);
      await expect.poll(isDisabled).toBe('false');
      await page.evaluate("window.dispatchEvent(new Event('focus'))");
      await expect.poll(isDisabled).toBe('true');
      expect(companion.of('answerPrompt')).toEqual([{ promptId: first.id, answer: 'once' }]);
    });

    test('covers other dialogs, which keep their input and reappear afterwards', async () => {
      companion.state.paired = null;
      companion.app.pairingLink = aLink();
      companion.state.keyStore = { name: null };
      await using opened = await host.open(companion);
      const { page } = opened;
      const link = page.getByRole('alertdialog', { name: 'Connect this machine to a hub?' });
      await link.getByRole('checkbox').check();
      companion.updateState((state) => (state.prompts = [makePrompt()]));
      await page.getByRole('alertdialog', { name: 'May this program run?' }).waitFor();
      await expect.poll(() => page.locator('.popup').count()).toBe(1);
      await page.getByRole('button', { name: 'Deny' }).click();
      await link.waitFor();
      expect(await link.getByRole('checkbox').isChecked()).toBe(true);
    });

    test('stays open with the error when the answer was not delivered', async () => {
      companion.state.prompts = [makePrompt()];
      companion.failures.set('answerPrompt', 'The companion is busy.');
      await using opened = await host.open(companion);
      await opened.page.getByRole('button', { name: 'Deny' }).click();
      await opened.page.getByRole('alert').getByText('The companion is busy.').waitFor();
      companion.failures.clear();
      await opened.page.getByRole('button', { name: 'Deny' }).click();
      await opened.page.getByRole('alertdialog').waitFor({ state: 'detached' });
      expect(companion.of('answerPrompt')).toHaveLength(2);
    });
  });

  describe('about a pairing link', () => {
    test('shows the real address, and connects only after a click', async () => {
      companion.state.paired = null;
      await using opened = await host.open(companion);
      const { page } = opened;
      companion.updateApp((app) => (app.pairingLink = aLink()));
      const dialog = page.getByRole('alertdialog', { name: 'Connect this machine to a hub?' });
      await dialog.waitFor();
      expect(await dialog.locator('.origin').textContent()).toBe('https://xn--utrigger-kif.example.org');
      const text = await dialog.textContent();
      for (const part of ['Check this name carefully', '\u043Eutrigger.example.org', 'ABCD-EFGH'])
        expect(text).toContain(part);
      for (const key of ['Enter', 'Space']) await page.keyboard.press(key);
      const connect = page.getByRole('button', { name: 'Connect' });
      await expect.poll(() => connect.getAttribute('aria-disabled')).toBe('false');
      expect(companion.of('pair')).toEqual([]);
      await connect.click();
      await dialog.waitFor({ state: 'detached' });
      expect(companion.of('pair')).toEqual([
        {
          code: 'ABCD-EFGH',
          hub: 'https://xn--utrigger-kif.example.org',
          insecure: false,
          force: false,
          secretInFile: false,
        },
      ]);
      expect(companion.of('app.dismissPairingLink')).toHaveLength(1);
    });

    test('does not connect after Cancel or Escape', async () => {
      for (const leave of ['Cancel', 'Escape']) {
        companion.app.pairingLink = aLink();
        await using opened = await host.open(companion);
        const dialog = opened.page.getByRole('alertdialog');
        await dialog.waitFor();
        if (leave === 'Cancel') await opened.page.getByRole('button', { name: leave }).click();
        else await opened.page.keyboard.press(leave);
        await dialog.waitFor({ state: 'detached' });
      }
      expect(companion.of('app.dismissPairingLink')).toHaveLength(2);
      expect(companion.of('pair')).toEqual([]);
    });

    test('offers no connect button for a link with a problem', async () => {
      companion.app.pairingLink = aLink({ problem: 'The link names no hub.' });
      await using opened = await host.open(companion);
      const dialog = opened.page.getByRole('alertdialog', { name: "This link can't be used" });
      await dialog.getByText('The link names no hub.').waitFor();
      expect(await dialog.getByRole('button').allTextContents()).toEqual(['Pause', 'Close']);
    });

    test('asks for each required consent: no encryption, another hub, no key store', async () => {
      companion.app.pairingLink = aLink({ hub: 'http://hub.example.org', looksLike: null, isEncrypted: false });
      companion.state.keyStore = { name: null };
      await using opened = await host.open(companion);
      const { page } = opened;
      const connect = page.getByRole('button', { name: 'Connect' });
      for (const name of [/without encryption/, /Forget that hub/, /a file that only I can read/]) {
        await connect.click({ force: true });
        await page.getByRole('checkbox', { name }).check();
      }
      await expect.poll(() => connect.getAttribute('aria-disabled')).toBe('false');
      expect(companion.of('pair')).toEqual([]);
      companion.failures.set('pair', 'The code is not valid any more.');
      await connect.click();
      await page.getByText('The code is not valid any more.').waitFor();
      expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(3);
      expect(companion.of('pair')).toEqual([
        expect.objectContaining({ insecure: true, force: true, secretInFile: true }),
      ]);
    });
  });

  test('about a typed code keeps the input when the hub refuses it, and warns about an unencrypted address', async () => {
    companion.state.paired = null;
    companion.state.keyStore = { name: null };
    companion.failures.set('pair', 'The pairing code is wrong or over.');
    await using opened = await host.open(companion);
    const { page } = opened;
    const pair = page.getByRole('button', { name: 'Pair', exact: true });
    await page.getByLabel('Address of the hub').fill('http://127.0.0.1:4400');
    expect(await page.getByText('not encrypted').count()).toBe(0);
    await page.getByLabel('Address of the hub').fill('http://hub.example.org');
    await page.getByLabel('Pairing code').fill('ABCD-EFGH');
    await page.getByLabel('Name of this machine (optional)').fill('desk');
    expect(await pair.isDisabled()).toBe(true);
    await page.getByRole('checkbox', { name: 'Connect without encryption' }).check();
    expect(await pair.isDisabled()).toBe(true);
    await page
      .getByRole('checkbox', { name: 'This system has no key store. Keep the secret in a file that only I can read' })
      .check();
    await pair.click();
    await page.getByRole('alert').getByText('The pairing code is wrong or over.').waitFor();
    expect(await page.getByLabel('Pairing code').inputValue()).toBe('ABCD-EFGH');
    expect(await page.getByLabel('Name of this machine (optional)').inputValue()).toBe('desk');
    companion.failures.clear();
    await page.getByLabel('Address of the hub').fill('hub.example.org');
    await page.getByLabel('Pairing code').fill('ABCD');
    await pair.click();
    await page.getByText('Start with https://').waitFor();
    await page.getByText('A code has 8 letters and digits').waitFor();
    expect(companion.of('pair')).toHaveLength(1);
    await page.getByLabel('Address of the hub').fill('https://hub.example.org');
    await page.getByLabel('Pairing code').fill('ABCD-EFGH');
    await pair.click();
    await page.getByText('What the hub may do').waitFor();
    expect(companion.of('pair')).toEqual([
      {
        code: 'ABCD-EFGH',
        hub: 'http://hub.example.org',
        name: 'desk',
        insecure: true,
        force: false,
        secretInFile: true,
      },
      {
        code: 'ABCD-EFGH',
        hub: 'https://hub.example.org',
        name: 'desk',
        insecure: false,
        force: false,
        secretInFile: true,
      },
    ]);
  });
});
