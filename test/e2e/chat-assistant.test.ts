import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ChatAiSettings } from '../../shared/contract/chat/ai-settings.ts';
import { startChatModel } from '../fixtures/chat-model.ts';
import type { ChatModel } from '../fixtures/chat-model.ts';
import { openTab } from '../fixtures/chat-tab.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { findPageBrowser } from '../fixtures/page-browser.ts';
import { chatScene } from '../fixtures/visitor.ts';
import type { ChatScene } from '../fixtures/visitor.ts';

const executable = findPageBrowser()?.path;
const pictures = process.env['CHAT_PICTURES'];
let hub: TestHub;
let model: ChatModel;
let browser: Browser;
let scene: ChatScene;

beforeAll(async () => {
  model = await startChatModel();
  hub = await startHub(model.env);
  if (executable !== undefined)
    browser = await chromium.launch({
      executablePath: executable,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic'],
    });
});
afterAll(async () => {
  await browser?.close();
  await hub[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});
beforeEach(async () => {
  scene = await chatScene(hub);
});

const put = (settings: Partial<ChatAiSettings>) =>
  scene.workspace.session.call('putChatAiSettings', {
    params: { tenantId: scene.tenantId },
    body: { enabled: true, debounceMs: 0, ...settings },
  });
const open = async (page: Page) => {
  const { token, conversationId } = await scene.mint();
  await page.goto(`${hub.url}/chat?siteKey=${scene.siteKey}&token=${token}`);
  await expect.poll(() => page.locator('[role=log]').getAttribute('aria-busy')).toBe('false');
  return conversationId;
};
const write = async (page: Page, text: string) => {
  const field = page.locator('textarea');
  await field.fill(text);
  await field.press('Enter');
};
const bubbles = (page: Page) => page.locator('.bubble').allTextContents();
const picture = async (page: Page, name: string) => {
  if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${name}.png` });
};

/** Parts of an answer that wait until the test releases the next one. */
function gatedParts(parts: readonly string[]) {
  const gates = parts.map(() => Promise.withResolvers<void>());
  return {
    next: (() => {
      let at = 0;
      return () => gates[at++]?.resolve();
    })(),
    async *pieces() {
      for (const [index, part] of parts.entries()) {
        await gates[index]?.promise;
        yield part;
      }
    },
  };
}

describe.skipIf(executable === undefined)('the chat page with an AI agent (needs Chromium)', () => {
  test('shows the reply while the model generates it, then replaces it with the stored message', async () => {
    await put({});
    const parts = gatedParts([
      '{"action":"answer","reason":"","sources":[],"reply":"We open at nine ',
      'in the morning, \\u00e9very day ',
      'but Sunday."}',
    ]);
    model.answer = () => parts.pieces();
    await using tab = await openTab(browser);
    const { page } = tab;
    await open(page);
    await write(page, 'When do you open?');
    await expect.poll(() => page.locator('.typing').textContent()).toBe('Assistant is typing…');
    parts.next();
    await expect.poll(() => bubbles(page)).toEqual(['When do you open?', 'We open at nine']);
    // Screen readers read only the complete message, once.
    await expect.poll(() => page.locator('.partial').getAttribute('aria-hidden')).toBe('true');
    parts.next();
    await expect.poll(async () => (await bubbles(page))[1]).toBe('We open at nine in the morning, évery day');
    await picture(page, 'assistant-partial');
    parts.next();
    await expect
      .poll(async () => (await bubbles(page))[1])
      .toBe('We open at nine in the morning, évery day but Sunday.');
    await expect.poll(() => page.locator('.partial').count()).toBe(0);
    await expect.poll(() => bubbles(page)).toHaveLength(2);
    expect(tab.complaints).toEqual([]);
  });

  test('removes the partial AI reply when an agent replies first', async () => {
    await put({});
    const parts = gatedParts(['{"action":"answer","reason":"","sources":[],"reply":"We open at nine ', 'every day."}']);
    model.answer = () => parts.pieces();
    await using tab = await openTab(browser);
    const { page } = tab;
    const id = await open(page);
    await write(page, 'When do you open?');
    parts.next();
    await expect.poll(() => bubbles(page)).toEqual(['When do you open?', 'We open at nine']);
    await scene.workspace.session.call('sendInboxMessage', {
      params: { tenantId: scene.tenantId, id },
      body: { content: 'At ten today.' },
    });
    await expect.poll(() => bubbles(page)).toEqual(['When do you open?', 'At ten today.']);
    await expect.poll(() => page.locator('.assistant').count()).toBe(0);
    await expect.poll(() => model.requests.at(-1)?.isGone).toBe(true);
    parts.next();
  });

  test('answers from the knowledge base while no agent is online, then hands over to an agent with a summary', async () => {
    await put({});
    const { session } = scene.workspace;
    await session.call('putKnowledge', {
      params: { tenantId: scene.tenantId },
      body: {
        entries: [
          {
            id: 'returns',
            question: 'How do I return an item?',
            answer: 'Within 30 days, with the label from your account.',
            url: 'https://shop.example/returns',
          },
          { id: 'hours', question: 'When do you open?', answer: 'We open at nine.' },
        ],
        terms: '',
      },
    });
    // The model answers with the first entry in its prompt.
    model.answer = ({ text }) => {
      const [, id = '', answer = ''] = /\(knowledge entry "(.+?)"\)\n(?:\| .*\n)*?\| (.*)\nend/.exec(text) ?? [];
      return { reply: answer, sources: [id] };
    };
    await using tab = await openTab(browser);
    const { page } = tab;
    const id = await open(page);
    await write(page, 'How can I return an item?');
    const answerLines = ['How can I return an item?', 'Within 30 days, with the label from your account.'];
    await expect.poll(() => bubbles(page)).toEqual(answerLines);
    const inbox = async () =>
      (await session.call('listInboxMessages', { params: { tenantId: scene.tenantId, id }, query: {} })).data;
    // The page shows the reply before the hub stores it.
    await expect
      .poll(async () => (await inbox()).find(({ senderType }) => senderType === 'ai')?.sources)
      .toEqual([{ id: 'returns', url: 'https://shop.example/returns' }]);
    await page.getByRole('button', { name: 'Talk to a person' }).click();
    await expect.poll(async () => (await bubbles(page)).at(-1)).toMatch(/^I am handing you over to a person/);
    const summary = async () => (await inbox()).find((message) => message.private)?.content;
    await expect.poll(summary).toContain('Handed over: the visitor asked for a person');
    for (const line of answerLines) expect(await summary()).toContain(line);
    await session.call('sendInboxMessage', {
      params: { tenantId: scene.tenantId, id },
      body: { content: 'Hello, I am Ada.' },
    });
    await expect.poll(async () => (await bubbles(page)).at(-1)).toBe('Hello, I am Ada.');
    await expect.poll(() => bubbles(page)).toHaveLength(4);
    expect(tab.complaints).toEqual([]);
  });

  test.each([
    ['de', 'Mit einem Menschen sprechen', /^Ich übergebe an einen Menschen/],
    ['ar', 'التحدث مع شخص', /^سأحوّلك/],
  ])(
    'announces a hand-over requested by the button in the language of the page: %s',
    async (locale, name, announced) => {
      await put({});
      model.answer = () => ({ reply: 'OK' });
      await using tab = await openTab(browser, { locale });
      const { page } = tab;
      await open(page);
      // This text has no language.
      await write(page, '4711');
      await expect.poll(() => bubbles(page)).toHaveLength(2);
      await page.getByRole('button', { name }).click();
      await expect.poll(async () => (await bubbles(page)).at(-1)).toMatch(announced);
      expect(tab.complaints).toEqual([]);
    },
  );

  test('states that an AI answers, and offers a person by keyboard, in light and dark mode', async () => {
    await put({ disclosure: '' });
    model.answer = () => ({ reply: 'We open at nine in the morning, every day but Sunday. How many people are you?' });
    for (const [name, options] of [
      ['light', {}],
      ['dark-320', { colorScheme: 'dark', viewport: { width: 320, height: 560 } }],
    ] as const) {
      await using tab = await openTab(browser, options);
      const { page } = tab;
      const id = await open(page);
      const button = page.getByRole('button', { name: 'Talk to a person' });
      await expect.poll(() => button.isVisible()).toBe(true);
      await expect.poll(() => page.getByText('An AI assistant is answering.').isVisible()).toBe(true);
      await write(page, 'When do you open?');
      await expect.poll(() => bubbles(page)).toHaveLength(2);
      await expect.poll(() => page.locator('.typing, .partial').count()).toBe(0);
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      await picture(page, `assistant-${name}`);
      await page.locator('textarea').focus();
      for (
        let steps = 0;
        steps < 8 && !(await button.evaluate((element) => element === element.ownerDocument.activeElement));
        steps += 1
      )
        await page.keyboard.press('Shift+Tab');
      await page.keyboard.press('Enter');
      await expect.poll(async () => (await bubbles(page)).at(-1)).toMatch(/^I am handing you over to a person/);
      await expect.poll(() => button.count()).toBe(0);
      await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA');
      expect(await accessibilityViolations(page)).toEqual([]);
      await picture(page, `assistant-${name}-over`);
      const { owner } = await scene.workspace.session.call('getInboxConversation', {
        params: { tenantId: scene.tenantId, id },
      });
      expect(owner).toBe('person');
      expect(tab.complaints).toEqual([]);
    }
  });

  test('shows the disclosure of the workspace in the text direction of the page, and none when agents answer', async () => {
    await put({ disclosure: 'نموذج يجيب هنا' });
    await scene.set({ locale: 'ar' });
    await using tab = await openTab(browser, { viewport: { width: 320, height: 560 } });
    const { page } = tab;
    await open(page);
    await expect.poll(() => page.locator('.assistant p').first().textContent()).toBe('نموذج يجيب هنا');
    await expect.poll(() => page.getByRole('button', { name: 'التحدث مع شخص' }).isVisible()).toBe(true);
    expect(await accessibilityViolations(page)).toEqual([]);
    await picture(page, 'assistant-arabic');
    await put({ mode: 'shadow' });
    await open(page);
    expect(await page.locator('.assistant').count()).toBe(0);
  });
});
