import { app, session } from 'electron';
import type { Session, WebContents } from 'electron';
import { recorderAddress, windowScheme } from './window-files.ts';

/** Chromium and Node switches that let another program control this one. */
const remoteControlSwitches = [
  'remote-debugging-port',
  'remote-debugging-pipe',
  'remote-debugging-address',
  'remote-allow-origins',
  'inspect',
  'inspect-brk',
  'inspect-port',
  'js-flags',
  'load-extension',
  'disable-web-security',
  'host-rules',
  'host-resolver-rules',
];

/** Removes these switches in packaged apps. Call it before the app is ready. */
export function removeRemoteControlSwitches(): void {
  if (!app.isPackaged) return;
  for (const name of remoteControlSwitches) app.commandLine.removeSwitch(name);
}

/** Blocks navigation, new windows and embedded pages in all pages of the app. */
export function guardEveryPage(log: (event: string, detail?: string) => void): void {
  app.on('web-contents-created', (_created, contents) => {
    const refuse = (event: { preventDefault(): void; url?: string }) => {
      event.preventDefault();
      log('navigation refused', event.url ?? '');
    };
    contents.on('will-frame-navigate', refuse);
    contents.on('will-redirect', refuse);
    contents.on('will-attach-webview', refuse);
    contents.setWindowOpenHandler(({ url }) => {
      log('new window refused', url);
      return { action: 'deny' };
    });
  });
}

/** Blocks permissions, remote resources and downloads in a session. */
export function lockSession(target: Session, mayRecord: (contents: WebContents | null) => boolean = () => false): void {
  const isRecording = (contents: WebContents | null, permission: string, address: string) =>
    permission === 'media' && address.startsWith(recorderAddress.slice(0, -1)) && mayRecord(contents);
  target.setPermissionRequestHandler((contents, permission, answer, details) =>
    answer(isRecording(contents, permission, details.requestingUrl)),
  );
  target.setPermissionCheckHandler((contents, permission, origin) => isRecording(contents, permission, origin));
  target.setDevicePermissionHandler(() => false);
  target.on('will-download', (event) => event.preventDefault());
  target.setSpellCheckerEnabled(false);
  target.webRequest.onBeforeRequest(({ url }, answer) =>
    answer({ cancel: !url.startsWith(`${windowScheme}://`) && !/^(data|blob|devtools|chrome-devtools):/.test(url) }),
  );
}

export const lockDefaultSession = (): void => lockSession(session.defaultSession);
