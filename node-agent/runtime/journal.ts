import { closeSync, fsyncSync, mkdirSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { CommandResult } from '../../shared/contract/nodes/command-result.ts';
import { commandFacts } from './audit-line.ts';
import type { CommandFacts } from './audit-line.ts';
import type { OpenedPath } from './commands/files.ts';
import { CompanionError } from './data-folder.ts';
import { syncFolder } from './file-lines.ts';
import { createOwnFile, openOwnFile, readOwnFile } from './own-file.ts';

/** An artifact of a finished command, stored in the journal. */
export interface StoredArtifact {
  name: string;
  contentType: string;
  filePath: string;
}

/** A finished command whose result the hub has not confirmed. */
export interface FinishedCommand {
  commandId: string;
  result: CommandResult;
  artifacts: StoredArtifact[];
  /** The command, for comparing the result with the owner's settings. Absent in results of earlier versions. */
  source?: {
    type: string;
    acts: boolean;
    /** The file or folder that a file command opened. */
    file?: OpenedPath;
    line: CommandFacts;
  };
}

/** A command that had not ended when its companion ended. */
export interface UnfinishedCommand {
  commandId: string;
  type: string;
  /** False when the command waited for the owner's answer, so that nothing was done. */
  began: boolean;
  /** When the command started, or started to wait. Null in entries of earlier versions. */
  since: string | null;
  facts: CommandFacts;
}

interface StartedEntry {
  type: string;
  acts: boolean;
}

/** A command before its end, with the facts that the log needs if the companion is killed. */
interface OpenEntry extends StartedEntry {
  line: CommandFacts & { time: string };
}

const maxRememberedIds = 10_000;

/**
 * Records started and finished commands on the disk before the companion acts and before it sends a result. So a
 * command that acts never runs twice and a finished result is not lost, also when the companion is killed. Each command
 * has a folder: `received.json` while it waits for the owner's answer, `started.json` before it acts, then
 * `finished.json` and its artifacts. `seen.log` keeps the IDs of started commands.
 */
export class Journal {
  readonly #folder: string;
  readonly #startedIds = new Set<string>();
  #startedFile: number | undefined;
  /** Whether the last line of `seen.log` may be incomplete. */
  #isTorn = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Reads the IDs that earlier processes recorded, and rewrites `seen.log`. Only the process that has the folder may
   * call it.
   * @throws CompanionError when the file cannot be read or written: without the IDs a command could run twice.
   */
  open(): void {
    const path = join(this.#folder, 'seen.log');
    try {
      const ids = readIds(path).slice(-maxRememberedIds);
      createOwnFile(`${path}.new`, ids.map((id) => `${id}\n`).join(''));
      renameSync(`${path}.new`, path);
      syncFolder(this.#folder);
      this.#startedFile = openOwnFile(path, 'append');
      for (const id of ids) this.#startedIds.add(id);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new CompanionError(
        `The list of started commands can't be read from ${path} or stored there (${code ?? message}), and without it a command could run twice; fix that, then start the companion again.`,
        { cause: error },
      );
    }
  }

  /** The folder of a command's entries and artifacts. */
  folderOf(commandId: string): string {
    return join(this.#folder, commandId);
  }

  /**
   * Records a command that acts and waits for the owner's answer, so that a later process knows that nothing was done.
   */
  receive(commandId: string, { type, acts, line }: OpenEntry): void {
    if (acts && !this.#startedIds.has(commandId)) this.#write(commandId, 'received.json', { type, acts, line });
  }

  /** The newest commands that acted. */
  get startedIds(): ReadonlySet<string> {
    return this.#startedIds;
  }

  /** Whether a command that acts was started before, so that it must not start again. */
  hasStarted(commandId: string): boolean {
    return this.#startedIds.has(commandId);
  }

  /**
   * Records a command before it starts. Returns false when it acts and was started before, so that it must not start
   * again.
   */
  begin(commandId: string, { type, acts, line }: OpenEntry): boolean {
    // A command that only reads may run again after its lease expired, so it is not recorded.
    if (!acts) return true;
    if (this.#startedIds.has(commandId)) return false;
    this.#write(commandId, 'started.json', { type, acts, line });
    this.#remember(commandId);
    return true;
  }

  /** Stores a result until the hub confirms it. */
  finish(finished: FinishedCommand, { type, acts }: StartedEntry): void {
    if (!acts && finished.artifacts.length === 0) return;
    this.#write(finished.commandId, 'finished.json', { ...finished, type, acts });
  }

  /**
   * Replaces a result that must not be sent by one without artifacts.
   * @returns whether the replacement is on the disk. The artifacts are removed in any case, which can free space for
   * the next attempt.
   */
  withhold(finished: FinishedCommand, replacement: FinishedCommand): boolean {
    const { source } = replacement;
    // A command that only reads may run again.
    if (source?.acts !== true) return succeeds(() => this.confirm(finished.commandId));
    const write = () => succeeds(() => this.finish(replacement, source));
    // The replacement comes first. Otherwise a crash could leave a successful result without its artifacts.
    const isWritten = write();
    for (const { filePath } of finished.artifacts) succeeds(() => rmSync(filePath, { force: true }));
    // On a full disk, the removal can free the space for the replacement.
    return isWritten || write();
  }

  /** Removes a command whose result the hub confirmed. */
  confirm(commandId: string): void {
    rmSync(this.folderOf(commandId), { recursive: true, force: true });
  }

  /** Returns what an earlier process left: results to send, and commands that did not finish. */
  recover(): { finished: FinishedCommand[]; unfinished: UnfinishedCommand[] } {
    const finished: FinishedCommand[] = [];
    const unfinished: UnfinishedCommand[] = [];
    for (const entry of readdirSync(this.#folder, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue;
      const done = readJson(join(this.#folder, entry.name, 'finished.json')) as FinishedCommand | null;
      const started = readJson(join(this.#folder, entry.name, 'started.json')) as Partial<OpenEntry> | null;
      const received = readJson(join(this.#folder, entry.name, 'received.json')) as Partial<OpenEntry> | null;
      // Other content is no result. The hub would refuse it each time.
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
    // On a nearly full disk, a write may store a part of the bytes without an error.
    for (let done = 0; done < line.length;) done += writeSync(this.#startedFile, line, done);
    fsyncSync(this.#startedFile);
    this.#isTorn = false;
    this.#startedIds.add(commandId);
  }

  #write(commandId: string, name: string, value: unknown): void {
    const folder = this.folderOf(commandId);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, name);
    createOwnFile(`${path}.new`, JSON.stringify(value));
    renameSync(`${path}.new`, path);
    syncFolder(folder);
    syncFolder(this.#folder);
  }
}

function succeeds(action: () => void): boolean {
  try {
    action();
    return true;
  } catch {
    return false;
  }
}

/** Matches IDs anywhere in a line: an incomplete ID may directly precede the next one. */
const idPattern = /(?=([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))/gi;

function readIds(path: string): string[] {
  try {
    return [...readOwnFile(path).toString().matchAll(idPattern)].map(([, id]) => id as string);
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
    return JSON.parse(readOwnFile(path).toString());
  } catch {
    return null;
  }
}
