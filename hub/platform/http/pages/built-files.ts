import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { AppError } from '../../../../shared/errors.ts';
import { installBuild, manifest } from '../../../../shared/node/install-build.ts';
import type { PageResponse } from './page.ts';

/** A built file in each encoding that the build wrote. */
interface BuiltFile {
  type: string;
  /** ETag of the uncompressed bytes, without quotes. */
  tag: string;
  encodings: ReadonlyMap<'br' | 'gzip' | 'identity', Buffer>;
}

/** The pages and the widget, as `npm run prepare` builds them. */
export interface BuiltFiles {
  loader: BuiltFile;
  /** By name. The name contains a hash of the content. */
  assets: ReadonlyMap<string, BuiltFile>;
  /** Names of the entry assets of the chat page. */
  page: { script: string; style: string };
  /** Names of the entry assets of the voice page. `capture` is the audio worklet for the microphone. */
  voice: { script: string; style: string; capture: string };
  /** Names of the entry assets of the softphone page. */
  phone: { script: string; style: string };
  /** Names of the entry assets of the dashboard. */
  dashboard: { script: string; style: string };
  /** Names of the entry assets of the page that turns notifications on. */
  notify: { script: string; style: string };
  /** The service worker that shows notifications. */
  pushWorker: BuiltFile;
}

/** Folder of the files that `hub/web/build.ts` builds. */
const builtFolder = join(import.meta.dirname, '../../../web/dist');

/** Whether this is the compiled package. An update of the package replaces all of its files. */
const isPackage = import.meta.filename.endsWith('.js');

/** Assets of the version before this one, by name, from the data folder. */
const previousAssets = new Map<string, BuiltFile>();

/**
 * Keeps the assets of this version in the data folder until the version after the next one starts, and serves those of
 * the version before, so that tabs that were opened before an upgrade keep working. For a hub that is installed as a
 * package: in a checkout, the build keeps them in its own folder. Called before the first `builtFiles`.
 * @throws when the data folder cannot be read or written. The assets of this version do not depend on it.
 */
export function keepAssets(home: string): void {
  if (!isPackage) return;
  const folder = join(home, 'pages');
  // Other users of the machine must not add scripts to the pages.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const previous = installBuild(builtFolder, folder, (name) => name === manifest || dirname(name) === 'assets');
  for (const name of previous)
    if (Object.hasOwn(types, extname(name))) previousAssets.set(name, readBuilt(join(folder, 'assets', name)));
}

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
};

const compressGzip = promisify(gzip);
const compressBrotli = promisify(brotliCompress);

/**
 * Compresses a public text in both encodings, off the event loop. The text must not contain a secret next to input of
 * the caller, because compression would reveal it (BREACH attack).
 */
export async function compressedFile(type: string, bytes: Buffer): Promise<BuiltFile> {
  const [gzipped, brotli] = await Promise.all([
    compressGzip(bytes, { level: 9 }),
    compressBrotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  ]);
  return {
    type,
    tag: tagOf(bytes),
    encodings: new Map([
      ['identity', bytes],
      ['gzip', gzipped],
      ['br', brotli],
    ]),
  };
}

const tagOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('base64url').slice(0, 22);

function readBuilt(path: string): BuiltFile {
  const bytes = readFileSync(path);
  const encodings = new Map<'br' | 'gzip' | 'identity', Buffer>([['identity', bytes]]);
  for (const [encoding, ending] of [
    ['br', '.br'],
    ['gzip', '.gz'],
  ] as const)
    if (existsSync(path + ending)) encodings.set(encoding, readFileSync(path + ending));
  return { type: types[extname(path)] ?? 'application/octet-stream', tag: tagOf(bytes), encodings };
}

let built: BuiltFiles | null = null;

/**
 * Reads all built files, some megabytes, once per process.
 * @throws AppError `unavailable` when they are missing.
 */
export function builtFiles(): BuiltFiles {
  built ??= readBuiltFiles(builtFolder);
  return built;
}

function readBuiltFiles(folder: string): BuiltFiles {
  try {
    return readList(folder);
  } catch (error) {
    throw notBuilt(error);
  }
}

/** Reads the script of the API reference, some megabytes. @throws AppError `unavailable` when it is missing. */
export function readApiReferenceScript(): Buffer {
  try {
    return readFileSync(join(builtFolder, 'api-reference.js'));
  } catch (error) {
    throw notBuilt(error);
  }
}

const notBuilt = (cause: unknown) =>
  new AppError(
    'unavailable',
    'The pages of this hub (dashboard, chat, voice, phone and API reference) are not built. The operator can build them in the folder of the hub: npm ci --include=dev && npm prune --omit=dev',
    { cause },
  );

function readList(folder: string): BuiltFiles {
  const assets = new Map(previousAssets);
  for (const name of readdirSync(join(folder, 'assets')))
    if (Object.hasOwn(types, extname(name))) assets.set(name, readBuilt(join(folder, 'assets', name)));
  return {
    loader: readBuilt(join(folder, 'widget.js')),
    pushWorker: readBuilt(join(folder, 'push-worker.js')),
    assets,
    ...(JSON.parse(readFileSync(join(folder, manifest), 'utf8')) as Pick<
      BuiltFiles,
      'page' | 'voice' | 'phone' | 'dashboard' | 'notify'
    >),
  };
}

/** Whether an `Accept-Encoding` header accepts an encoding. */
export const acceptsEncoding = (accepted: string, encoding: string) =>
  accepted.split(',').some((part) => {
    const [name, ...parameters] = part.split(';').map((item) => item.trim().toLowerCase());
    return name === encoding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });

/** Responds with a file in the smallest encoding that the caller accepts, or with 304 when the caller has the file. */
export function fileResponse(
  file: BuiltFile,
  { accepted = '', known }: { accepted: string | undefined; known: string | undefined },
  headers: Record<string, string | null>,
): PageResponse {
  const encoding = (['br', 'gzip'] as const).find(
    (name) => file.encodings.has(name) && acceptsEncoding(accepted, name),
  );
  const etag = `"${file.tag}${encoding === undefined ? '' : `-${encoding}`}"`;
  const common = { ...headers, ETag: etag, Vary: 'Accept-Encoding' };
  // Proxies that compress a response make its ETag weak. `If-None-Match` compares weakly (RFC 9110, 13.1.2).
  if (known?.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, ''))) === true)
    return { status: 304, headers: common, bytes: Buffer.alloc(0) };
  const bytes = file.encodings.get(encoding ?? 'identity') as Buffer;
  return {
    headers: {
      ...common,
      'Content-Type': file.type,
      'Content-Length': String(bytes.length),
      ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
    },
    bytes,
  };
}
