import { chmodSync, rmSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import type { z } from 'zod';
import {
  controlMethods,
  controlProof,
  controlRequest,
  onlyDenies,
  ownerChange,
} from '../../../shared/companion/control.ts';
import type {
  ControlError,
  ControlEvent,
  ControlMethodName,
  ControlMethods,
  ControlResult,
} from '../../../shared/companion/control.ts';
import { describeIssue } from '../../../shared/issue-messages.ts';
import { CompanionError } from '../data-folder.ts';
import type { DataFolder } from '../data-folder.ts';
import { FolderClaim } from '../folder-claim.ts';
import { lockFile } from '../lock-file.ts';
import { ControlClient, ControlRefusal } from './client.ts';
import { controlKey, isProof, newNonce, proofOf } from './key.ts';
import { readLines } from './lines.ts';
import { machineTime } from './machine-time.ts';
import { processKeys, showFingerprint, standingOf } from './peer.ts';
import type { Standing } from './peer.ts';
import { sealedLines } from './sealed-lines.ts';
import type { SealedLines } from './sealed-lines.ts';
import { controlPath } from './socket-path.ts';
import type { ControlPath } from './socket-path.ts';

const maxConnections = 64;
const helloDeadlineMs = 3_000;
const maxRequestLength = 6 * 1024 * 1024;
/** A client that reads so slowly that more than this waits for it is cut off, in bytes. */
const maxBehind = 64 * 1024 * 1024;
const maxUnderWay = 32;
/** How often the server checks that the socket's file is still its own, in milliseconds. */
const socketCheckMs = 5_000;

/** What answers: a function for each method, left out only as a type error. */
export type ControlHandlers = {
  [Name in ControlMethodName]: (
    params: z.output<ControlMethods[Name]['params']>,
    connection: ControlConnection,
  ) => Promise<ControlResult<Name>>;
};

interface ServerEvents {
  /** Whether a program of a workflow runs now. While it does, and the system does not show who connects, no setting can be loosened. */
  runsProgram?: () => boolean;
  /** Called after the server replaced a socket that another program moved or removed. */
  onReplaced?: () => void;
  /** Called when another companion works on the data folder, so that this one must end. */
  onTaken?: (error: CompanionError) => void;
}

/** One program of the owner's that is connected. */
export interface ControlConnection {
  /** Aborts when the program is gone. */
  readonly signal: AbortSignal;
  tell(event: ControlEvent): void;
}

/**
 * Listens for the owner's programs; as long as it does, its process is the one owner of the data folder.
 */
export class ControlServer implements AsyncDisposable {
  #server: Server;
  /** Number of the socket's file; another number means that another program replaced the file. */
  #inode: bigint | undefined;
  #watching: NodeJS.Timeout | undefined;
  #isMending = false;
  readonly #folder: DataFolder;
  readonly #key: Buffer;
  readonly #handlers: ControlHandlers;
  readonly #sockets = new Set<Socket>();
  readonly #at: ControlPath;
  readonly #runsProgram: () => boolean;
  readonly #onReplaced: () => void;
  readonly #onTaken: (error: CompanionError) => void;
  readonly #claim: FolderClaim;

  private constructor(folder: DataFolder, handlers: ControlHandlers, at: ControlPath, events: ServerEvents) {
    const { runsProgram = () => false, onReplaced = () => undefined, onTaken = () => undefined } = events;
    this.#onReplaced = onReplaced;
    this.#onTaken = onTaken;
    this.#claim = new FolderClaim(folder.path);
    this.#folder = folder;
    this.#at = at;
    this.#runsProgram = runsProgram;
    this.#key = controlKey(folder);
    this.#handlers = handlers;
    this.#server = this.#newServer();
  }

  #newServer(): Server {
    const server = createServer((socket) => this.#welcome(socket));
    server.maxConnections = maxConnections;
    return server;
  }

  /**
   * The kernel takes the socket away with the process, however it ends.
   * @throws CompanionError when another process has the data folder.
   */
  static async listen(
    folder: DataFolder,
    handlers: ControlHandlers,
    events: ServerEvents = {},
  ): Promise<ControlServer> {
    const at = controlPath(folder);
    try {
      const control = await ControlServer.#take(folder, handlers, at, events);
      if (control === null) throw new CompanionError(await describeOwner(folder));
      return control;
    } catch (error) {
      at[Symbol.dispose]();
      throw error;
    }
  }

  /** Null when another companion has the folder. */
  static async #take(
    folder: DataFolder,
    handlers: ControlHandlers,
    at: ControlPath,
    events: ServerEvents,
  ): Promise<ControlServer | null> {
    // Of two that find the socket of a dead one, only one takes it away.
    using lock = await lockControl(folder).catch((error: unknown) => {
      throw new CompanionError(
        `The data folder ${folder.path} can't be written: ${(error as Error).message}. Make room on its disk, or mend its permissions; nothing runs until then.`,
        { cause: error },
      );
    });
    if (lock === null)
      throw new CompanionError(
        `The data folder ${folder.path} is being taken by another process; try again, and if it stays so, remove ${join(folder.path, 'control.lock')}.`,
      );
    if (new FolderClaim(folder.path).holder !== null) return null;
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const control = new ControlServer(folder, handlers, at, events);
      if (await listens(control.#server, at.path)) {
        try {
          control.#claim.write();
          control.#own();
          return control;
        } catch (error) {
          control.#server.close();
          throw error;
        }
      }
      if (await isListenedTo(at.path)) return null;
      // Nobody listens there: its process is gone.
      rmSync(at.path, { force: true });
    }
    throw new CompanionError(`The data folder ${folder.path} can't be taken; look at ${at.path}.`);
  }

  get #isWatching(): boolean {
    return this.#watching !== undefined;
  }

  /** Keeps the socket's file, which this process created just now. */
  #own(): void {
    if (process.platform === 'win32') return;
    chmodSync(this.#at.path, 0o600);
    this.#inode = inodeOf(this.#at.path);
    this.#watching ??= setInterval(() => void this.#keepSocket().catch(() => undefined), socketCheckMs).unref();
  }

  /** Listens anew when another program moved, removed or replaced the socket's file. Open connections stay open. Reports another companion of the folder. */
  async #keepSocket(): Promise<void> {
    const { path } = this.#at;
    if (this.#isMending || (inodeOf(path) === this.#inode && this.#claim.isOwn)) return;
    this.#isMending = true;
    try {
      // A companion that starts finds this process in the folder, or this process finds that companion.
      using lock = await lockControl(this.#folder);
      if (lock === null) return;
      const other = this.#otherHolder() ?? (await otherCompanion(this.#folder));
      if (!this.#isWatching) return;
      if (other !== null) {
        this.#onTaken(
          new CompanionError(
            `Another companion (process ${other}) took over the data folder ${this.#folder.path}, so this one stops: another program removed control.sock and companion.pid.`,
          ),
        );
        return;
      }
      this.#renewClaim();
      if (inodeOf(path) === this.#inode) return;
      // Closing also removes whatever has the path now.
      this.#server.close();
      rmSync(path, { force: true });
      const server = this.#newServer();
      if (!(await listens(server, path))) return;
      if (!this.#isWatching) {
        server.close();
        return;
      }
      this.#server = server;
      this.#own();
      this.#onReplaced();
    } finally {
      this.#isMending = false;
    }
  }

  /** The other process that the claim names; null also when nobody can read the claim. */
  #otherHolder(): number | null {
    try {
      return this.#claim.isOwn ? null : this.#claim.holder;
    } catch {
      return null;
    }
  }

  /** A claim that cannot be written, as on a full disk, is tried again at the next check. The socket alone keeps the folder until then. */
  #renewClaim(): void {
    try {
      this.#claim.write();
    } catch {
      // See above.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#watching);
    this.#watching = undefined;
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    this.#claim[Symbol.dispose]();
    this.#at[Symbol.dispose]();
  }

  #welcome(socket: Socket): void {
    this.#sockets.add(socket);
    const name = showFingerprint();
    const gone = new AbortController();
    const timer = setTimeout(() => socket.destroy(), helloDeadlineMs);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(timer);
      name[Symbol.dispose]();
      this.#sockets.delete(socket);
      gone.abort(new Error('the client is gone'));
    });
    const nonce = newNonce();
    const { publicKey } = processKeys();
    let standing: Standing = 'program';
    let lines: SealedLines | undefined;
    const say = (value: unknown) => {
      if (socket.destroyed) return;
      if (socket.writableLength > maxBehind) socket.destroy();
      else socket.write(`${JSON.stringify(lines === undefined ? value : lines.seal(value))}\n`);
    };
    const connection: ControlConnection = { signal: gone.signal, tell: say };
    let underWay = 0;
    readLines(socket, maxRequestLength, (value) => {
      if (lines === undefined) {
        const given = controlProof.safeParse(value);
        if (!given.success) {
          socket.destroy();
          return;
        }
        const agreement = {
          controlKey: this.#key,
          serverNonce: nonce,
          clientNonce: given.data.nonce,
          serverKey: publicKey,
          clientKey: given.data.publicKey,
        };
        if (!isProof(given.data.proof, proofOf('client', agreement))) {
          socket.destroy();
          return;
        }
        standing = standingOf(given.data);
        clearTimeout(timer);
        name[Symbol.dispose]();
        try {
          const sealed = sealedLines('server', agreement);
          say({ proof: proofOf('server', agreement) });
          lines = sealed;
        } catch {
          // A key that agrees on nothing.
          socket.destroy();
        }
        return;
      }
      let opened: unknown;
      try {
        opened = lines.open(value);
      } catch {
        // Another process wrote into the channel.
        socket.destroy();
        return;
      }
      const request = controlRequest.safeParse(opened);
      if (!request.success || underWay >= maxUnderWay) {
        socket.destroy();
        return;
      }
      underWay += 1;
      void this.#answer(request.data, connection, standing)
        .then((answer) => say({ id: request.data.id, ...answer }))
        .finally(() => {
          underWay -= 1;
        });
    });
    say({ hello: 'outrigger.companion.v3', nonce, pid: process.pid, publicKey });
  }

  #mayAsk(standing: Standing, method: ControlMethodName, params: unknown): boolean {
    if (standing === 'owner') return true;
    const change = method === 'change' ? ownerChange.safeParse(params).data : undefined;
    if (change !== undefined && onlyDenies(change)) return true;
    return standing === 'unknown' && (showing.includes(method) || !this.#runsProgram());
  }

  async #answer(
    { method, params, deadline }: z.output<typeof controlRequest>,
    connection: ControlConnection,
    standing: Standing,
  ): Promise<{ result: unknown } | { error: ControlError }> {
    // Its client reported a failure already, and the owner may have decided otherwise since.
    if (machineTime() >= deadline) return { error: tooLate };
    if (!Object.hasOwn(controlMethods, method))
      return {
        error: { code: 'unknown_method', message: `This companion does not know ${method.slice(0, 100)}; update it.` },
      };
    const name = method as ControlMethodName;
    const parsed = controlMethods[name].params.safeParse(params);
    if (!parsed.success)
      return { error: { code: 'invalid_input', message: `${describeIssue(parsed.error, 'The request')}.` } };
    if (!this.#mayAsk(standing, name, parsed.data))
      return { error: standing === 'program' ? fromProgram : whileProgramRuns };
    try {
      return { result: await this.#handlers[name](parsed.data as never, connection) };
    } catch (error) {
      return { error: toControlError(error) };
    }
  }
}

/** What only shows something, besides what only denies. */
const showing: readonly ControlMethodName[] = ['state', 'subscribe', 'history', 'picture', 'verifyAudit'];

export const refusedToProgram =
  'A program that this companion runs for a workflow may not change or read what its owner decides; use the app, or a terminal that no workflow started.';
const fromProgram: ControlError = { code: 'refused_to_program', message: refusedToProgram };
const tooLate: ControlError = {
  code: 'too_late',
  message: 'The request arrived after its client stopped waiting, so nothing was done. Try again.',
};
const whileProgramRuns: ControlError = {
  code: 'program_runs',
  message:
    'A program runs for a workflow, and this system does not show whether it is the one that asks; wait until it ended, or pause first.',
};

function toControlError(error: unknown): ControlError {
  if (error instanceof ControlRefusal) return { code: error.code, message: error.message };
  const { code = 'failed' } = error as { code?: unknown };
  return {
    code: error instanceof CompanionError ? 'refused' : typeof code === 'string' ? code : 'failed',
    message: (error as Error).message,
  };
}

async function describeOwner(folder: DataFolder): Promise<string> {
  const advice = 'stop it, or name another folder with --data-folder.';
  try {
    using other = await ControlClient.open(folder);
    const state = await other?.call('state', {}, { timeoutMs: 2_000 });
    if (state !== undefined) return `Another companion (process ${state.pid}) runs on ${folder.path}; ${advice}`;
  } catch {
    // Said below.
  }
  const pid = new FolderClaim(folder.path).holder;
  return `Another companion${pid === null ? '' : ` (process ${pid})`} runs on ${folder.path} and does not answer; ${advice}`;
}

/** The other process that is the companion of this folder; null when there is none. A relay that leads to this process is none. */
async function otherCompanion(folder: DataFolder): Promise<number | null> {
  try {
    using other = await ControlClient.open(folder);
    const state = await other?.call('state', {}, { timeoutMs: 2_000 });
    return state === undefined || state.pid === process.pid ? null : state.pid;
  } catch {
    return null;
  }
}

/** One process at a time takes the folder, or mends what it has of it. */
const lockControl = (folder: DataFolder) => lockFile(join(folder.path, 'control.lock'));

const inodeOf = (path: string): bigint | undefined => statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;

/** Whether a process has a socket, be it too busy to answer: the kernel connects to it, or has too many that wait, and refuses what a dead one left. */
function isListenedTo(path: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(path, () => done(true));
    socket.on('error', (error: NodeJS.ErrnoException) => done(error.code === 'EAGAIN'));
    socket.on('connect', () => socket.destroy());
  });
}

function listens(server: Server, path: string): Promise<boolean> {
  return new Promise((done, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? done(false) : reject(error)));
    server.listen(path, () => done(true));
  });
}
