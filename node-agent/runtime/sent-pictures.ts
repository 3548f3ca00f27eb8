import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { join, parse } from 'node:path';
import { z } from 'zod';
import type { StoredArtifact } from './journal.ts';
import { copyToOwnFile, readOwnFile, sizeOfOwnFile } from './own-file.ts';

const extensions: Record<string, string> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' };
const maxPictureBytes = 20 * 1024 * 1024;
const maxAllBytes = 200 * 1024 * 1024;
const maxAgeMs = 24 * 60 * 60 * 1000;
const sweepEveryMs = 60 * 60 * 1000;
/** Suffix of a file while it is copied. */
const partial = '.partial';

const isCommandId = (text: string) => z.uuid().safeParse(text).success;

interface StoredPicture {
  path: string;
  contentType: string;
  bytes: number;
  storedAt: number;
}

/** Stores sent pictures for the owner to view. A failure does not affect the command. */
export interface PictureKeeper {
  keep(commandId: string, artifacts: readonly StoredArtifact[]): void;
}

/**
 * The pictures that commands sent to the hub, kept for a day for the owner of this machine: one for each command, at
 * most 200 MB in total. Only the owner can read them. A picture that cannot be stored is left out without an error.
 */
export class SentPictures implements Disposable {
  readonly #folder: string;
  readonly #now: () => number;
  readonly #sweeper: NodeJS.Timeout;
  /** By the ID of their command, oldest first. */
  readonly #pictures = new Map<string, StoredPicture>();
  #totalBytes = 0;

  /** Loads the pictures of earlier processes, and removes old ones now and every hour until disposed. */
  constructor(folder: string, now: () => number = Date.now) {
    this.#folder = folder;
    this.#now = now;
    this.#recover();
    this.sweep();
    this.#sweeper = setInterval(() => this.sweep(), sweepEveryMs);
    this.#sweeper.unref();
  }

  /** Keeps the first picture of a command. */
  keep(commandId: string, artifacts: readonly StoredArtifact[]): void {
    const picture = artifacts.find(({ contentType }) => Object.hasOwn(extensions, contentType));
    // The ID is part of a path.
    if (picture === undefined || !isCommandId(commandId)) return;
    const { contentType, filePath } = picture;
    const path = join(this.#folder, `${commandId}.${extensions[contentType]}`);
    try {
      const bytes = sizeOfOwnFile(filePath);
      if (bytes > maxPictureBytes) return;
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      copyToOwnFile(filePath, path + partial);
      this.#forget(commandId);
      renameSync(path + partial, path);
      this.#remember(commandId, { path, contentType, bytes, storedAt: this.#now() });
      this.sweep();
    } catch {
      // On a full disk the picture is lost, but the command does not fail.
      remove(path + partial);
    }
  }

  has(commandId: string): boolean {
    const picture = this.#pictures.get(commandId);
    return picture !== undefined && !this.#isOld(picture);
  }

  /** The picture that a command sent, or null when none is stored. */
  async read(commandId: string): Promise<{ contentType: string; bytes: Buffer } | null> {
    const picture = this.#pictures.get(commandId);
    if (picture === undefined || this.#isOld(picture)) return null;
    try {
      return { contentType: picture.contentType, bytes: readOwnFile(picture.path) };
    } catch {
      return null;
    }
  }

  /** Removes pictures that are older than a day, and the oldest ones beyond the size limit. */
  sweep(): void {
    for (const [commandId, picture] of this.#pictures) {
      if (!this.#isOld(picture) && this.#totalBytes <= maxAllBytes) return;
      this.#forget(commandId);
    }
  }

  /** Removes every picture, when the owner switches keeping off. */
  clear(): void {
    for (const commandId of this.#pictures.keys()) this.#forget(commandId);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweeper);
  }

  #isOld({ storedAt }: StoredPicture): boolean {
    return this.#now() - storedAt > maxAgeMs;
  }

  #remember(commandId: string, picture: StoredPicture): void {
    this.#pictures.set(commandId, picture);
    this.#totalBytes += picture.bytes;
  }

  #forget(commandId: string): void {
    const picture = this.#pictures.get(commandId);
    if (picture === undefined) return;
    remove(picture.path);
    this.#pictures.delete(commandId);
    this.#totalBytes -= picture.bytes;
  }

  #recover(): void {
    const found: { commandId: string; picture: StoredPicture }[] = [];
    for (const name of namesIn(this.#folder)) {
      const path = join(this.#folder, name);
      const { name: commandId, ext } = parse(name);
      const [contentType] = Object.entries(extensions).find(([, extension]) => ext === `.${extension}`) ?? [];
      const file = statOf(path);
      if (ext === partial) remove(path);
      else if (contentType !== undefined && file?.isFile() === true && isCommandId(commandId))
        found.push({ commandId, picture: { path, contentType, bytes: file.size, storedAt: file.mtimeMs } });
    }
    for (const { commandId, picture } of found.toSorted(
      (left, right) => left.picture.storedAt - right.picture.storedAt,
    ))
      this.#remember(commandId, picture);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // A folder that cannot be written gets no new pictures either.
  }
}
