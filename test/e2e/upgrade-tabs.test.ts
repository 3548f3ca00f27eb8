import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { installBuild } from '../../shared/node/install-build.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { freePort } from '../fixtures/free-port.ts';
import { endsWithThisProcess, inheritedEnv } from '../fixtures/processes.ts';
import { until } from '../fixtures/until.ts';

const project = resolve('.');
const dist = join(project, 'hub/web/dist');

/** The files of the newest build in `hub/web/dist`. */
function assetNames(): string[] {
  const generations = join(dist, 'generations.json');
  const names = existsSync(generations)
    ? (JSON.parse(readFileSync(generations, 'utf8')) as { current: string[] }).current
    : readdirSync(join(dist, 'assets'));
  return names.filter((name) => /\.(?:js|css|md)$/.test(name));
}

/** The build of this checkout as another version: the hash in each name ends with `mark`. */
function buildOf(mark: string, folder: string): string {
  const build = join(folder, `build-${mark}`);
  mkdirSync(join(build, 'assets'), { recursive: true });
  const renamed = new Map(
    assetNames().map((name) => [name, name.replace(/(-[\w-]{7})[\w-](\.(?:js|css))$/, `$1${mark}$2`)]),
  );
  const names = [...renamed.keys()].toSorted((left, right) => right.length - left.length);
  const anyName = new RegExp(names.map((name) => name.replaceAll('.', String.raw`\.`)).join('|'), 'g');
  const rename = (text: string) => text.replaceAll(anyName, (name) => renamed.get(name) ?? name);
  for (const [name, newName] of renamed)
    writeFileSync(join(build, 'assets', newName), rename(readFileSync(join(dist, 'assets', name), 'utf8')));
  writeFileSync(join(build, 'assets.json'), rename(readFileSync(join(dist, 'assets.json'), 'utf8')));
  for (const name of ['widget.js', 'push-worker.js', 'api-reference.js']) cpSync(join(dist, name), join(build, name));
  return build;
}

describe.skipIf(!canOpenDashboard)('a tab that was opened before an upgrade (needs Chromium)', () => {
  let folder: string;
  let browser: Browser;
  let builds: string[];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'outrigger-upgrade-'));
    builds = ['A', 'B', 'C'].map((mark) => buildOf(mark, folder));
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  /** A checkout of its own with a hub, whose pages a test can replace. */
  async function startCheckout(name: string) {
    const home = join(folder, name);
    for (const part of ['hub', 'shared', 'migrations', 'package.json'])
      cpSync(join(project, part), join(home, part), {
        recursive: true,
        filter: (path) => ![dist, join(project, 'hub/lib')].includes(path),
      });
    symlinkSync(join(project, 'node_modules'), join(home, 'node_modules'));
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const start = async () => {
      const child = spawn(process.execPath, [join(home, 'hub/outrigger.js'), 'start'], {
        cwd: home,
        env: {
          ...inheritedEnv(),
          ...endsWithThisProcess(),
          OUTRIGGER_HOME: join(folder, `${name}-data`),
          PORT: String(port),
          SIGN_UP: 'open',
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const exited = new Promise<void>((done) => child.once('exit', () => done()));
      let text = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
      await until(
        () =>
          fetch(`${url}/healthz`).then(
            ({ status }) => status === 200,
            () => false,
          ),
        () => `the hub printed: ${text}`,
        100_000,
      );
      return async () => {
        child.kill('SIGTERM');
        await exited;
      };
    };
    let stop = async () => undefined as void;
    onTestFinished(() => stop());
    const install = async (build: number) => {
      await stop();
      installBuild(builds[build] as string, join(home, 'hub/web/dist'));
      stop = await start();
    };
    await install(0);
    const response = await fetch(`${url}/auth/signup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ann@pier.example', password: 'correct horse battery', workspaceName: 'Pier' }),
    });
    const { token } = (await response.json()) as { token: string };
    return { url, session: token, install };
  }

  test('opens its other pages after the upgrade, without being loaded again', async () => {
    const { url, session, install } = await startCheckout('once');
    await using tab = await openDashboard(browser, '/app/runs', { hubUrl: url, session });
    const { page } = tab;
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    await page.evaluate('window.isSameDocument = true');
    await install(1);
    tab.requests.length = 0;
    await page.getByRole('navigation', { name: 'Main menu' }).getByRole('link', { name: 'Nodes' }).click();
    await page.getByRole('heading', { level: 1, name: 'Nodes' }).waitFor();
    expect(await page.evaluate('window.isSameDocument')).toBe(true);
    expect(tab.requests.filter((address) => /nodes-page-[\w-]{7}A\.js$/.test(address))).toHaveLength(1);
    // A new tab loads the new version.
    await using other = await openDashboard(browser, '/app/nodes', { hubUrl: url, session });
    await other.page.getByRole('heading', { level: 1, name: 'Nodes' }).waitFor();
    expect(other.requests.filter((address) => /nodes-page-[\w-]{7}B\.js$/.test(address))).toHaveLength(1);
  });

  test('offers to be loaded again after a second upgrade, and what was typed is there afterwards', async () => {
    const { url, session, install } = await startCheckout('twice');
    await using tab = await openDashboard(browser, '/app/workflows/new', { hubUrl: url, session });
    const { page } = tab;
    const text = page.getByRole('textbox', { name: 'Workflow as JSON' });
    await text.fill('{ "name": "Half a workflow"');
    await using ordering = await openDashboard(browser, '/app/settings/policy', { hubUrl: url, session });
    const orders = ordering.page.getByRole('textbox', { name: 'Standing orders' });
    await orders.fill('Be polite.');
    await using asking = await openDashboard(browser, '/app/knowledge', { hubUrl: url, session });
    await asking.page.getByRole('textbox', { name: 'Question', exact: true }).fill('Is the key hunter2?');
    for (const each of [tab, ordering, asking]) each.expectComplaint(/^console: MissingScript/);
    await install(1);
    await install(2);
    const leaveTo = async (target: typeof page, name: string) => {
      await target.getByRole('navigation', { name: 'Main menu' }).getByRole('link', { name }).click();
    };
    await leaveTo(page, 'Nodes');
    await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
    await leaveTo(ordering.page, 'Nodes');
    await ordering.page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
    for (const [target, field, typed, address] of [
      [page, text, '{ "name": "Half a workflow"', '/app/workflows/new'],
      [ordering.page, orders, 'Be polite.', '/app/settings/policy'],
    ] as const) {
      await target.getByRole('heading', { level: 1, name: 'Outrigger was updated' }).waitFor();
      await target.getByText('What you typed on the page before is kept.').waitFor();
      await target.getByRole('button', { name: 'Reload' }).waitFor();
      expect(await accessibilityViolations(target)).toEqual([]);
      await target.getByRole('button', { name: 'Go back to what you typed' }).click();
      await target.getByText('is back. It is not saved yet.').waitFor();
      expect(await field.inputValue()).toBe(typed);
      expect(new URL(target.url()).pathname).toBe(address);
      // The tab forgets the text after that.
      expect(await target.evaluate(`sessionStorage.getItem('outrigger.typed')`)).toBeNull();
    }
    // A text of a field that does not ask for it can be a secret. It is not kept.
    await leaveTo(asking.page, 'Nodes');
    await asking.page.getByRole('button', { name: 'Reload' }).waitFor();
    expect(await asking.page.getByText('What you typed').count()).toBe(0);
    expect(await asking.page.evaluate('sessionStorage.length')).toBe(0);
    await asking.page.getByRole('button', { name: 'Reload' }).click();
    await asking.page.getByRole('heading', { level: 1, name: 'Nodes' }).waitFor();
    // The form knows the text as one that was typed.
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('is not valid JSON').waitFor();
  });
});
