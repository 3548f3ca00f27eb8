import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { app, Menu } from 'electron';
import { background } from '../runtime/background.ts';
import { askCompanion } from '../runtime/control/client.ts';
import { DataFolder } from '../runtime/data-folder.ts';
import { changeSettings } from '../runtime/owner-changes.ts';
import { isRefusedAsRoot, readArguments, readSecondStart, restartArguments } from './app-arguments.ts';
import { appId } from './app-id.ts';
import { AppLog } from './app-log.ts';
import { cliArguments, runCommandLine } from './command-line.ts';
import { CompanionApp } from './companion-app.ts';
import { restartOnFault } from './faults.ts';
import { guardEveryPage, lockDefaultSession, removeRemoteControlSwitches } from './guards.ts';
import { ownAppImage, checkPendingUpdate, startDetached } from './installation.ts';
import { chooseKeyStore } from './key-store.ts';
import { registerLinks } from './link-registration.ts';
import { isPairingLink } from './pairing-link.ts';
import { hasDisplay, unpairAndExit } from './unpair.ts';
import { declareWindowScheme } from './window-scheme.ts';

const quitDeadlineMs = 15_000;
const maxArgumentsLength = 4_000;

// A command needs no display: Electron does not look for one until this module has been evaluated.
const command = cliArguments(process.argv.slice(1), process.defaultApp);
if (command !== null) await runCommandLine(command);

// Web pages can open links of any length, and very long arguments crash the app instance that receives them.
if (process.argv.join(' ').length > maxArgumentsLength) {
  process.stderr.write(
    `outrigger-companion: more than ${maxArgumentsLength} characters on the command line. Pass fewer.\n`,
  );
  process.exit(2);
}

// As root, the window would have no sandbox.
if (isRefusedAsRoot(process.argv.slice(1))) {
  process.stderr.write(
    'outrigger-companion: as root the window has no sandbox, so it does not open. Start it as the user whose machine this is. Commands work, for example: outrigger-companion status (--no-sandbox opens the window anyway).\n',
  );
  process.exit(2);
}

// A start of the app. The following setup must run before Electron is ready. Each data folder has one app instance.
const appArguments = readArguments(process.argv.slice(1), process.env);
removeRemoteControlSwitches();
const folder = new DataFolder(appArguments.dataFolder ?? undefined);
const log = new AppLog(join(folder.path, 'logs'));
app.setAppUserModelId(appId);
app.setPath('userData', join(folder.path, 'app'));
app.setPath('crashDumps', join(folder.path, 'app', 'crashes'));
const note = (event: string, detail?: string) => log.write(event, detail);
const onFault = restartOnFault(folder.path, appArguments.waitMs, note);
declareWindowScheme();
await delay(appArguments.waitMs);
await chooseKeyStore();

/**
 * Pauses through the settings file and through a running companion, so that it works while an app starts, runs or
 * hangs. Returns false if both failed.
 */
async function pause(): Promise<boolean> {
  const response = askCompanion(folder, 'change', { change: 'pause' }, { timeoutMs: 5_000 }).catch(() => null);
  try {
    await changeSettings(folder, { change: 'pause' });
  } catch (error) {
    if ((await response) !== null) return true;
    process.stderr.write(`outrigger-companion: ${(error as Error).message}\n`);
    return false;
  }
  await response;
  return true;
}

function startApp(): void {
  let companionApp: CompanionApp | undefined;
  // Actions that arrive before the app has started.
  const queuedActions: ((companionApp: CompanionApp) => void)[] = [];
  const withApp = (action: (companionApp: CompanionApp) => void) => {
    if (companionApp === undefined) queuedActions.push(action);
    else action(companionApp);
  };
  guardEveryPage(note);
  app.on('second-instance', (_event, _words, _folder, other) =>
    withApp((one) => one.handleSecondStart(readSecondStart(other))),
  );
  // macOS passes links with this event, also before the app is ready.
  app.on('open-url', (event, url) => {
    event.preventDefault();
    if (isPairingLink(url)) withApp((one) => one.open(url));
  });
  // The companion keeps running without a window.
  app.on('window-all-closed', () => undefined);
  let mayQuit = false;
  app.on('before-quit', (event) => {
    if (mayQuit) return;
    event.preventDefault();
    const quit = Promise.race([companionApp?.quit(), delay(quitDeadlineMs)]).finally(() => {
      mayQuit = true;
      app.quit();
    });
    // As an unhandled rejection, a failure would restart the app that the owner quits.
    background(quit, 'stop of the app', note);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => app.quit());
  const start = async () => {
    await app.whenReady();
    log.write('the app starts', `version ${app.getVersion()}, electron ${process.versions.electron}`);
    // On macOS, copy and paste need a menu.
    const roles = [{ role: 'appMenu' }, { role: 'editMenu' }, { role: 'windowMenu' }] as const;
    Menu.setApplicationMenu(process.platform === 'darwin' ? Menu.buildFromTemplate([...roles]) : null);
    lockDefaultSession();
    background(registerLinks(ownAppImage(folder.path), note), 'registration of pairing links', note);
    companionApp = await CompanionApp.start({ folder, log, distFolder: import.meta.dirname, appArguments });
    for (const action of queuedActions.splice(0)) action(companionApp);
  };
  start().catch((error: unknown) => onFault('the start failed', error));
}

if (appArguments.unpair) {
  // Without a display, Electron exits after this module is evaluated. With a display, it becomes ready only then.
  const isUnpaired = unpairAndExit(folder);
  if (!hasDisplay()) await isUnpaired;
} else if (appArguments.pause) app.exit((await pause()) ? 0 : 1);
else if (!app.requestSingleInstanceLock({ ...appArguments })) app.exit(0);
else {
  const previousVersion = checkPendingUpdate(folder.path);
  if (previousVersion === null) startApp();
  else {
    log.write('an update did not start and was rolled back');
    app.releaseSingleInstanceLock();
    startDetached(previousVersion, restartArguments(process.argv.slice(1)));
    app.exit(0);
  }
}
