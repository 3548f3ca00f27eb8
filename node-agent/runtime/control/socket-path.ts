import { createHash } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataFolder } from '../data-folder.ts';

/** The path at which this process can reach the control socket, valid until disposed. */
export interface ControlPath extends Disposable {
  path: string;
}

/**
 * The path of the control socket, in the data folder itself if possible. A socket's path may have about 100 bytes; on
 * Linux a longer path is reached through an open handle of its folder.
 */
export function controlPath(folder: DataFolder): ControlPath {
  const named = (path: string): ControlPath => ({ path, [Symbol.dispose]: () => undefined });
  const digest = createHash('sha256').update(folder.path).digest('hex').slice(0, 16);
  if (process.platform === 'win32') return named(`\\\\.\\pipe\\outrigger-companion-${digest}`);
  const inside = join(folder.path, 'control.sock');
  if (Buffer.byteLength(inside) < 100) return named(inside);
  // On other systems the folder for temporary files belongs to the user.
  if (process.platform !== 'linux') return named(join(tmpdir(), `outrigger-companion-${digest}.sock`));
  const handle = openSync(folder.path, 'r');
  return { path: `/proc/self/fd/${handle}/control.sock`, [Symbol.dispose]: () => closeSync(handle) };
}
