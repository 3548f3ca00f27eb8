import { constants, createReadStream } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isInside, isProtected, openShared, realFolders, resolveShared } from './files.ts';
import { CommandError } from './handler.ts';
import type { CommandContext } from './handler.ts';

/** Names with a number that are tried when a file of the name exists. */
const maxSuffix = 999;
const maxNameLength = 150;

/**
 * The real path of a folder in which downloads may be saved.
 * @throws CommandError `downloads_not_received`, `outside_shared_folders`, `protected_path`, `not_found`, `invalid_input`.
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
 * Copies a file into a shared folder that receives downloads, under a name that is free there: an existing file is never replaced. The copy
 * is readable by its owner only and not executable.
 * @param name as the page suggests it; only its last part counts.
 * @returns the path of the copy.
 * @throws CommandError as `assertReceivesDownloads`, or `save_failed`.
 */
export async function saveIntoSharedFolder(
  path: string,
  name: string,
  sourcePath: string,
  context: CommandContext,
): Promise<string> {
  const folder = await assertReceivesDownloads(path, context);
  await using handle = await openShared(folder, context, constants.O_RDONLY | constants.O_DIRECTORY);
  // Through the descriptor that was checked, where the system can, so that no link can take the folder's place meanwhile.
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
  throw new CommandError('save_failed', `${path} holds too many files that are called ${name}.`);
}

/** Device names of Windows, which are no files with any extension. */
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** A file name on every system: no path, no control characters, not hidden, and not one of the names that shared folders protect. */
function safeName(suggested: string): string {
  const last = suggested.split(/[/\\]/).at(-1) ?? '';
  // eslint-disable-next-line no-control-regex
  const clean = last.replaceAll(/[\u0000-\u001F\u007F<>:"|?*]+/g, '_').replace(/(?<![. ])[. ]+$/, '');
  const { name, ext } = parse(clean);
  const short = `${name.slice(0, maxNameLength - ext.length)}${ext}`.slice(0, maxNameLength).toWellFormed();
  return short === '' || isProtected(short) || reserved.test(short) ? `download-${short.replace(/^\.+/, '')}` : short;
}
