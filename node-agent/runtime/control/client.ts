import { connect } from 'node:net';
import type { Socket } from 'node:net';
import {
  controlAnswer,
  controlEvent,
  controlHello,
  controlMethods,
  controlWelcome,
  maxControlLine,
} from '../../../shared/companion/control.ts';
import type {
  ControlError,
  ControlEvent,
  ControlMethodName,
  ControlParams,
  ControlResult,
} from '../../../shared/companion/control.ts';
import { CompanionError } from '../data-folder.ts';
import type { DataFolder } from '../data-folder.ts';
import { controlKey, isProof, newNonce, proofOf } from './key.ts';
import { readLines } from './lines.ts';
import { machineTime } from './machine-time.ts';
import { processKeys, publishFingerprintAsProcessName, peerKindOf } from './peer.ts';
import { sealedLines } from './sealed-lines.ts';
import type { Agreement, SealedLines } from './sealed-lines.ts';
import { controlPath } from './socket-path.ts';

/** Longer than a busy machine stops a process, so that only a companion that hangs counts as not answering. */
const openDeadlineMs = 10_000;

/** The error with which a companion refused a request. */
export class ControlRefusal extends CompanionError {
  readonly code: string;

  constructor({ code, message }: ControlError) {
    super(message);
    this.name = 'ControlRefusal';
    this.code = code;
  }
}

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

/** A connection to the companion that runs on a data folder. */
export class ControlClient implements Disposable {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #closed = Promise.withResolvers<void>();
  /** Set when the connection is open. */
  #lines: SealedLines | undefined;
  #nextId = 0;
  #listener: ((event: ControlEvent) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /**
   * Connects. Returns null when no companion runs on the folder.
   * @throws CompanionError when a companion does not answer, or when the process that answers does not prove that it is
   * the owner's companion.
   */
  static async open(
    folder: DataFolder,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<ControlClient | null> {
    signal.throwIfAborted();
    const key = controlKey(folder);
    const at = controlPath(folder);
    const socket = connect(at.path);
    const client = new ControlClient(socket);
    const opened = Promise.withResolvers<ControlClient | null>();
    const nonce = newNonce();
    let agreement: Agreement | undefined;
    let isOpen = false;
    let fingerprint: Disposable | undefined;
    const fail = (message: string) => {
      opened.reject(new CompanionError(message));
      socket.destroy();
    };
    const onAbort = () => {
      opened.reject(signal.reason as Error);
      socket.destroy();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(
      () => fail(`The companion that runs on ${folder.path} does not answer; stop it, and start it again.`),
      openDeadlineMs,
    );
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // EAGAIN: a process listens, and its queue of connections is full.
      if (error.code === 'EAGAIN') fail(`The companion that runs on ${folder.path} is too busy to answer; try again.`);
      else opened.resolve(null);
    });
    socket.on('close', () => {
      opened.reject(
        new CompanionError(
          agreement === undefined
            ? `What runs on ${folder.path} closed the connection immediately: it has too many connections, or it is stopping; try again, and close other programs that use it.`
            : `What listens for ${folder.path} is no companion of this version; stop it first.`,
        ),
      );
      client.#end();
    });
    readLines(socket, maxControlLine, (value) => {
      if (isOpen) return client.#onLine(value);
      if (agreement === undefined) {
        const hello = controlHello.safeParse(value);
        if (!hello.success)
          return fail(`What listens for ${folder.path} is no companion of this version; stop it first.`);
        if (peerKindOf(hello.data) === 'program')
          return fail(
            `Process ${hello.data.pid}, which listens for ${folder.path}, is not your companion: a program of a workflow may have replaced its socket. End that process, and start the companion again.`,
          );
        const { publicKey } = processKeys();
        agreement = {
          controlKey: key,
          serverNonce: hello.data.nonce,
          clientNonce: nonce,
          serverKey: hello.data.publicKey,
          clientKey: publicKey,
        };
        fingerprint = publishFingerprintAsProcessName();
        const proof = proofOf('client', agreement);
        socket.write(`${JSON.stringify({ proof, nonce, pid: process.pid, publicKey })}\n`);
        return;
      }
      const welcome = controlWelcome.safeParse(value);
      if (!welcome.success || !isProof(welcome.data.proof, proofOf('server', agreement)))
        return fail(`What listens for ${folder.path} can't read its control.key, and so is not your companion.`);
      try {
        client.#lines = sealedLines('client', agreement);
      } catch {
        return fail(`What listens for ${folder.path} is no companion of this version; stop it first.`);
      }
      isOpen = true;
      opened.resolve(client);
    });
    try {
      return await opened.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      fingerprint?.[Symbol.dispose]();
    }
  }

  /** Resolves when either side closed the connection. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Calls a method. @throws ControlRefusal with the companion's error; CompanionError when it ends or is too late. */
  async call<Name extends ControlMethodName>(
    method: Name,
    params: ControlParams<Name>,
    { signal, timeoutMs = 20_000 }: { signal?: AbortSignal; timeoutMs?: number } = {},
  ): Promise<ControlResult<Name>> {
    const id = this.#nextId;
    this.#nextId += 1;
    const answered = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answered);
    const timer = setTimeout(
      () => answered.reject(new CompanionError(`The companion did not answer within ${timeoutMs / 1000} s.`)),
      timeoutMs,
    );
    const onAbort = () => answered.reject(signal?.reason as Error);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (this.#socket.destroyed) answered.reject(companionEnded());
    else {
      const deadline = machineTime() + timeoutMs;
      this.#socket.write(`${JSON.stringify(this.#lines?.seal({ id, method, params, deadline }))}\n`);
    }
    try {
      return controlMethods[method].result.parse(await answered.promise) as ControlResult<Name>;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      this.#waiting.delete(id);
    }
  }

  /** Calls the listener for every change from now on. @returns the current state. */
  async subscribe(listener: (event: ControlEvent) => void): Promise<ControlResult<'subscribe'>> {
    this.#listener = listener;
    return this.call('subscribe', {});
  }

  /** Lets the process end while the connection is open. */
  unref(): this {
    this.#socket.unref();
    return this;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #onLine(line: unknown): void {
    let value: unknown;
    try {
      value = this.#lines?.open(line);
    } catch {
      // Another process wrote into the channel.
      this.#socket.destroy();
      return;
    }
    const event = controlEvent.safeParse(value);
    if (event.success) {
      this.#listener?.(event.data);
      return;
    }
    const answer = controlAnswer.safeParse(value);
    if (!answer.success) return;
    const waiting = this.#waiting.get(answer.data.id);
    if (answer.data.error === undefined) waiting?.resolve(answer.data.result);
    else waiting?.reject(new ControlRefusal(answer.data.error));
  }

  #end(): void {
    for (const { reject } of this.#waiting.values()) reject(companionEnded());
    this.#closed.resolve();
  }
}

const companionEnded = () => new CompanionError('The companion ended before it answered.');

/** Calls one method of the companion that runs on a data folder. Returns null when none runs. */
export async function askCompanion<Name extends ControlMethodName>(
  folder: DataFolder,
  method: Name,
  params: ControlParams<Name>,
  options: { timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<ControlResult<Name> | null> {
  using client = await ControlClient.open(folder, options.signal);
  return client === null ? null : await client.call(method, params, options);
}
