import { app, session } from 'electron';
import type { Session, WebContents } from 'electron';
import { recorderAddress, windowScheme } from './window-files.ts';

/** Switches by which another program could drive this one from outside. */
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

/** Takes such switches away from what users have; before the app is ready. */
export function removeRemoteControlSwitches(): void {
  if (!app.isPackaged) return;
  for (const name of remoteControlSwitches) app.commandLine.removeSwitch(name);
}

/** No page of ours goes anywhere, opens anything, or holds another; whatever it shows. */
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

/** Nothing is permitted, loaded from elsewhere, or downloaded in a session. */
export function lockSession(its: Session, mayRecord: (contents: WebContents | null) => boolean = () => false): void {
  const isRecording = (contents: WebContents | null, permission: string, address: string) =>
    permission === 'media' && address.startsWith(recorderAddress.slice(0, -1)) && mayRecord(contents);
  its.setPermissionRequestHandler((contents, permission, answer, details) =>
    answer(isRecording(contents, permission, details.requestingUrl)),
  );
  its.setPermissionCheckHandler((contents, permission, origin) => isRecording(contents, permission, origin));
  its.setDevicePermissionHandler(() => false);
  its.on('will-download', (event) => event.preventDefault());
  its.setSpellCheckerEnabled(false);
  its.webRequest.onBeforeRequest(({ url }, answer) =>
    answer({ cancel: !url.startsWith(`${windowScheme}://`) && !/^(data|blob|devtools|chrome-devtools):/.test(url) }),
  );
}

export const lockDefaultSession = (): void => lockSession(session.defaultSession);
