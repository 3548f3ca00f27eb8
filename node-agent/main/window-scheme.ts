import { readFile } from 'node:fs/promises';
import { protocol } from 'electron';
import type { Session } from 'electron';
import { recorderAddress, recorderHeaders, windowHeaders, WindowFiles, windowScheme } from './window-files.ts';

/** Registers the scheme with Chromium. Call it before the app is ready. */
export function declareWindowScheme(): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: windowScheme, privileges: { standard: true, secure: true, supportFetchAPI: true } },
  ]);
}

/** Serves only the files of the window to the pages of a session. */
export function serveWindow(target: Session, folder: string): void {
  const files = new WindowFiles(folder);
  target.protocol.handle(windowScheme, async ({ method, url }) => {
    const file = method === 'GET' ? files.find(url) : null;
    if (file === null) return new Response(null, { status: 404, headers: windowHeaders });
    const body = new Uint8Array(await readFile(file.path));
    return new Response(body, { headers: { ...windowHeaders, 'content-type': file.contentType } });
  });
}

/** Serves the empty page in which the app captures. */
export function serveRecorder(target: Session): void {
  target.protocol.handle(windowScheme, ({ url }) =>
    url === recorderAddress
      ? new Response('<!doctype html><title>Recorder</title>', {
          headers: { ...recorderHeaders, 'content-type': 'text/html; charset=utf-8' },
        })
      : new Response(null, { status: 404, headers: recorderHeaders }),
  );
}
