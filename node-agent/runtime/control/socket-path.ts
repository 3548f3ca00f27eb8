import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataFolder } from '../data-folder.ts';

/** Where the companion of a data folder listens. A socket's path may have about 100 bytes; a data folder deep down gets one elsewhere, named after it. */
export function controlPath(folder: DataFolder): string {
  const digest = createHash('sha256').update(folder.path).digest('hex').slice(0, 16);
  if (process.platform === 'win32') return `\\\\.\\pipe\\outrigger-companion-${digest}`;
  const inside = join(folder.path, 'control.sock');
  return Buffer.byteLength(inside) < 100 ? inside : join(tmpdir(), `outrigger-companion-${digest}.sock`);
}
