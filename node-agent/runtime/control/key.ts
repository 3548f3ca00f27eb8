import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { linkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CompanionError } from '../data-folder.ts';
import type { DataFolder } from '../data-folder.ts';
import { createOwnFile, readOwnFile } from '../own-file.ts';
import type { Agreement } from './sealed-lines.ts';

/** A random value that is used once, in hex. */
export const newNonce = (): string => randomBytes(32).toString('hex');

/**
 * The key that both ends of a control channel prove to have: only the owner can read the data folder. It is needed
 * where the socket's permissions do not suffice, such as for a named pipe or a socket in the folder for temporary
 * files.
 */
export function controlKey(folder: DataFolder): Buffer {
  const path = join(folder.path, 'control.key');
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const known = readKey(path);
    if (known !== null) return known;
    const own = `${path}.${randomBytes(4).toString('hex')}`;
    try {
      createOwnFile(own, randomBytes(32).toString('hex'));
      // If two processes create a key at the same time, the first one is used.
      linkSync(own, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
        throw new CompanionError(
          `${path} can't be written (${(error as NodeJS.ErrnoException).code ?? 'error'}); fix the permissions of the data folder.`,
          { cause: error },
        );
    } finally {
      rmSync(own, { force: true });
    }
  }
  throw new CompanionError(`${path} is broken; remove it, and start the companion again.`);
}

function readKey(path: string): Buffer | null {
  try {
    const key = Buffer.from(readOwnFile(path).toString(), 'hex');
    return key.length === 32 ? key : null;
  } catch {
    return null;
  }
}

/** Proves that one end has the control key and takes part in this agreement, in hex. */
export function proofOf(side: 'client' | 'server', agreement: Agreement): string {
  const { controlKey: key, serverNonce, clientNonce, serverKey, clientKey } = agreement;
  return createHmac('sha256', key)
    .update(`${side}:${serverNonce}:${clientNonce}:${serverKey}:${clientKey}`)
    .digest('hex');
}

export function isProof(given: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)];
  return left.length === right.length && timingSafeEqual(left, right);
}
