import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { _electron, errors } from 'playwright-core';
import type { ElectronApplication, Page } from 'playwright-core';
import type { AppState, WindowAnswer } from '../../shared/companion/app.ts';
import type { CompanionState } from '../../shared/companion/state.ts';
import { electronArguments, electronPath } from '../fixtures/electron-runtime.ts';
import { until } from '../fixtures/until.ts';
import type { TestDesktop } from './desktop.ts';

/** A running app with its own data folder. */
export interface TestApp extends AsyncDisposable {
  electron: ElectronApplication;
  page: Page;
  /** Resolves with the exit code of the app. */
  ended: Promise<number | null>;
  dataFolder: string;
  pid: number;
  call(method: string, params?: unknown): Promise<WindowAnswer>;
  appState(): Promise<AppState>;
  /** Returns the state of the companion; null while no companion runs. */
  companion(): Promise<CompanionState | null>;
  /** Starts the app a second time, as a click on its icon does, and returns the exit code of the second start. */
  again(...args: string[]): Promise<number | null>;
  log(): Promise<string>;
  isVisible(): Promise<boolean>;
  kill(): Promise<void>;
}

const startDeadlineMs = 60_000;
const launchDeadlineMs = 20_000;
const maxLaunches = 3;

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/**
 * Starts the app and waits for its window. Sometimes the inspector of Playwright does not connect to the app, or blocks
 * requests of the page while it attaches. Then the app is started again. The tests of the installed app show that the
 * window opens without an inspector.
 */
async function launch(
  options: Parameters<typeof _electron.launch>[0],
): Promise<{ electron: ElectronApplication; page: Page }> {
  for (let attempt = 1; ; attempt += 1) {
    let electron: ElectronApplication | undefined;
    try {
      electron = await _electron.launch(options);
      const page = await electron.firstWindow({ timeout: launchDeadlineMs });
      await page.waitForLoadState('load', { timeout: launchDeadlineMs });
      return { electron, page };
    } catch (error) {
      if (electron !== undefined) await end(electron.process());
      if (attempt === maxLaunches || !(error instanceof errors.TimeoutError)) throw error;
    }
  }
}

export interface AppOptions {
  args?: string[];
  env?: Record<string, string>;
  dataFolder?: string;
  executablePath?: string;
  asRoot?: boolean;
}

export async function startApp(desktop: TestDesktop, options: AppOptions = {}): Promise<TestApp> {
  const dataFolder = options.dataFolder ?? join(await mkdtemp(join(tmpdir(), 'outrigger-app-')), 'data');
  const env = { ...desktop.env, OUTRIGGER_COMPANION_HOME: dataFolder, ...options.env };
  const executablePath = options.executablePath ?? (electronPath as string);
  const args = [...electronArguments(options.asRoot), ...(options.args ?? [])];
  const { electron, page } = await launch({
    executablePath,
    args,
    env,
    timeout: launchDeadlineMs,
    chromiumSandbox: !args.includes('--no-sandbox'),
  });
  const child = electron.process();
  const pid = child.pid as number;
  const call: TestApp['call'] = (method, params = {}) =>
    page.evaluate(
      ([name, values]) =>
        (window as unknown as { companion: { call(name: string, params: unknown): Promise<never> } }).companion.call(
          name,
          values,
        ),
      [method, params] as const,
    );
  const resultOf = (answer: WindowAnswer) => ('result' in answer ? answer.result : null);
  const ended = new Promise<number | null>((done) => child.once('exit', (code) => done(code)));
  const app: TestApp = {
    electron,
    page,
    ended,
    dataFolder,
    pid,
    call,
    appState: async () => resultOf(await call('app.state')) as AppState,
    companion: async () => resultOf(await call('state')) as CompanionState | null,
    again: (...more) =>
      new Promise((done) => {
        const second = spawn(executablePath, [...args, ...more], { env, stdio: 'ignore' });
        const timer = setTimeout(() => second.kill('SIGKILL'), startDeadlineMs);
        second.once('exit', (code) => {
          clearTimeout(timer);
          done(code);
        });
      }),
    log: () => readFile(join(dataFolder, 'logs', 'app.log'), 'utf8'),
    isVisible: () =>
      electron.evaluate(({ BrowserWindow }) =>
        BrowserWindow.getAllWindows().some((one) => one.isVisible() && !one.isMinimized()),
      ),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    async [Symbol.asyncDispose]() {
      await app.kill();
      if (options.dataFolder === undefined)
        await rm(join(dataFolder, '..'), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
  // The companion responds before the app knows that it runs, and it is started before the window is shown.
  const isStarted = async () =>
    (await app.companion()) !== null &&
    ['running', 'attached'].includes((await app.appState()).runtime.state) &&
    (args.includes('--hidden') || (await app.isVisible()));
  try {
    await until(isStarted, () => 'the app did not start its companion or did not show its window');
  } catch (error) {
    await app.kill();
    throw error;
  }
  return app;
}
