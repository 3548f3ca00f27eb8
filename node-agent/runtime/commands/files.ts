import { createHash } from 'node:crypto';
import { constants, createWriteStream, existsSync, realpath as realpathOf } from 'node:fs';
import { lstat, open, opendir, readlink, realpath, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { CommandInput, CommandReply } from '../../../shared/commands/catalog.ts';
import { inlineFileBytes, maxListEntries } from '../../../shared/commands/files.ts';
import type { LocalSettings } from '../../../shared/companion/settings.ts';
import { isStorableText, toStorableText } from '../../../shared/json.ts';
import { CommandError } from './handler.ts';
import type { CommandContext, CommandHandlers } from './handler.ts';

/** O_PATH of Linux, for which Node has no constant. The handle refers to the file without opening it. */
const linuxOpenPath = 0o10000000;
const maxArtifactBytes = 256 * 1024 * 1024;

/**
 * Lists and reads files, only under the folders that the owner shares.
 */
export function fileHandlers(): Pick<CommandHandlers, 'node.files_list' | 'node.files_read'> {
  return { 'node.files_list': list, 'node.files_read': read };
}

type ListInput = CommandInput<'node.files_list'>;
type ListEntry = CommandReply<'node.files_list'>['entries'][number];

async function list(input: ListInput, context: CommandContext): Promise<CommandReply<'node.files_list'>> {
  const { path, cursor } = input;
  const limit = input.limit ?? maxListEntries;
  const isWanted = input.glob === undefined ? () => true : wildcard(input.glob);
  const names = new FirstNames(limit + 1);
  const consider = (name: string) => {
    if ((cursor === undefined || toStorableText(name) > cursor) && isWanted(name)) names.add(name);
  };
  if (path === undefined) {
    for (const folder of await unmovedFolders(context.settings.sharedFolders)) consider(folder);
    return await pageOf(names.sorted(), limit, async (folder) => await describe(folder, folder, stat));
  }
  const folder = await resolveShared(path, context);
  await using handle = await openShared(folder, context, constants.O_RDONLY | constants.O_DIRECTORY);
  const hides = !(await showsHidden(folder, await realFolders(context.settings.sharedFolders), context.settings));
  // On Linux, the checked descriptor names the folder, so a link that replaces the folder has no effect.
  const opened = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : folder;
  for await (const entry of await opendir(opened)) {
    context.signal.throwIfAborted();
    if (!hides || !isProtectedPath(join(folder, entry.name))) consider(entry.name);
  }
  return await pageOf(names.sorted(), limit, async (name) => {
    context.signal.throwIfAborted();
    return await describe(name, join(opened, name), lstat);
  });
}

/** Returns the entries of one page of names. Entries that were removed in the meantime are left out. */
async function pageOf(names: string[], limit: number, look: (name: string) => Promise<ListEntry | null>) {
  const page = names.slice(0, limit);
  const entries: ListEntry[] = [];
  for (const name of page) {
    const entry = await look(name);
    if (entry !== null) entries.push(entry);
  }
  const truncated = names.length > limit;
  return { entries, truncated, nextCursor: truncated ? toStorableText(page.at(-1) as string) : null };
}

async function describe(name: string, path: string, look: typeof stat): Promise<ListEntry | null> {
  const facts = await look(path).catch(() => null);
  if (facts === null) return null;
  const type = facts.isFile() ? 'file' : facts.isDirectory() ? 'folder' : facts.isSymbolicLink() ? 'link' : 'other';
  const bytes = name === path ? 0 : facts.size;
  return { name: toStorableText(name), type, bytes, modifiedAt: facts.mtime.toISOString() };
}

/** Keeps the first `most` of many names in sort order. Holds at most about twice that number in memory. */
class FirstNames {
  readonly #most: number;
  #names: string[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  add(name: string): void {
    this.#names.push(name);
    if (this.#names.length >= 2 * this.#most + 1_000) this.#names = this.sorted();
  }

  sorted(): string[] {
    return this.#names
      .toSorted((left, right) => (toStorableText(left) < toStorableText(right) ? -1 : 1))
      .slice(0, this.#most);
  }
}

/** Returns a matcher for a pattern with `*` and `?`. Its time is bounded by name length times pattern length. */
function wildcard(pattern: string): (name: string) => boolean {
  const wanted = [...pattern];
  return (name) => {
    const given = [...name];
    let [at, star, resume] = [0, -1, 0];
    for (let index = 0; index < given.length;) {
      if (wanted[at] === '*') [star, resume, at] = [at, index, at + 1];
      else if (wanted[at] === '?' || wanted[at] === given[index]) [at, index] = [at + 1, index + 1];
      else if (star === -1) return false;
      else {
        // Extends the match of the last star by one character.
        resume += 1;
        [at, index] = [star + 1, resume];
      }
    }
    return wanted.slice(at).every((sign) => sign === '*');
  };
}

async function read(
  { path, offset, length }: { path: string; offset: number; length?: number | undefined },
  context: CommandContext,
) {
  const file = await resolveShared(path, context);
  await using handle = await openFile(file, path, context);
  const facts = await handle.stat();
  if (!facts.isFile()) throw new CommandError('invalid_input', `${path} is not a file.`);
  const wanted = Math.min(length ?? Number.MAX_SAFE_INTEGER, Math.max(0, facts.size - offset));
  if (wanted > maxArtifactBytes)
    throw new CommandError(
      'too_large',
      `${path} has ${facts.size} bytes; read at most ${maxArtifactBytes} at once, with offset and length.`,
    );
  if (wanted <= inlineFileBytes) return await readInline(handle, offset, wanted, facts.size);

  const hash = createHash('sha256');
  const name = 'file.bin';
  const filePath = join(context.temporaryFolder, name);
  let bytes = 0;
  const source = handle.createReadStream({ start: offset, end: offset + wanted - 1, autoClose: false });
  source.on('data', (chunk) => {
    hash.update(chunk);
    bytes += chunk.length;
  });
  await pipeline(source, createWriteStream(filePath, { mode: 0o600 }), { signal: context.signal });
  context.attach({ name, contentType: 'application/octet-stream', content: { filePath } });
  return {
    encoding: 'artifact' as const,
    artifact: name,
    bytes,
    sha256: hash.digest('hex'),
    eof: offset + bytes >= facts.size,
  };
}

/**
 * Reads a whole file of a shared folder.
 * @throws CommandError `too_large` above `maxBytes`, `outside_shared_folders`.
 */
export async function readSharedFile(
  path: string,
  maxBytes: number,
  context: CommandContext,
): Promise<{ name: string; content: Buffer }> {
  const file = await resolveShared(path, context);
  await using handle = await openFile(file, path, context);
  const { size } = await handle.stat();
  const tooLarge = () =>
    new CommandError('too_large', `${path} is too large; at most ${maxBytes} more bytes may be sent.`);
  if (size > maxBytes) throw tooLarge();
  const content = await handle.readFile();
  if (content.length > maxBytes) throw tooLarge();
  return { name: basename(file), content };
}

async function readInline(handle: FileHandle, offset: number, wanted: number, size: number) {
  const buffer = Buffer.alloc(wanted);
  let bytes = 0;
  while (bytes < wanted) {
    const { bytesRead } = await handle.read(buffer, bytes, wanted - bytes, offset + bytes);
    if (bytesRead === 0) break;
    bytes += bytesRead;
  }
  const content = buffer.subarray(0, bytes);
  const text = asText(content);
  return {
    encoding: text === null ? ('base64' as const) : ('utf8' as const),
    content: text ?? content.toString('base64'),
    bytes,
    sha256: createHash('sha256').update(content).digest('hex'),
    eof: offset + bytes >= size,
  };
}

function asText(content: Buffer): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
    return isStorableText(text) ? text : null;
  } catch {
    return null;
  }
}

/** Whether a real path is a real folder or is inside it. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '' || (!way.startsWith(`..${sep}`) && way !== '..' && !isAbsolute(way));
}

/**
 * Whether a real path is in the data folder of a companion, including other companions of the owner. The keys in a data
 * folder would let other programs impersonate this machine.
 */
export function isOfCompanion(real: string): boolean {
  for (let folder = real; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'control.key')) && existsSync(join(folder, 'journal'))) return true;
    if (dirname(folder) === folder) return false;
  }
}

/** Names of hidden files, key stores and browser data. Most key stores and browser profiles start with a dot. */
const protectedNames =
  /^(?:\.|id_(?:rsa|ecdsa|ed25519|dsa)|keychains$|appdata$|keystore$|.*\.(?:kdbx?|keychain(?:-db)?|p12|pfx|pem|key|jks|ppk)$|login data|logins\.json$|key[34]\.db$|cookies\.sqlite$)/i;
export const isProtected = (name: string): boolean => protectedNames.test(name);

/** Paths of browser profiles that contain no protected name: of snaps, of macOS, and of Windows outside of AppData. */
const browserProfiles = new RegExp(
  `/(?:${[
    'snap/(?:chromium|firefox|brave|opera[^/]*|vivaldi|microsoft-edge|librewolf|thunderbird)',
    'snap/[^/]+/[^/]+/(?:chromium|google-chrome|firefox|mozilla)',
    'library/(?:cookies|safari|containers/com\\.apple\\.safari)',
    'library/application support/(?:google/chrome[^/]*|chromium|firefox|bravesoftware|microsoft edge[^/]*|vivaldi|arc|librewolf|thunderbird|com\\.operasoftware\\.[^/]*)',
    '(?:google/chrome[^/]*|chromium|bravesoftware/[^/]+|microsoft/edge[^/]*|vivaldi)/user data',
    'mozilla/firefox/profiles',
  ].join('|')})$`,
  'i',
);

/** Whether a real path is hidden, a key store or a browser profile. Does not check the folders above it. */
const isProtectedPath = (real: string): boolean =>
  isProtected(basename(real)) || browserProfiles.test(real.replaceAll('\\', '/'));

/** Whether a real path, or a folder between it and `folder`, is protected. */
function isProtectedBelow(folder: string, real: string): boolean {
  for (let at = real; at !== folder && at !== dirname(at); at = dirname(at)) if (isProtectedPath(at)) return true;
  return false;
}

/** Whether a real path is in a shared folder whose hidden files the owner shares too. */
async function showsHidden(real: string, shared: readonly string[], { files }: LocalSettings): Promise<boolean> {
  const named = await realFolders(files.hidden);
  return named.some((folder) => shared.includes(folder) && isInside(folder, real));
}

/**
 * Refuses hidden files, key stores and browser profiles below a shared folder. A protected folder that the owner shared
 * itself is allowed.
 * @throws CommandError `protected_path`.
 */
async function assertNotHidden(
  real: string,
  path: string,
  shared: readonly string[],
  settings: LocalSettings,
): Promise<void> {
  const around = shared.filter((folder) => isInside(folder, real));
  if (around.some((folder) => !isProtectedBelow(folder, real))) return;
  if (await showsHidden(real, shared, settings)) return;
  throw new CommandError(
    'protected_path',
    `${path} is hidden, a key store or a browser profile, which sharing a folder does not include; the owner of this machine shares it with: outrigger-companion share FOLDER --include-hidden`,
  );
}

/** Whether a link in a missing path leads to a target outside of the shared folders, or to a missing target. */
async function leadsOutside(asked: string, shared: readonly string[]): Promise<boolean> {
  for (let at = asked; dirname(at) !== at; at = dirname(at)) {
    if (shared.includes(at)) return false;
    if ((await lstat(at).catch(() => null))?.isSymbolicLink() !== true) continue;
    const target = await realpath(at).catch(() => null);
    if (target === null || !shared.some((folder) => isInside(folder, target))) return true;
  }
  return false;
}

const outside = (path: string) =>
  new CommandError(
    'outside_shared_folders',
    `${path} is not under a folder that the owner of this machine shares; they share one with: outrigger-companion share FOLDER`,
  );

/**
 * Returns the absolute path of the path in a command, without resolving links. A relative path begins with the name of
 * a shared folder; null if no shared folder has that name.
 */
function absolutePath(path: string, sharedFolders: readonly string[]): string | null {
  if (isAbsolute(path)) return resolve(path);
  const [first = '', ...rest] = path.split(/[/\\]/);
  const named = sharedFolders.find((folder) => basename(folder) === first);
  return named === undefined ? null : resolve(named, ...rest);
}

/** The file or folder that a command opened. */
export interface OpenedPath {
  /** The path that the command asked for. */
  path: string;
  /** The path with all links resolved. */
  realPath: string;
}

/**
 * Why the settings no longer share what a command opened, or null. Only the settings count: what another program does to the file since then, and what the asked
 * path leads to now, are no reason.
 */
export async function whyNotShared(
  { path, realPath }: OpenedPath,
  settings: LocalSettings,
): Promise<CommandError | null> {
  const folders = await unmovedFolders(settings.sharedFolders);
  // A folder that was removed has no real path; the settings hold the one that it had.
  const shared = [...folders.map((folder) => resolve(folder)), ...(await realFolders(folders))];
  const isShared =
    shared.some((folder) => isInside(folder, realPath)) &&
    (await assertNotHidden(realPath, path, shared, settings).then(
      () => true,
      () => false,
    ));
  return isShared
    ? null
    : new CommandError('denied_by_device', `The owner of this machine no longer shares the folder of ${path}.`);
}

/** Returns the real path of a path in a shared folder, with all links resolved. @throws CommandError */
export async function resolveShared(path: string, { settings }: Pick<CommandContext, 'settings'>): Promise<string> {
  const shared = await realFolders(settings.sharedFolders);
  const asked = absolutePath(path, settings.sharedFolders);
  if (asked === null) throw outside(path);
  const around = settings.sharedFolders.find((folder) => isInside(resolve(folder), asked));
  if (around !== undefined && !shared.some((folder) => isInside(folder, asked)) && (await isMoved(around)))
    throw new CommandError(
      'outside_shared_folders',
      `${around} was shared, and leads to another folder now, which the owner of this machine did not share; they can restore the folder, or share it again with: outrigger-companion unshare ${around} && outrigger-companion share ${around}`,
    );
  let real: string;
  try {
    real = await realpath(asked);
  } catch (error) {
    // The error must not reveal whether a path outside of the shared folders, or the target of a link to the outside,
    // exists and what it is.
    const isUnder = [...settings.sharedFolders, ...shared].some((folder) => isInside(folder, asked));
    if (!isUnder || (await leadsOutside(asked, shared))) throw outside(path);
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new CommandError('not_found', `${path} does not exist.`, { cause: error });
    throw new CommandError('permission_needed', `${path} can't be read (${code ?? 'error'}).`, { cause: error });
  }
  if (!shared.some((folder) => isInside(folder, real))) throw outside(path);
  if (isOfCompanion(real))
    throw new CommandError(
      'outside_shared_folders',
      `${path} is in the data folder of a companion, which holds its keys and is never shared.`,
    );
  await assertNotHidden(real, path, shared, settings);
  return real;
}

/** Resolves links as the settings do. It keeps the case of letters, unlike `realpath` of the operating system. */
const resolveLinks = promisify(realpathOf);

/** Whether a link has replaced a folder of the settings, or a folder above it, so that it leads to another folder. */
export async function isMoved(folder: string): Promise<boolean> {
  const real = await resolveLinks(folder).catch(() => null);
  return real !== null && real !== resolve(folder);
}

/** Removes the folders that a link has replaced, because the owner did not share the target of the link. */
async function unmovedFolders(folders: readonly string[]): Promise<string[]> {
  const moved = await Promise.all(folders.map(isMoved));
  return folders.filter((_folder, index) => moved[index] === false);
}

/** Returns the real paths of folders in the settings, without missing folders and folders that a link has replaced. */
export async function realFolders(folders: readonly string[]): Promise<string[]> {
  const real = await Promise.all((await unmovedFolders(folders)).map((folder) => realpath(folder).catch(() => null)));
  return real.filter((folder) => folder !== null);
}

/**
 * Opens a regular file and nothing else, because opening a device or a pipe can have side effects. On Linux, a handle
 * that only refers to the file is checked and then opened. On other systems, the file is checked before and after
 * opening.
 */
async function openFile(real: string, path: string, context: CommandContext): Promise<FileHandle> {
  const refuse = () => new CommandError('invalid_input', `${path} is not a file.`);
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
  if (process.platform === 'linux') {
    await using named = await openShared(real, context, linuxOpenPath);
    const facts = await named.stat();
    // With O_PATH, the handle of a link refers to the link itself.
    if (facts.isSymbolicLink()) throw outside(real);
    if (!facts.isFile()) throw refuse();
    // Awaited here, because `named` is closed at the end of this block.
    return await open(`/proc/self/fd/${named.fd}`, flags).catch((error: NodeJS.ErrnoException) => {
      throw new CommandError('permission_needed', `${real} can't be opened (${error.code ?? 'error'}).`, {
        cause: error,
      });
    });
  }
  if (!(await lstat(real)).isFile()) throw refuse();
  return openShared(real, context, flags);
}

/**
 * Opens a real path and checks that the opened file is in a shared folder. Another program may have replaced the file
 * by a link since the path was checked.
 */
export async function openShared(real: string, context: CommandContext, flags: number): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await open(real, flags | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') throw new CommandError('invalid_input', `${real} is not a folder.`, { cause: error });
    if (code === 'ELOOP') throw outside(real);
    throw new CommandError(
      code === 'ENOENT' ? 'not_found' : 'permission_needed',
      `${real} can't be opened (${code ?? 'error'}).`,
      { cause: error },
    );
  }
  try {
    const opened = process.platform === 'linux' ? await readlink(`/proc/self/fd/${handle.fd}`) : await realpath(real);
    // A change of the settings before this line is read here. A later change finds the path that is noted.
    context.noteOpened(opened);
    const { settings } = context;
    const shared = await realFolders(settings.sharedFolders);
    if (!shared.some((folder) => isInside(folder, opened)) || isOfCompanion(opened)) throw outside(real);
    await assertNotHidden(opened, real, shared, settings);
    if (process.platform !== 'linux') {
      const [byPath, byHandle] = await Promise.all([stat(opened), handle.stat()]);
      if (byPath.ino !== byHandle.ino || byPath.dev !== byHandle.dev) throw outside(real);
    }
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}
