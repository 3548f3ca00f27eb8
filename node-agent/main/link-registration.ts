import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { app } from 'electron';
import { createOwnFile } from '../runtime/own-file.ts';
import { execLine } from './desktop-entry.ts';
import { pairingScheme } from './pairing-link.ts';

const deadlineMs = 5_000;
const desktopFile = 'outrigger-companion-link.desktop';

/** The desktop entry that opens pairing links with an AppImage. */
function desktopEntry(program: string): string {
  return [
    '[Desktop Entry]',
    'Type=Application',
    'Name=Outrigger Companion',
    `Exec=${execLine(program)} %u`,
    'NoDisplay=true',
    'Terminal=false',
    `MimeType=x-scheme-handler/${pairingScheme};`,
    '',
  ].join('\n');
}

const entryFolder = () => join(process.env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share'), 'applications');

/** Registers this app for pairing links. An AppImage has no installer, so it writes its own desktop entry. */
export async function registerLinks(
  image: string | null,
  log: (event: string, detail?: string) => void,
): Promise<void> {
  try {
    if (process.platform !== 'linux' || image === null) {
      if (app.isPackaged && !app.setAsDefaultProtocolClient(pairingScheme)) log('links are not registered');
      return;
    }
    const folder = entryFolder();
    await mkdir(folder, { recursive: true });
    createOwnFile(join(folder, desktopFile), desktopEntry(image), 0o644);
    await new Promise<void>((done, fail) =>
      execFile(
        'xdg-mime',
        ['default', desktopFile, `x-scheme-handler/${pairingScheme}`],
        { timeout: deadlineMs },
        (error) => (error === null ? done() : fail(error)),
      ),
    );
  } catch (error) {
    log('links are not registered', (error as Error).message);
  }
}

/** Reverts `registerLinks`. Files of an installed package are removed with the package. */
export async function forgetLinks(image: string | null): Promise<void> {
  if (image !== null) await rm(join(entryFolder(), desktopFile), { force: true });
  else if (process.platform !== 'linux' && app.isPackaged) app.removeAsDefaultProtocolClient(pairingScheme);
}
