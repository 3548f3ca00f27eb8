import { constants, createReadStream } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isInside, isProtected, openShared, realFolders, resolveShared } from './files.ts';
import { CommandError } from './handler.ts';
import type { CommandContext } from './handler.ts';

/** Highest number that is appended to a file name that already exists. */
const maxSuffix = 999;
const maxNameLength = 150;

/**
 * Returns the real path of a folder after checking that downloads may be saved there.
 * @throws CommandError `downloads_not_received`, `outside_shared_folders`, `protected_path`, `not_found`,
 *   `invalid_input`.
 */
export async function assertReceivesDownloads(path: string, context: CommandContext): Promise<string> {
  const folder = await resolveShared(path, context);
  const receiving = await realFolders(
    context.settings.files.downloads.filter((each) => context.settings.sharedFolders.includes(each)),
  );
  if (!receiving.some((each) => isInside(each, folder)))
    throw new CommandError(
      'downloads_not_received',
      `Downloads may not be saved in ${path}; the owner of this machine allows it with: outrigger-companion share FOLDER --receive-downloads`,
    );
  await using _folder = await openShared(folder, context, constants.O_RDONLY | constants.O_DIRECTORY);
  return folder;
}

/**
 * Copies a file into a shared folder that receives downloads. The copy gets a free name, so an existing file is never
 * replaced. Only the owner can read the copy, and it is not executable.
 * @param name The name that the page suggests. Only the part after the last slash or backslash is used.
 * @returns The path of the copy.
 * @throws CommandError `save_failed`, or the codes of `assertReceivesDownloads`.
 */
export async function saveIntoSharedFolder(
  path: string,
  name: string,
  sourcePath: string,
  context: CommandContext,
): Promise<string> {
  const folder = await assertReceivesDownloads(path, context);
  await using handle = await openShared(folder, context, constants.O_RDONLY | constants.O_DIRECTORY);
  // On Linux, the checked descriptor names the folder, so a link that replaces the folder has no effect.
  const openedFolder = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : folder;
  const { target, fileName } = await createWithFreeName(openedFolder, safeName(name), path);
  try {
    await pipeline(createReadStream(sourcePath), target.createWriteStream(), { signal: context.signal });
  } catch (error) {
    await target.close().catch(() => undefined);
    await unlink(join(openedFolder, fileName)).catch(() => undefined);
    throw saveFailure(path, error);
  }
  return join(folder, fileName);
}

const saveFailure = (path: string, error: unknown) =>
  new CommandError(
    'save_failed',
    `The download could not be saved in ${path} (${(error as NodeJS.ErrnoException).code ?? (error as Error).message}).`,
    { cause: error },
  );

async function createWithFreeName(
  folder: string,
  name: string,
  path: string,
): Promise<{ target: FileHandle; fileName: string }> {
  const { name: stem, ext } = parse(name);
  for (let number = 0; number <= maxSuffix; number += 1) {
    const fileName = number === 0 ? name : `${stem} (${number})${ext}`;
    try {
      return { target: await open(join(folder, fileName), 'wx', 0o600), fileName };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw saveFailure(path, error);
    }
  }
  throw new CommandError('save_failed', `${path} contains too many files named ${name}.`);
}

/** Device names of Windows. They name a device even with a file extension. */
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/**
 * Returns a name that is valid on every system. It has no path and no control characters, is not hidden, and is not one
 * of the names that shared folders protect.
 */
function safeName(suggested: string): string {
  const last = suggested.split(/[/\\]/).at(-1) ?? '';
  // eslint-disable-next-line no-control-regex
  const clean = last.replaceAll(/[\u0000-\u001F\u007F<>:"|?*]+/g, '_').replace(/(?<![. ])[. ]+$/, '');
  const { name, ext } = parse(clean);
  const short = `${name.slice(0, maxNameLength - ext.length)}${ext}`.slice(0, maxNameLength).toWellFormed();
  return short === '' || isProtected(short) || reserved.test(short) ? `download-${short.replace(/^\.+/, '')}` : short;
}
