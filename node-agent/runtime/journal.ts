import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { CommandResult } from '../../shared/contract/nodes/command-result.ts';
import { commandFacts } from './audit-line.ts';
import type { CommandFacts } from './audit-line.ts';
import { CompanionError } from './data-folder.ts';
import { syncFolder } from './file-lines.ts';

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
  /** What the result comes from, by which the owner's settings are compared with it; missing in results of earlier versions. */
  source?: {
    type: string;
    acts: boolean;
    /** What a file command was asked for. */
    path?: string;
    line: CommandFacts;
  };
}

/** A command that did not end before its companion did. */
export interface UnfinishedCommand {
  commandId: string;
  type: string;
  /** False where it waited for its owner, so that nothing was done. */
  began: boolean;
  /** When it began, or began to wait; null where an earlier version of the companion received it. */
  since: string | null;
  facts: CommandFacts;
}

interface StartedEntry {
  type: string;
  acts: boolean;
}

/** A command before it ends, with the facts that the log needs should its companion be killed. */
interface OpenEntry extends StartedEntry {
  line: CommandFacts & { time: string };
}

const maxRememberedIds = 10_000;

/**
 * What the companion has begun and finished, on disk before it acts and before it reports: whatever kills it, a command that
 * acts is never carried out twice, and a finished result is not lost. One folder a command: `received.json` while it waits for its
 * owner, `started.json` before it acts, then `finished.json` and its artefacts; `seen.log` remembers the ids of commands that are over.
 */
export class Journal {
  readonly #folder: string;
  readonly #startedIds = new Set<string>();
  #startedFile: number | undefined;
  /** Whether the last line of `seen.log` may not be whole. */
  #isTorn = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Reads what earlier processes did. Only the one owner of the folder may: `seen.log` is written anew.
   * @throws CompanionError when that can't be read or kept, for a companion that forgot it could carry a command out twice.
   */
  open(): void {
    const path = join(this.#folder, 'seen.log');
    try {
      const ids = readIds(path).slice(-maxRememberedIds);
      writeFileSync(`${path}.new`, ids.map((id) => `${id}\n`).join(''), { mode: 0o600, flush: true });
      renameSync(`${path}.new`, path);
      syncFolder(this.#folder);
      this.#startedFile = openSync(path, 'a', 0o600);
      for (const id of ids) this.#startedIds.add(id);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new CompanionError(
        `Which commands were carried out can't be read from ${path} or kept there (${code ?? message}), and without it one could be carried out twice; mend that, then start the companion again.`,
        { cause: error },
      );
    }
  }

  /** Where the artefacts of a command are written. */
  folderOf(commandId: string): string {
    return join(this.#folder, commandId);
  }

  /** Enters a command that acts and waits for its owner, so that a companion that dies meanwhile knows that nothing was done. */
  receive(commandId: string, { type, acts, line }: OpenEntry): void {
    if (acts && !this.#startedIds.has(commandId)) this.#write(commandId, 'received.json', { type, acts, line });
  }

  /** Whether a command that acts began before, so that it must not begin again. */
  hasStarted(commandId: string): boolean {
    return this.#startedIds.has(commandId);
  }

  /**
   * Enters a command before it begins, one that acts on the disk; false when it acts and was seen before, so that it must not be
   * carried out again.
   */
  begin(commandId: string, { type, acts, line }: OpenEntry): boolean {
    // A command that only reads may be done again, and is when its lease ran out; only one that acts is worth the disk.
    if (!acts) return true;
    if (this.#startedIds.has(commandId)) return false;
    this.#write(commandId, 'started.json', { type, acts, line });
    this.#remember(commandId);
    return true;
  }

  /** Keeps a result until the hub has it. */
  finish(finished: FinishedCommand, { type, acts }: StartedEntry): void {
    if (!acts && finished.artifacts.length === 0) return;
    this.#write(finished.commandId, 'finished.json', { ...finished, type, acts });
  }

  /** Replaces a result that is not to be sent any more by one without artefacts. */
  withhold(finished: FinishedCommand): void {
    const { source } = finished;
    // A command that only reads may be done again.
    if (source?.acts === true) this.finish(finished, source);
    else this.confirm(finished.commandId);
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
      const started = readJson(join(this.#folder, entry.name, 'started.json')) as Partial<OpenEntry> | null;
      const received = readJson(join(this.#folder, entry.name, 'received.json')) as Partial<OpenEntry> | null;
      // Whatever else stands there is no result: sent, it would be refused for ever.
      if (done?.commandId === entry.name && typeof done.result === 'object' && Array.isArray(done.artifacts))
        finished.push(done);
      else if (started?.acts === true) unfinished.push(unfinishedOf(entry.name, started, true));
      else if (received?.acts === true) unfinished.push(unfinishedOf(entry.name, received, false));
      else rmSync(join(this.#folder, entry.name), { recursive: true, force: true });
    }
    return { finished, unfinished };
  }

  close(): void {
    if (this.#startedFile !== undefined) closeSync(this.#startedFile);
    this.#startedFile = undefined;
  }

  #remember(commandId: string): void {
    if (this.#startedFile === undefined) throw new Error('the journal is not open');
    const line = Buffer.from(`${this.#isTorn ? '\n' : ''}${commandId}\n`);
    this.#isTorn = true;
    // On a disk that is all but full one write takes a part of it, and says so by no error.
    for (let done = 0; done < line.length;) done += writeSync(this.#startedFile, line, done);
    fsyncSync(this.#startedFile);
    this.#isTorn = false;
    this.#startedIds.add(commandId);
  }

  #write(commandId: string, name: string, value: unknown): void {
    const folder = this.folderOf(commandId);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, name);
    writeFileSync(`${path}.new`, JSON.stringify(value), { mode: 0o600, flush: true });
    renameSync(`${path}.new`, path);
    syncFolder(folder);
    syncFolder(this.#folder);
  }
}

/** Ids at any place of a line: one that was torn may stand right before the next. */
const idPattern = /(?=([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))/gi;

function readIds(path: string): string[] {
  try {
    return [...readFileSync(path, 'utf8').matchAll(idPattern)].map(([, id]) => id as string);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function unfinishedOf(commandId: string, { type, line }: Partial<OpenEntry>, began: boolean): UnfinishedCommand {
  const since = z.iso.datetime().safeParse(line?.time).data ?? null;
  const facts = commandFacts.safeParse(line).data ?? { summary: '', approvedBy: null };
  return { commandId, type: String(type), began, since, facts };
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
