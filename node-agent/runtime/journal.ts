import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandResult } from '../../shared/contract/nodes.ts';

/** An artefact of a finished command, as it lies in the journal. */
export interface StoredArtifact {
  name: string;
  contentType: string;
  filePath: string;
}

/** A result that the hub has not confirmed yet. */
export interface FinishedCommand {
  commandId: string;
  result: CommandResult;
  artifacts: StoredArtifact[];
}

/** A command that began and never finished: the companion died in it. */
export interface UnfinishedCommand {
  commandId: string;
  type: string;
  acts: boolean;
}

interface StartedEntry {
  type: string;
  acts: boolean;
}

const maxRemembered = 10_000;

/**
 * What the companion has begun and finished, on disk before it acts and before it reports: whatever kills it, a command that
 * acts is never carried out twice, and a finished result is not lost. One folder a command: `started.json`, then
 * `finished.json` and its artefacts; `seen.log` remembers the ids of commands that are over.
 */
export class Journal {
  readonly #folder: string;
  readonly #seen: Set<string>;
  readonly #seenFile: number;

  constructor(folder: string) {
    this.#folder = folder;
    const seenPath = join(folder, 'seen.log');
    const lines = readLines(seenPath).slice(-maxRemembered);
    this.#seen = new Set(lines);
    writeFileSync(`${seenPath}.new`, lines.map((line) => `${line}\n`).join(''), { mode: 0o600, flush: true });
    renameSync(`${seenPath}.new`, seenPath);
    this.#seenFile = openSync(seenPath, 'a', 0o600);
  }

  /** Where the artefacts of a command are written. */
  folderOf(commandId: string): string {
    return join(this.#folder, commandId);
  }

  /**
   * Enters a command before it begins, one that acts on the disk; false when it acts and was seen before, so that it must not be
   * carried out again.
   */
  begin(commandId: string, { type, acts }: StartedEntry): boolean {
    // A command that only reads may be done again, and is when its lease ran out; only one that acts is worth the disk.
    if (!acts) return true;
    if (this.#seen.has(commandId)) return false;
    this.#enter(commandId, 'started.json', { type, acts });
    writeSync(this.#seenFile, `${commandId}\n`);
    fsyncSync(this.#seenFile);
    this.#seen.add(commandId);
    return true;
  }

  /** Keeps a result until the hub has it. */
  finish(finished: FinishedCommand, { type, acts }: StartedEntry): void {
    if (!acts && finished.artifacts.length === 0) return;
    this.#enter(finished.commandId, 'finished.json', { ...finished, type, acts });
  }

  /** Forgets a command whose result the hub has. */
  confirm(commandId: string): void {
    rmSync(this.folderOf(commandId), { recursive: true, force: true });
  }

  /** What an earlier process left: results to send, and commands that nobody knows the outcome of. */
  recover(): { finished: FinishedCommand[]; unfinished: UnfinishedCommand[] } {
    const finished: FinishedCommand[] = [];
    const unfinished: UnfinishedCommand[] = [];
    for (const entry of readdirSync(this.#folder, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue;
      const done = readJson(join(this.#folder, entry.name, 'finished.json')) as FinishedCommand | null;
      const started = readJson(join(this.#folder, entry.name, 'started.json')) as StartedEntry | null;
      // Whatever else stands there is no result: sent, it would be refused for ever.
      if (done?.commandId === entry.name && typeof done.result === 'object' && Array.isArray(done.artifacts)) finished.push(done);
      else if (started?.acts === true) unfinished.push({ commandId: entry.name, ...started });
      else rmSync(join(this.#folder, entry.name), { recursive: true, force: true });
    }
    return { finished, unfinished };
  }

  close(): void {
    closeSync(this.#seenFile);
  }

  #enter(commandId: string, name: string, value: unknown): void {
    const folder = this.folderOf(commandId);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, name);
    writeFileSync(`${path}.new`, JSON.stringify(value), { mode: 0o600, flush: true });
    renameSync(`${path}.new`, path);
    syncFolder(folder);
    syncFolder(this.#folder);
  }
}

/** Makes a rename in a folder last; some systems can't and need not. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter((line) => line.length === 36);
  } catch {
    return [];
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
