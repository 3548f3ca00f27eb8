import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from './commands/handler.ts';
import type { ResultArtifact } from './commands/handler.ts';
import type { StoredArtifact } from './journal.ts';
import { copyToOwnFile, createOwnFile, sizeOfOwnFile } from './own-file.ts';

const maxArtifactBytes = 256 * 1024 * 1024;

/** Writes a command's artifacts to a folder, from which they are uploaded. @throws CommandError `too_large` */
export function storeArtifacts(folder: string, artifacts: readonly ResultArtifact[]): StoredArtifact[] {
  if (artifacts.length === 0) return [];
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return artifacts.map(({ name, contentType, content }) => {
    const filePath = join(folder, `artifact-${name}`);
    if (Buffer.isBuffer(content)) createOwnFile(filePath, content);
    else copyToOwnFile(content.filePath, filePath);
    if (sizeOfOwnFile(filePath) > maxArtifactBytes)
      throw new CommandError('too_large', `${name} has more than ${maxArtifactBytes} bytes.`);
    return { name, contentType, filePath };
  });
}
