import { randomUUID } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Lists the entry files of each page of the hub. */
export const manifest = 'assets.json';
/** Which files of the folder `assets` belong to which build. */
const generationsFile = 'generations.json';

interface Generations {
  current: string[];
  /** The files of the build before. */
  previous: string[];
}

/** Paths of all files of a folder, relative to it. */
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));

function readGenerations(target: string): Generations | null {
  const file = join(target, generationsFile);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Generations;
  // A build from before the file was introduced.
  return existsSync(join(target, manifest)) ? { current: filesIn(join(target, 'assets')), previous: [] } : null;
}

const isSame = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((name) => other.includes(name));

/** Whether the name of a file contains a hash of its content, so that a file with this name is the same file. */
const hasHash = (name: string) => /-[\w-]{8}\.(?:js|css)(?:\.gz|\.br)?$/.test(name);

/**
 * Installs a build of the pages: replaces the files of the target folder, each atomically and `assets.json` last, because
 * a running hub may read them. The scripts and styles of one build before stay, so that tabs that were opened before an
 * upgrade can load the rest of their pages. Older ones are deleted. To install the same build again changes nothing.
 * @param isWanted selects files of the build.
 */
export function installBuild(build: string, target: string, isWanted: (name: string) => boolean = () => true): void {
  const earlier = readGenerations(target);
  const current = filesIn(join(build, 'assets')).filter((name) => isWanted(join('assets', name)));
  const previous = earlier === null ? [] : isSame(earlier.current, current) ? earlier.previous : earlier.current;
  const built = filesIn(build).filter((name) => isWanted(name) && name !== generationsFile);
  const put = (name: string, write: (path: string) => void) => {
    const path = join(target, name);
    const partial = `${path}.${randomUUID()}`;
    mkdirSync(dirname(path), { recursive: true });
    write(partial);
    renameSync(partial, path);
  };
  for (const name of built.toSorted((left, right) => Number(left === manifest) - Number(right === manifest)))
    if (!hasHash(name) || !existsSync(join(target, name))) put(name, (path) => copyFileSync(join(build, name), path));
  const generations: Generations = { current, previous };
  put(generationsFile, (path) => writeFileSync(path, `${JSON.stringify(generations)}\n`));
  const kept = new Set([...built, ...previous.map((name) => join('assets', name)), generationsFile]);
  for (const name of filesIn(target)) if (!kept.has(name)) rmSync(join(target, name), { force: true });
}
