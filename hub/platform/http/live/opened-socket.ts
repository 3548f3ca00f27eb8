import type { WebSocket } from 'ws';
import type { Operation } from '../../../../shared/contract/define.ts';
import { confirmDevice } from '../auth/auth.ts';
import type { Principal, PrincipalOf } from '../auth/principal.ts';
import { confirmSession } from '../auth/socket-rights.ts';
import type { SocketRights } from '../auth/socket-rights.ts';
import { limitCaller } from '../routing/limited-calls.ts';
import type { ServingOptions } from '../routing/serve-operation.ts';

/** A WebSocket that was opened, and by whom. */
export interface OpenedSocket<Shape = Operation> {
  socket: WebSocket;
  principal: PrincipalOf<Shape>;
  requestId: string;
  /** Finds out anew whether a device, a signed-in user or an API key still may; for what must not wait until that is told. @throws AppError when not. */
  authenticate(): Promise<unknown>;
  /** Counts a message as a request. @throws AppError `rate_limited`. */
  limit(): Promise<void>;
  /**
   * Has this called, in the place of closing the socket, when a person may not have it open any more: at once, and again every second until the
   * socket is closed. For what must be ended first; it has a second or so.
   */
  onRevoked(handle: (code: string) => void): void;
  /** Aborts when the hub stops; whoever serves the socket then closes it, as soon as what is under way was answered. */
  stopping: AbortSignal;
}

interface OpenedOptions {
  serving: ServingOptions;
  rights?: SocketRights | undefined;
  stopping: AbortSignal;
  /** Authenticates an API key again. */
  check: () => Promise<unknown>;
}

export class Opened implements OpenedSocket {
  readonly socket: WebSocket;
  readonly principal: never;
  readonly requestId: string;
  readonly #operation: Operation;
  readonly #options: OpenedOptions;

  constructor(
    socket: WebSocket,
    operation: Operation,
    principal: Principal,
    requestId: string,
    options: OpenedOptions,
  ) {
    this.socket = socket;
    this.#operation = operation;
    this.principal = principal as never;
    this.requestId = requestId;
    this.#options = options;
  }

  get stopping(): AbortSignal {
    return this.#options.stopping;
  }

  authenticate(): Promise<unknown> {
    const { auth } = this.#options.serving;
    const principal = this.principal as Principal;
    if (principal.kind === 'token') return this.#options.check();
    return principal.kind === 'session'
      ? confirmSession(auth.identity, this.#operation, principal.sessionId)
      : confirmDevice(auth, this.principal);
  }

  onRevoked(handle: (code: string) => void): void {
    this.#options.rights?.setCloser(this.socket, handle);
  }

  limit(): Promise<void> {
    return limitCaller(this.#options.serving, this.principal, () => undefined);
  }
}
