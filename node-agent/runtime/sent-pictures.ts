import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoredArtifact } from './journal.ts';

const endings: Record<string, string> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' };

/** Pictures that were sent. */
export class SentPictures implements Disposable {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  keep(commandId: string, artifacts: readonly StoredArtifact[]): void {
    const found = artifacts.find(({ contentType }) => endings[contentType] !== undefined);
    if (found !== undefined)
      copyFileSync(found.filePath, join(this.#folder, `${commandId}.${endings[found.contentType]}`));
  }

  has(commandId: string): boolean {
    return Object.values(endings).some((ending) => existsSync(join(this.#folder, `${commandId}.${ending}`)));
  }

  async read(commandId: string): Promise<{ contentType: string; bytes: Buffer } | null> {
    for (const [contentType, ending] of Object.entries(endings)) {
      const path = join(this.#folder, `${commandId}.${ending}`);
      if (existsSync(path)) return { contentType, bytes: await readFile(path) };
    }
    return null;
  }

  [Symbol.dispose](): void {}
}
