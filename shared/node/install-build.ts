import { randomUUID } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Lists the entry files of each page of the hub. */
export const manifest = 'assets.json';
/** Which files of the folder `assets` belong to which build. */
const generationsFile = 'generations.json';
const partialEnding = '.partial';

/** Another process may still write a partial file that is younger than this, in milliseconds. */
const partialAgeMs = 10 * 60_000;

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

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((name) => typeof name === 'string');

function parseGenerations(file: string): Generations | null {
  try {
    const { current, previous } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Record<string, unknown>>;
    return isNames(current) && isNames(previous) ? { current, previous } : null;
  } catch {
    return null;
  }
}

function readGenerations(target: string): Generations {
  if (!existsSync(join(target, manifest))) return { current: [], previous: [] };
  // Without a record, or with a damaged one, all files count as the present build, and the next build replaces them.
  return (
    parseGenerations(join(target, generationsFile)) ?? {
      current: filesIn(join(target, 'assets')).filter((name) => !name.endsWith(partialEnding)),
      previous: [],
    }
  );
}

const isSame = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((name) => other.includes(name));

/** Whether the name of a file contains a hash of its content, so that a file with this name is the same file. */
const hasHash = (name: string) => /-[\w-]{8}\.(?:js|css)(?:\.gz|\.br)?$/.test(name);
/** A crash can leave a file with fewer bytes. */
const isInstalled = (built: string, installed: string) =>
  hasHash(built) && statSync(installed, { throwIfNoEntry: false })?.size === statSync(built).size;

const isYoung = (path: string) => Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < partialAgeMs;

/**
 * Installs a build of the pages: replaces the files of the target folder, each atomically and `assets.json` last, because
 * a running hub may read them. The scripts and styles of one build before stay, so that tabs that were opened before an
 * upgrade can load the rest of their pages. Older ones are deleted. To install the same build again changes nothing.
 * @param isWanted selects files of the build.
 * @returns the names of the files of the build before, in the folder `assets`.
 */
export function installBuild(
  build: string,
  target: string,
  isWanted: (name: string) => boolean = () => true,
): readonly string[] {
  const earlier = readGenerations(target);
  const current = filesIn(join(build, 'assets')).filter((name) => isWanted(join('assets', name)));
  const there = new Set(existsSync(join(target, 'assets')) ? filesIn(join(target, 'assets')) : []);
  const previous = (isSame(earlier.current, current) ? earlier.previous : earlier.current).filter((name) =>
    there.has(name),
  );
  const built = filesIn(build).filter((name) => isWanted(name) && name !== generationsFile);
  const put = (name: string, write: (path: string) => void) => {
    const path = join(target, name);
    const partial = `${path}.${randomUUID()}${partialEnding}`;
    mkdirSync(dirname(path), { recursive: true });
    try {
      write(partial);
      renameSync(partial, path);
    } catch (error) {
      rmSync(partial, { force: true });
      throw error;
    }
  };
  for (const name of built.toSorted((left, right) => Number(left === manifest) - Number(right === manifest)))
    if (!isInstalled(join(build, name), join(target, name))) put(name, (path) => copyFileSync(join(build, name), path));
  const generations: Generations = { current, previous };
  put(generationsFile, (path) => writeFileSync(path, `${JSON.stringify(generations)}\n`));
  const kept = new Set([...built, ...previous.map((name) => join('assets', name)), generationsFile]);
  for (const name of filesIn(target)) {
    const isWritten = name.endsWith(partialEnding) && isYoung(join(target, name));
    if (!kept.has(name) && !isWritten) rmSync(join(target, name), { force: true });
  }
  return previous;
}
