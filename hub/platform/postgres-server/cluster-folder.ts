import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { AppError } from '../../../shared/errors.ts';
import { canReach } from './binaries.ts';
import type { PostgresPrograms } from './binaries.ts';
import { initdbFailureReason } from './failure-reason.ts';

/** The superuser that initdb creates. The hub itself never signs in with this role. */
export const superuser = 'outrigger';

const rootBase = '/var/lib/outrigger';
const initdbTimeoutMs = 60_000;

/**
 * The folder of the cluster: in the data folder, or under /var/lib when the database account cannot reach the data
 * folder.
 */
export function clusterBase(home: string, { owner }: PostgresPrograms): string {
  const inside = join(home, 'postgres');
  if (owner === null) {
    mkdirSync(inside, { recursive: true, mode: 0o700 });
    return inside;
  }
  const isUnreachable = !canReach(join(home, '..'), owner);
  const base = isUnreachable ? join(rootBase, createHash('sha256').update(home).digest('hex').slice(0, 16)) : inside;
  mkdirSync(base, { recursive: true, mode: 0o755 });
  chownSync(base, owner.uid, owner.gid);
  chmodSync(base, 0o700);
  if (isUnreachable) writeFileSync(join(home, 'postgres.location'), `${base}\n`);
  // The database account only needs to traverse the data folder.
  else chmodSync(home, 0o711);
  return base;
}

/** Creates the cluster, completely or not at all. @throws AppError with a one-line message. */
export async function initialiseCluster(
  programs: PostgresPrograms,
  base: string,
  data: string,
  password: string,
): Promise<void> {
  for (const name of readdirSync(base))
    if (name.startsWith('data.new-')) rmSync(join(base, name), { recursive: true, force: true });
  const temporary = join(base, `data.new-${process.pid}`);
  const passwordFile = join(base, `password-${process.pid}`);
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (programs.owner !== null) chownSync(passwordFile, programs.owner.uid, programs.owner.gid);
  try {
    await promisify(execFile)(
      programs.initdb,
      [
        '-D',
        temporary,
        '-U',
        superuser,
        '--auth=scram-sha-256',
        `--pwfile=${passwordFile}`,
        '--encoding=UTF8',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--locale=C',
      ],
      {
        cwd: '/',
        env: { LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin' },
        timeout: initdbTimeoutMs,
        ...(programs.owner === null ? {} : programs.owner),
      },
    );
    renameSync(temporary, data);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    const reason = initdbFailureReason(error, initdbTimeoutMs / 1000);
    throw new AppError('unavailable', `The database could not be created: ${reason}`, { cause: error });
  } finally {
    rmSync(passwordFile, { force: true });
  }
}
