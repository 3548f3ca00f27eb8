import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip, createZstdCompress, gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import type { Pack } from 'tar-stream';

/**
 * Creates a Debian package of the unpacked app without the tools of Debian: an `ar` archive of two tar files. Packages of
 * the same app and day are byte-identical.
 */

const name = 'outrigger-companion';
const appFolder = `usr/lib/${name}`;
const architectures: Record<string, string> = { 'linux-unpacked': 'amd64', 'linux-arm64-unpacked': 'arm64' };

/** Maintainer of the package: the releaser. */
const maintainer = process.env['OUTRIGGER_MAINTAINER'] ?? 'The Outrigger authors <outrigger@localhost>';

interface Entry {
  path: string;
  mode: number;
  /** A file on disk, bytes, a folder, or the target of a symbolic link. */
  content: { file: string } | { bytes: Buffer } | 'folder' | { link: string };
}

interface DebOptions {
  project: string;
  unpacked: string;
  output: string;
  /** Compression level of zstd, 1 to 19. Higher levels take longer. */
  level?: number;
}

const time = (): Date =>
  new Date(1000 * Number(process.env['SOURCE_DATE_EPOCH'] ?? Math.floor(Date.now() / 86_400_000) * 86_400));

/** @returns The path of the package, `outrigger-companion_VERSION_ARCHITECTURE.deb` in the folder `output`. */
export async function makeDeb({ project, unpacked, output, level = 9 }: DebOptions): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(project, 'node-agent/package.json'), 'utf8')) as { version: string };
  const architecture = architectures[unpacked.split('/').at(-1) ?? ''];
  if (architecture === undefined) throw new Error(`${unpacked} has an architecture that Debian does not support.`);
  const entries = withFolders(entriesOf(project, unpacked, version));
  const path = join(output, `${name}_${version}_${architecture}.deb`);
  const data = `${path}.data.tar.zst`;
  try {
    const compress = createZstdCompress({
      params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 },
    });
    const tar = pack();
    await Promise.all([fill(tar, entries), pipeline(tar, compress, createWriteStream(data))]);
    const control = await controlTar(project, { version, architecture, entries });
    await writeAr(path, [
      { name: 'debian-binary', bytes: Buffer.from('2.0\n') },
      { name: 'control.tar.gz', bytes: control },
      { name: 'data.tar.zst', file: data },
    ]);
  } finally {
    await rm(data, { force: true });
  }
  return path;
}

/** All files that the package installs. */
function entriesOf(project: string, unpacked: string, version: string): Entry[] {
  const own = (file: string) => ({ file: join(project, 'node-agent/package/debian', file) });
  const icons = join(project, 'node-agent/resources/icons');
  const document = (file: string, bytes: Buffer): Entry => ({
    path: `usr/share/doc/${name}/${file}`,
    mode: 0o644,
    content: { bytes },
  });
  return [
    ...filesBelow(unpacked, appFolder),
    // The app reads the package type to select its updater.
    { path: `${appFolder}/resources/package-type`, mode: 0o644, content: { bytes: Buffer.from('deb\n') } },
    { path: `${appFolder}/resources/apparmor-profile`, mode: 0o644, content: own('apparmor-profile') },
    { path: `usr/bin/${name}`, mode: 0o755, content: own(`${name}.sh`) },
    { path: `usr/share/applications/${name}.desktop`, mode: 0o644, content: own(`${name}.desktop`) },
    ...readdirSync(join(icons, 'linux')).map((file): Entry => ({
      path: `usr/share/icons/hicolor/${file.replace('.png', '')}/apps/${name}.png`,
      mode: 0o644,
      content: { file: join(icons, 'linux', file) },
    })),
    {
      path: `usr/share/icons/hicolor/scalable/apps/${name}.svg`,
      mode: 0o644,
      content: { file: join(icons, 'source/app.svg') },
    },
    document('copyright', Buffer.from(copyright(readFileSync(join(project, 'LICENSE'), 'utf8')))),
    document('changelog.gz', gzipSync(changelog(version), { level: 9 })),
  ].toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

function filesBelow(folder: string, as: string): Entry[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((found) => !found.isDirectory())
    .map((found): Entry => {
      const file = join(found.parentPath, found.name);
      const path = `${as}/${file.slice(folder.length + 1)}`;
      if (found.isSymbolicLink()) return { path, mode: 0o777, content: { link: readlinkSync(file) } };
      // postinst decides whether chrome-sandbox must be setuid.
      const isProgram = (statSync(file).mode & 0o111) !== 0 && !/\.so(\.\d+)*$/.test(file);
      return { path, mode: isProgram ? 0o755 : 0o644, content: { file } };
    });
}

/** Adds entries for all parent folders, each before its content. */
function withFolders(entries: Entry[]): Entry[] {
  const folders = new Set<string>();
  return entries.flatMap((entry) => {
    const steps = entry.path.split('/');
    const missing: Entry[] = [];
    for (let depth = 1; depth < steps.length; depth += 1) {
      const path = steps.slice(0, depth).join('/');
      if (folders.has(path)) continue;
      folders.add(path);
      missing.push({ path, mode: 0o755, content: 'folder' });
    }
    return [...missing, entry];
  });
}

async function fill(tar: Pack, entries: Entry[]): Promise<void> {
  const mtime = time();
  const add = (header: Parameters<Pack['entry']>[0], content?: Buffer | Readable) =>
    new Promise<void>((done, fail) => {
      const full = { uid: 0, gid: 0, uname: 'root', gname: 'root', mtime, ...header };
      const finish = (error?: Error | null) => (error ? fail(error) : done());
      if (content === undefined || Buffer.isBuffer(content)) tar.entry(full, content ?? '', finish);
      else content.on('error', fail).pipe(tar.entry(full, finish));
    });
  await add({ name: './', type: 'directory', mode: 0o755 });
  for (const { path, mode, content } of entries) {
    if (content === 'folder') await add({ name: `./${path}/`, type: 'directory', mode });
    else if ('link' in content) await add({ name: `./${path}`, type: 'symlink', linkname: content.link, mode });
    else if ('bytes' in content) await add({ name: `./${path}`, mode }, content.bytes);
    else await add({ name: `./${path}`, mode, size: statSync(content.file).size }, createReadStream(content.file));
  }
  tar.finalize();
}

async function controlTar(
  project: string,
  { version, architecture, entries }: { version: string; architecture: string; entries: Entry[] },
): Promise<Buffer> {
  const files = entries.flatMap(({ path, content }) =>
    content === 'folder' || 'link' in content ? [] : [{ path, content }],
  );
  let bytes = 0;
  const sums: string[] = [];
  for (const { path, content } of files) {
    const hash = createHash('md5');
    const pieces = 'bytes' in content ? [content.bytes] : createReadStream(content.file);
    for await (const piece of pieces) {
      hash.update(piece as Buffer);
      bytes += (piece as Buffer).length;
    }
    sums.push(`${hash.digest('hex')}  ${path}\n`);
  }
  const read = (file: string) => readFileSync(join(project, 'node-agent/package/debian', file));
  const depends = read('depends').toString().trim().split('\n').join(', ');
  const control = `Package: ${name}
Version: ${version}
Architecture: ${architecture}
Maintainer: ${maintainer}
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: ${depends}
Recommends: libnotify4, libsecret-1-0, gnome-keyring | kwalletmanager, ffmpeg
Section: utils
Priority: optional
Description: lets workflows of an Outrigger hub use this machine
 The companion makes this machine a node of a hub. It shows what workflows did
 here, asks before they run programs, and stops them with one click. Everything
 is off until its owner switches it on.
`;
  const tar = pack();
  const script = (file: string): Entry => ({ path: file, mode: 0o755, content: { bytes: read(file) } });
  const compressed = createGzip({ level: 9 });
  const parts: Buffer[] = [];
  compressed.on('data', (piece: Buffer) => parts.push(piece));
  await Promise.all([
    fill(tar, [
      { path: 'control', mode: 0o644, content: { bytes: Buffer.from(control) } },
      { path: 'md5sums', mode: 0o644, content: { bytes: Buffer.from(sums.join('')) } },
      ...['postinst', 'postrm', 'prerm'].map(script),
    ]),
    pipeline(tar, compressed),
  ]);
  return Buffer.concat(parts);
}

/** The container of a package: the traditional `ar` format, with names of at most 16 characters. */
async function writeAr(
  path: string,
  members: readonly { name: string; bytes?: Buffer; file?: string }[],
): Promise<void> {
  const seconds = String(Math.floor(time().getTime() / 1000));
  async function* content(): AsyncGenerator<Buffer> {
    yield Buffer.from('!<arch>\n');
    for (const { name: member, bytes, file = '' } of members) {
      const size = bytes === undefined ? statSync(file).size : bytes.length;
      const fields: [string, number][] = [
        [member, 16],
        [seconds, 12],
        ['0', 6],
        ['0', 6],
        ['100644', 8],
        [String(size), 10],
      ];
      yield Buffer.from(`${fields.map(([text, width]) => text.padEnd(width)).join('')}\x60\n`);
      if (bytes === undefined) yield* createReadStream(file) as AsyncIterable<Buffer>;
      else yield bytes;
      if (size % 2 === 1) yield Buffer.from('\n');
    }
  }
  await pipeline(content, createWriteStream(path));
}

const changelog = (version: string) => `${name} (${version}) stable; urgency=medium

  * See CHANGELOG.md of the sources.

 -- ${maintainer}  ${time().toUTCString().replace('GMT', '+0000')}
`;

const copyright = (license: string) => `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Outrigger

Files: *
Copyright: the Outrigger authors
License: Expat

Files: usr/lib/outrigger-companion/*
Copyright: the Electron and Chromium authors
License: Expat
Comment: LICENSE.electron.txt and LICENSES.chromium.html beside them name all that is in there.

License: Expat
${license
  .trim()
  .split('\n')
  .map((line) => (line.trim() === '' ? ' .' : ` ${line}`))
  .join('\n')}
`;
