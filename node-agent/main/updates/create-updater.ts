import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { appImageOf } from '../../runtime/running-app-image.ts';
import { AppImage } from './app-image.ts';
import { updateFeedUrl, updateKeys } from './build-values.ts';
import { FeedUpdater } from './feed-updater.ts';
import { parseKeys } from './feed.ts';
import { SignedUpdater } from './signed-updater.ts';
import type { SystemSignedUpdates } from './signed-updater.ts';
import { manualUpdater } from './updater.ts';
import type { UpdatePort, Updater } from './updater.ts';

export interface Installation {
  current: string;
  platform: string;
  arch: string;
  /** Where the AppImage lies, and what it is mounted as: its runtime says so in `APPIMAGE` and `APPDIR`. */
  appImage: string | undefined;
  appDir: string | undefined;
  /** Folder of the packaged app's resources; what made the package left a note there. */
  resources: string;
  isPackaged: boolean;
  /** Where this app keeps its state. */
  folder: string;
}

/** The AppImage that runs, or null; it is settled before anything else of a start, and after the single-instance lock. */
export function runningAppImage({ appImage, appDir, resources, isPackaged, folder }: Installation): AppImage | null {
  const path = isPackaged ? appImageOf(resources, { APPIMAGE: appImage, APPDIR: appDir }) : null;
  return path === null ? null : new AppImage(path, folder);
}

/** How this installation is updated, which depends on who installed it. */
export async function createUpdater(
  installation: Installation,
  port: UpdatePort,
  loadSystemSigned: () => Promise<SystemSignedUpdates>,
  build: { keys: string; feedUrl: string } = { keys: updateKeys, feedUrl: updateFeedUrl },
): Promise<Updater> {
  const { current, platform, arch, resources, isPackaged, folder } = installation;
  if (!isPackaged) return manualUpdater(current, 'nobody', 'It runs from its sources: git pull brings a newer one.');
  if (platform !== 'linux')
    return existsSync(join(resources, 'app-update.yml'))
      ? new SignedUpdater(current, await loadSystemSigned(), port)
      : manualUpdater(current, 'nobody', 'This build has no place to look for updates; install a newer one by hand.');
  const image = runningAppImage(installation);
  const isDebian = image === null && packageType(resources) === 'deb';
  const debianHint = (version: string) =>
    `Version ${version} is there. Get its package from where you got this one, and install it with: sudo apt install ./outrigger-companion_${version}_${arch === 'x64' ? 'amd64' : arch}.deb`;
  if (image === null && !isDebian)
    return manualUpdater(current, 'nobody', 'It was unpacked by hand: unpack a newer one in its place.');
  const by = isDebian ? 'system' : 'nobody';
  if (build.keys === '' || build.feedUrl === '')
    return manualUpdater(
      current,
      by,
      isDebian
        ? 'It was installed from a Debian package; install a newer one with: sudo apt install ./outrigger-companion_VERSION.deb'
        : `This build has no update ${build.keys === '' ? 'key' : 'address'}; get a newer one by hand.`,
    );
  return new FeedUpdater({
    current,
    feedUrl: build.feedUrl,
    keys: parseKeys(build.keys),
    target: `linux-${arch}`,
    folder,
    port,
    image,
    describeManualUpdate: debianHint,
  });
}

function packageType(resources: string): string | null {
  try {
    return readFileSync(join(resources, 'package-type'), 'utf8').trim();
  } catch {
    return null;
  }
}
