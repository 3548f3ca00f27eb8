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
  /** Path and mount point of the AppImage. Its runtime sets them as `APPIMAGE` and `APPDIR`. */
  appImage: string | undefined;
  appDir: string | undefined;
  /** Folder of the resources of the packaged app. The packager writes the package type there. */
  resources: string;
  isPackaged: boolean;
  /** Folder for the state of this app. */
  folder: string;
}

/** The running AppImage, or null. Check its pending update first in a start, after the single-instance lock. */
export function runningAppImage({ appImage, appDir, resources, isPackaged, folder }: Installation): AppImage | null {
  const path = isPackaged ? appImageOf(resources, { APPIMAGE: appImage, APPDIR: appDir }) : null;
  return path === null ? null : new AppImage(path, folder);
}

/** Creates the updater for this type of installation. */
export async function createUpdater(
  installation: Installation,
  port: UpdatePort,
  loadSystemSigned: () => Promise<SystemSignedUpdates>,
  build: { keys: string; feedUrl: string } = { keys: updateKeys, feedUrl: updateFeedUrl },
): Promise<Updater> {
  const { current, platform, arch, resources, isPackaged, folder } = installation;
  if (!isPackaged) return manualUpdater(current, 'nobody', 'The app runs from sources. Update it with git pull.');
  if (platform !== 'linux')
    return existsSync(join(resources, 'app-update.yml'))
      ? new SignedUpdater(current, await loadSystemSigned(), port)
      : manualUpdater(current, 'nobody', 'This build has no update address. Install a newer version by hand.');
  const image = runningAppImage(installation);
  const isDebian = image === null && packageType(resources) === 'deb';
  const debianHint = (version: string) =>
    `Version ${version} is available. Get its package where you got this one, and install it with: sudo apt install ./outrigger-companion_${version}_${arch === 'x64' ? 'amd64' : arch}.deb`;
  if (image === null && !isDebian)
    return manualUpdater(current, 'nobody', 'The app was unpacked by hand. Replace it with a newer version.');
  const by = isDebian ? 'system' : 'nobody';
  if (build.keys === '' || build.feedUrl === '')
    return manualUpdater(
      current,
      by,
      isDebian
        ? 'The app was installed from a Debian package. Install a newer version with: sudo apt install ./outrigger-companion_VERSION.deb'
        : `This build has no update ${build.keys === '' ? 'key' : 'address'}. Install a newer version by hand.`,
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
