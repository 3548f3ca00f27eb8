import { createHash } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataFolder } from '../data-folder.ts';

/** Where the companion of a data folder listens, as this process names it while it holds it. */
export interface ControlPath extends Disposable {
  path: string;
}

/**
 * Where the companion of a data folder listens: in the folder itself, wherever others have their folder for temporary files. A socket's path may have about 100 bytes;
 * Linux reaches one deep down through a handle of its folder.
 */
export function controlPath(folder: DataFolder): ControlPath {
  const named = (path: string): ControlPath => ({ path, [Symbol.dispose]: () => undefined });
  const digest = createHash('sha256').update(folder.path).digest('hex').slice(0, 16);
  if (process.platform === 'win32') return named(`\\\\.\\pipe\\outrigger-companion-${digest}`);
  const inside = join(folder.path, 'control.sock');
  if (Buffer.byteLength(inside) < 100) return named(inside);
  // Elsewhere that folder is the user's own.
  if (process.platform !== 'linux') return named(join(tmpdir(), `outrigger-companion-${digest}.sock`));
  const handle = openSync(folder.path, 'r');
  return { path: `/proc/self/fd/${handle}/control.sock`, [Symbol.dispose]: () => closeSync(handle) };
}
