import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { findPageBrowser } from '../fixtures/page-browser.ts';
import { send } from '../fixtures/requests.ts';
import { expireApprovals } from '../fixtures/stage/automations.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

test('a page path with a trailing slash redirects to the path without, also behind a proxy path', async () => {
  const { status, headers } = await fetch(`${hub.url}/voice/?a=1`, { redirect: 'manual' });
  const location = headers.get('location') ?? '';
  expect([status, new URL(location, 'https://proxy.example/hub/voice/?a=1').href]).toEqual([
    308,
    'https://proxy.example/hub/voice?a=1',
  ]);
  expect((await fetch(`${hub.url}/voice`, { redirect: 'manual' })).status).toBe(200);
});

test('a path of slashes only causes no server error', async () => {
  for (const path of ['//', '///', '//voice/', '/voice//'])
    expect((await fetch(`${hub.url}${path}`, { redirect: 'manual' })).status).toBeLessThan(500);
});

const long = 'W'.repeat(4000);
const approver = `${'ann'.repeat(20)}@${'department.'.repeat(12)}example.org`;
const argv = ['sh', '-c', long, '', 'two words ', '--flag=\u202Efdp', `ok${'\n'.repeat(1900)}; rm  -rf /`];
const nodeId = '01890000-0000-7000-8000-000000000001';

/** Creates an approval of a command. Returns the path of its link and the approval. */
async function link(step: Record<string, unknown> = {}, others: string[] = []): Promise<{ id: string; path: string }> {
  const approval = {
    type: 'approval',
    title: long.slice(0, 200),
    message: long,
    approvers: [approver, ...others],
    ...step,
  };
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'asks',
      stepsJson: [
        approval,
        {
          type: 'skill',
          skillId: 'system.run',
          input: { nodeId, argv, cwd: `/srv/${long.slice(0, 900)}`, env: { PATH: long } },
        },
      ] as never,
    },
  });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  const asked = async () =>
    (await workspace.api.call('listAutomationApprovals', { query: { status: 'pending' } })).data.find(
      (found) => found.runId === runId,
    )?.id;
  await expect.poll(asked).toBeDefined();
  const approvalId = (await asked()) as string;
  const { links } = await workspace.session.call('growthCreateApprovalLinks', { params: { id: approvalId } });
  return { id: approvalId, path: new URL(links.find((made) => made.approver === approver)?.url as string).pathname };
}

const decide = (path: string, decision: string) =>
  send(hub.url, 'POST', path, {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    raw: `decision=${decision}`,
  });
const read = async (path: string) => (await send(hub.url, 'GET', path)).text;

describe('the page of an approval', () => {
  test('shows each argument of a command separately, also an empty one, and names what would hide a part of it', async () => {
    const text = await read((await link()).path);
    expect(text).toContain(
      `<li><code>${long}</code></li><li><b class="mark">empty</b></li><li><code>two words </code></li><li><code>--flag=<b class="mark">U+202E</b>fdp</code></li><li><code>ok⟨1,900 line breaks⟩\n; rm  -rf /</code></li>`,
    );
  });

  test('shows the deadline of the decision and the outcome if too few approvers decide', async () => {
    expect(await read((await link({ expiresInSeconds: 600 })).path)).toMatch(
      /Until \d+ \w+ \d{4} at \d\d:\d\d UTC\. If too few people decide by then, it is rejected\./,
    );
    expect(await read((await link({ expiresInSeconds: 600, onTimeout: 'approve' })).path)).toContain(
      'If too few people decide by then, it is approved.',
    );
    expect(await read((await link()).path)).not.toContain('Until ');
  });

  test('shows buttons only while the approval can be decided, and announces only what will happen', async () => {
    const open = await link();
    expect(await read(open.path)).toMatch(/If you approve, exactly this is done: system\.run[^]*<form/);
    const became = async ({ path }: { path: string }) => {
      const text = await read(path);
      expect(text).not.toMatch(/<form|If you approve/);
      return /<span class="state[^"]*">([^<]*)/.exec(text)?.[1];
    };
    await decide(open.path, 'approved');
    expect(await became(open)).toBe('This is approved.');
    const refused = await link();
    await decide(refused.path, 'rejected');
    expect(await became(refused)).toBe('This is rejected.');
    const voted = await link({ required: 2 }, ['bob@example.org']);
    await decide(voted.path, 'approved');
    expect(await became(voted)).toBe('Thank you. Other people still have to decide.');
    // Tests the expired approval before and after the sweep.
    const late = await link({ required: 2 }, ['bob@example.org']);
    await decide(late.path, 'approved');
    await expireApprovals(hub.database, { approvalId: late.id });
    expect(await became(late)).toContain('This cannot be decided any more');
  });
});

interface Look {
  tooWide: number;
  pale: string[];
}

describe('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    const installed = findPageBrowser();
    if (installed === null) throw new Error('no browser is installed');
    browser = await chromium.launch({
      executablePath: installed.path,
      chromiumSandbox: process.getuid?.() !== 0,
      args: [
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
  });
  afterAll(() => browser.close());

  async function open(colorScheme: 'light' | 'dark'): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 360, height: 800 }, colorScheme });
    onTestFinished(() => context.close());
    return context.newPage();
  }

  /** The horizontal overflow of a page, and its texts with too little contrast (WCAG AA: 4.5 to 1). */
  const look = `(() => {
    const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const colorOf = (css) => {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = css;
      pen.fillRect(0, 0, 1, 1);
      return [...pen.getImageData(0, 0, 1, 1).data];
    };
    const light = (color) => {
      const [red, green, blue] = color.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const behind = (element) => {
      const color = colorOf(getComputedStyle(element).backgroundColor);
      return color[3] === 255 ? color : behind(element.parentElement);
    };
    const pale = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      if (node.textContent.trim() === '') continue;
      const [low, high] = [light(colorOf(getComputedStyle(node.parentElement).color)), light(behind(node.parentElement))].sort((left, right) => left - right);
      if ((high + 0.05) / (low + 0.05) < 4.5) pale.push(node.textContent.slice(0, 40));
    }
    const { scrollWidth, clientWidth } = document.documentElement;
    return { tooWide: scrollWidth - clientWidth, pale };
  })()`;

  test.each(['light', 'dark'] as const)(
    'no page is wider than a small screen, with any content, and all of it is readable in %s',
    async (colorScheme) => {
      const approved = await link();
      await decide(approved.path, 'approved');
      const { id } = await workspace.session.call('createContactList', { body: { name: `${colorScheme} list` } });
      await workspace.session.call('addContacts', { params: { id }, body: { contacts: [{ email: approver }] } });
      const page = await open(colorScheme);
      for (const path of [
        '/',
        '/sign-in?code=x',
        '/sign-in',
        '/approve/apl_unknown',
        '/unsubscribe/unknown',
        approved.path,
        (await link()).path,
      ]) {
        await page.goto(`${hub.url}${path}`);
        expect({ path, ...(await page.evaluate<Look>(look)) }).toEqual({ path, tooWide: 0, pale: [] });
      }
    },
  );

  test('the focused element is outlined, in reading order', async () => {
    const page = await open('light');
    await page.goto(`${hub.url}${(await link()).path}`);
    const focused: string[] = [];
    for (let times = 0; times < 3; times += 1) {
      await page.keyboard.press('Tab');
      focused.push(
        await page.evaluate<string>(
          '`${document.activeElement.tagName} ${getComputedStyle(document.activeElement).outlineStyle} ${getComputedStyle(document.activeElement).outlineWidth}`',
        ),
      );
    }
    expect(focused).toEqual(['TEXTAREA solid 3px', 'BUTTON solid 3px', 'BUTTON solid 3px']);
  });
});
