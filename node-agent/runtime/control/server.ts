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
import { background } from '../background.ts';
import { CompanionError } from '../data-folder.ts';
import type { DataFolder } from '../data-folder.ts';
import { FolderClaim } from '../folder-claim.ts';
import { lockFile } from '../lock-file.ts';
import { ControlClient, ControlRefusal } from './client.ts';
import { controlKey, isProof, newNonce, proofOf } from './key.ts';
import { readLines } from './lines.ts';
import { machineTime } from './machine-time.ts';
import { processKeys, publishFingerprintAsProcessName, peerKindOf } from './peer.ts';
import type { PeerKind } from './peer.ts';
import { sealedLines } from './sealed-lines.ts';
import type { SealedLines } from './sealed-lines.ts';
import { controlPath } from './socket-path.ts';
import type { ControlPath } from './socket-path.ts';

const maxConnections = 64;
const helloDeadlineMs = 10_000;
const maxRequestLength = 6 * 1024 * 1024;
/** Maximum bytes buffered for one client. A client that exceeds it is disconnected. */
const maxBufferedBytes = 64 * 1024 * 1024;
const maxConcurrentRequests = 32;
/** How often the server checks that the socket's file is still its own, in milliseconds. */
const socketCheckMs = 5_000;

/** The handler of each method. */
export type ControlHandlers = {
  [Name in ControlMethodName]: (
    params: z.output<ControlMethods[Name]['params']>,
    connection: ControlConnection,
  ) => Promise<ControlResult<Name>>;
};

interface ServerEvents {
  /**
   * Whether a program of a workflow runs now. While one runs, no permission can be added on a system that does not show
   * which process connects.
   */
  runsProgram?: () => boolean;
  /** Called after the server replaced a socket that another program moved or removed. */
  onSocketRestored?: () => void;
  /** Called when another companion works on the data folder, so that this one must end. */
  onTakenOver?: (error: CompanionError) => void;
}

/** The connection of one program of the owner. */
export interface ControlConnection {
  /** Aborts when the program disconnected. */
  readonly signal: AbortSignal;
  send(event: ControlEvent): void;
}

/**
 * Listens for the owner's programs. While it listens, no other process can work on the data folder.
 */
export class ControlServer implements AsyncDisposable {
  #server: Server;
  /** Inode of the socket's file. Another inode means that another program replaced the file. */
  #inode: bigint | undefined;
  #socketTimer: NodeJS.Timeout | undefined;
  #isRestoring = false;
  readonly #folder: DataFolder;
  readonly #key: Buffer;
  readonly #handlers: ControlHandlers;
  readonly #sockets = new Set<Socket>();
  readonly #at: ControlPath;
  readonly #runsProgram: () => boolean;
  readonly #onSocketRestored: () => void;
  readonly #onTakenOver: (error: CompanionError) => void;
  readonly #claim: FolderClaim;

  private constructor(folder: DataFolder, handlers: ControlHandlers, at: ControlPath, events: ServerEvents) {
    const { runsProgram = () => false, onSocketRestored = () => undefined, onTakenOver = () => undefined } = events;
    this.#onSocketRestored = onSocketRestored;
    this.#onTakenOver = onTakenOver;
    this.#claim = new FolderClaim(folder.path);
    this.#folder = folder;
    this.#at = at;
    this.#runsProgram = runsProgram;
    this.#key = controlKey(folder);
    this.#handlers = handlers;
    this.#server = this.#newServer();
  }

  #newServer(): Server {
    const server = createServer((socket) => this.#accept(socket));
    server.maxConnections = maxConnections;
    return server;
  }

  /**
   * Starts the server. The kernel closes the socket when the process ends for any reason.
   * @throws CompanionError when another process uses the data folder.
   */
  static async listen(
    folder: DataFolder,
    handlers: ControlHandlers,
    events: ServerEvents = {},
  ): Promise<ControlServer> {
    const at = controlPath(folder);
    try {
      const control = await ControlServer.#claimFolder(folder, handlers, at, events);
      if (control === null) throw new CompanionError(await describeRunningCompanion(folder));
      return control;
    } catch (error) {
      at[Symbol.dispose]();
      throw error;
    }
  }

  /** Returns null when another companion uses the folder. */
  static async #claimFolder(
    folder: DataFolder,
    handlers: ControlHandlers,
    at: ControlPath,
    events: ServerEvents,
  ): Promise<ControlServer | null> {
    // If two processes find the socket of an ended process, only one removes it.
    using lock = await lockControl(folder).catch((error: unknown) => {
      throw new CompanionError(
        `The data folder ${folder.path} can't be written: ${(error as Error).message}. Free space on its disk, or fix its permissions; nothing runs until then.`,
        { cause: error },
      );
    });
    if (lock === null)
      throw new CompanionError(
        `Another process is claiming the data folder ${folder.path}; try again, and if that persists, remove ${join(folder.path, 'control.lock')}.`,
      );
    if (new FolderClaim(folder.path).holder !== null) return null;
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const control = new ControlServer(folder, handlers, at, events);
      if (await tryListen(control.#server, at.path)) {
        try {
          control.#claim.write();
          control.#watchSocket();
          return control;
        } catch (error) {
          control.#server.close();
          throw error;
        }
      }
      if (await hasListener(at.path)) return null;
      // No process listens: the process of the socket ended.
      rmSync(at.path, { force: true });
    }
    throw new CompanionError(
      `Another program uses ${at.path}, so the companion cannot use the data folder ${folder.path}. End that program, then start the companion again.`,
    );
  }

  get #isWatching(): boolean {
    return this.#socketTimer !== undefined;
  }

  /** Watches the socket's file, which this process just created. */
  #watchSocket(): void {
    if (process.platform === 'win32') return;
    chmodSync(this.#at.path, 0o600);
    this.#inode = inodeOf(this.#at.path);
    this.#socketTimer ??= setInterval(
      () => background(this.#restoreSocket(), 'restoring control.sock'),
      socketCheckMs,
    ).unref();
  }

  /**
   * Listens again when another program moved, removed or replaced the socket's file. Open connections stay open.
   * Reports another companion that works on the folder.
   */
  async #restoreSocket(): Promise<void> {
    const { path } = this.#at;
    if (this.#isRestoring || (inodeOf(path) === this.#inode && this.#claim.isOwn)) return;
    this.#isRestoring = true;
    try {
      // The lock ensures that a companion that starts finds this process, or that this process finds that companion.
      using lock = await lockControl(this.#folder);
      if (lock === null) return;
      const other = this.#otherHolder() ?? (await otherCompanion(this.#folder));
      if (!this.#isWatching) return;
      if (other !== null) {
        this.#onTakenOver(
          new CompanionError(
            `Another companion (process ${other}) took over the data folder ${this.#folder.path}, so this one stops: another program removed control.sock and companion.pid.`,
          ),
        );
        return;
      }
      this.#renewClaim();
      if (inodeOf(path) === this.#inode) return;
      // Closing the server also removes the file that is at the path now.
      this.#server.close();
      rmSync(path, { force: true });
      const server = this.#newServer();
      if (!(await tryListen(server, path))) return;
      if (!this.#isWatching) {
        server.close();
        return;
      }
      this.#server = server;
      this.#watchSocket();
      this.#onSocketRestored();
    } finally {
      this.#isRestoring = false;
    }
  }

  /** The other process that the claim names. Null also when the claim cannot be read. */
  #otherHolder(): number | null {
    try {
      return this.#claim.isOwn ? null : this.#claim.holder;
    } catch {
      return null;
    }
  }

  /**
   * Writes the claim again. After a failure, such as on a full disk, the next check tries again. Until then, the socket
   * alone protects the folder.
   */
  #renewClaim(): void {
    try {
      this.#claim.write();
    } catch {
      // The next check tries again.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#socketTimer);
    this.#socketTimer = undefined;
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    this.#claim[Symbol.dispose]();
    this.#at[Symbol.dispose]();
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    const ownName = publishFingerprintAsProcessName();
    const disconnected = new AbortController();
    const timer = setTimeout(() => socket.destroy(), helloDeadlineMs);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(timer);
      ownName[Symbol.dispose]();
      this.#sockets.delete(socket);
      disconnected.abort(new Error('the client disconnected'));
    });
    const nonce = newNonce();
    const { publicKey } = processKeys();
    let peerKind: PeerKind = 'program';
    let lines: SealedLines | undefined;
    const send = (value: unknown) => {
      if (socket.destroyed) return;
      if (socket.writableLength > maxBufferedBytes) socket.destroy();
      else socket.write(`${JSON.stringify(lines === undefined ? value : lines.seal(value))}\n`);
    };
    const connection: ControlConnection = { signal: disconnected.signal, send };
    let activeRequests = 0;
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
        peerKind = peerKindOf(given.data);
        clearTimeout(timer);
        ownName[Symbol.dispose]();
        try {
          const sealed = sealedLines('server', agreement);
          send({ proof: proofOf('server', agreement) });
          lines = sealed;
        } catch {
          // The public key is not a point of the curve.
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
      if (!request.success || activeRequests >= maxConcurrentRequests) {
        socket.destroy();
        return;
      }
      activeRequests += 1;
      const answered = this.#answer(request.data, connection, peerKind)
        .then((answer) => send({ id: request.data.id, ...answer }))
        .finally(() => {
          activeRequests -= 1;
        });
      background(answered, 'answer to a control request');
    });
    send({ hello: 'outrigger.companion.v3', nonce, pid: process.pid, publicKey });
  }

  #isAllowed(peerKind: PeerKind, method: ControlMethodName, params: unknown): boolean {
    if (peerKind === 'owner') return true;
    const change = method === 'change' ? ownerChange.safeParse(params).data : undefined;
    if (change !== undefined && onlyDenies(change)) return true;
    return peerKind === 'unknown' && (readOnlyMethods.includes(method) || !this.#runsProgram());
  }

  async #answer(
    { method, params, deadline }: z.output<typeof controlRequest>,
    connection: ControlConnection,
    peerKind: PeerKind,
  ): Promise<{ result: unknown } | { error: ControlError }> {
    // The client already reported a failure, and the owner may have made another decision since.
    if (machineTime() >= deadline) return { error: tooLate };
    if (!Object.hasOwn(controlMethods, method))
      return {
        error: { code: 'unknown_method', message: `This companion does not know ${method.slice(0, 100)}; update it.` },
      };
    const name = method as ControlMethodName;
    const parsed = controlMethods[name].params.safeParse(params);
    if (!parsed.success)
      return { error: { code: 'invalid_input', message: `${describeIssue(parsed.error, 'The request')}.` } };
    if (!this.#isAllowed(peerKind, name, parsed.data))
      return { error: peerKind === 'program' ? programRefused : whileProgramRuns };
    try {
      return { result: await this.#handlers[name](parsed.data as never, connection) };
    } catch (error) {
      return { error: toControlError(error) };
    }
  }
}

/** Methods that change nothing. */
const readOnlyMethods: readonly ControlMethodName[] = ['state', 'subscribe', 'history', 'picture', 'verifyAudit'];

export const refusedToProgram =
  "A program that a workflow started cannot read or change the owner's settings and decisions. Use the app, or a terminal that no workflow started.";
const programRefused: ControlError = { code: 'refused_to_program', message: refusedToProgram };
const tooLate: ControlError = {
  code: 'too_late',
  message: 'The request arrived after its client stopped waiting, so nothing was done. Try again.',
};
const whileProgramRuns: ControlError = {
  code: 'program_runs',
  message:
    'A workflow runs a program, and this system cannot show whether this request comes from it. Wait until the program ends, or pause the companion.',
};

function toControlError(error: unknown): ControlError {
  if (error instanceof ControlRefusal) return { code: error.code, message: error.message };
  const { code = 'failed' } = error as { code?: unknown };
  return {
    code: error instanceof CompanionError ? 'refused' : typeof code === 'string' ? code : 'failed',
    message: (error as Error).message,
  };
}

async function describeRunningCompanion(folder: DataFolder): Promise<string> {
  const advice = 'stop it, or name another folder with --data-folder.';
  try {
    using other = await ControlClient.open(folder);
    const state = await other?.call('state', {}, { timeoutMs: 2_000 });
    if (state !== undefined) return `Another companion (process ${state.pid}) runs on ${folder.path}; ${advice}`;
  } catch {
    // The error below says that the companion does not answer.
  }
  const pid = new FolderClaim(folder.path).holder;
  return `Another companion${pid === null ? '' : ` (process ${pid})`} runs on ${folder.path} and does not answer; ${advice}`;
}

/** The PID of another companion on this folder; null when there is none. A relay to this process does not count. */
async function otherCompanion(folder: DataFolder): Promise<number | null> {
  try {
    using other = await ControlClient.open(folder);
    const state = await other?.call('state', {}, { timeoutMs: 2_000 });
    return state === undefined || state.pid === process.pid ? null : state.pid;
  } catch {
    return null;
  }
}

/** Serialises claims of the folder and repairs of the socket. */
const lockControl = (folder: DataFolder) => lockFile(join(folder.path, 'control.lock'));

const inodeOf = (path: string): bigint | undefined => statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;

/**
 * Whether a process listens on a socket, even if it is too busy to answer. The kernel then connects or reports EAGAIN,
 * and refuses a connection to the socket of an ended process.
 */
function hasListener(path: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(path, () => done(true));
    socket.on('error', (error: NodeJS.ErrnoException) => done(error.code === 'EAGAIN'));
    socket.on('connect', () => socket.destroy());
  });
}

function tryListen(server: Server, path: string): Promise<boolean> {
  return new Promise((done, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? done(false) : reject(error)));
    server.listen(path, () => done(true));
  });
}
