import { existsSync, realpathSync } from 'node:fs';
import { app, clipboard, dialog, shell } from 'electron';
import type { AppState } from '../../shared/companion/app.ts';
import type { ControlMethodName } from '../../shared/companion/control.ts';
import { controlMethods } from '../../shared/companion/control.ts';
import { isWideFolder } from '../runtime/owner-changes.ts';
import { AppError } from './call-router.ts';
import type { CallHandlers } from './call-router.ts';
import type { CompanionWindow } from './companion-window.ts';
import type { RuntimeKeeper } from './runtime-keeper.ts';

/** Operations of the app that calls of the window need. */
export interface AppPort {
  state(): AppState;
  dismissPairingLink(): void;
  setStartAtLogin(on: boolean): Promise<void>;
  checkForUpdate(): Promise<void>;
  applyUpdate(): Promise<void>;
  logFolder: string;
}

const defaultTimeoutMs = 20_000;
/** Longer timeouts for methods that reach a hub, and for the self-test. */
const timeoutsMs: Partial<Record<ControlMethodName, number>> = {
  pair: 60_000,
  moveHub: 60_000,
  unpair: 60_000,
  test: 180_000,
};

const panes: Record<string, Record<string, string>> = {
  darwin: {
    screen: 'x-apple.systempreferences:com.apple.preference.security?Privacy_ScreenCapture',
    camera: 'x-apple.systempreferences:com.apple.preference.security?Privacy_Camera',
    microphone: 'x-apple.systempreferences:com.apple.preference.security?Privacy_Microphone',
  },
  win32: { camera: 'ms-settings:privacy-webcam', microphone: 'ms-settings:privacy-microphone' },
};

/** Handlers for all calls of the window. Companion methods are forwarded to the companion. */
export function createCallHandlers(port: AppPort, keeper: RuntimeKeeper, window: () => CompanionWindow): CallHandlers {
  const forwarded = Object.fromEntries(
    (Object.keys(controlMethods) as ControlMethodName[]).map((name) => [
      name,
      (params: never) => keeper.call(name, params, timeoutsMs[name] ?? defaultTimeoutMs),
    ]),
  ) as unknown as Pick<CallHandlers, ControlMethodName>;
  return {
    ...forwarded,
    'app.state': async () => port.state(),
    'app.dismissPairingLink': async () => {
      port.dismissPairingLink();
      return port.state();
    },
    'app.setStartAtLogin': async ({ on }) => {
      await port.setStartAtLogin(on);
      return port.state();
    },
    'app.checkForUpdate': async () => {
      await port.checkForUpdate();
      return port.state();
    },
    'app.applyUpdate': async () => {
      await port.applyUpdate();
      return port.state();
    },
    'app.chooseFolder': async () => {
      const { filePaths } = await dialog.showOpenDialog(window().browserWindow, { properties: ['openDirectory'] });
      const path = filePaths[0] ?? null;
      return { path, isWide: path !== null && existsSync(path) && isWideFolder(realpathSync(path)) };
    },
    'app.openSystemSettings': async ({ pane }) => {
      const address = panes[process.platform]?.[pane];
      if (address === undefined)
        throw new AppError(
          'not_available',
          'This system has no such settings page. Look for privacy in the system settings.',
        );
      await shell.openExternal(address);
    },
    'app.copy': async ({ text }) => clipboard.writeText(text),
    'app.openLogFolder': async () => {
      const problem = await shell.openPath(port.logFolder);
      if (problem !== '')
        throw new AppError('not_available', `The folder ${port.logFolder} could not be opened on this system.`);
    },
    // Quit after the response was sent.
    'app.quit': async () => {
      setImmediate(() => app.quit());
    },
  };
}
