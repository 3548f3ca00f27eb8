import type { WebSocket } from 'ws';
import type { Operation } from '../../../../shared/contract/define.ts';
import { confirmDevice } from '../auth/auth.ts';
import type { Principal, PrincipalOf } from '../auth/principal.ts';
import { confirmSession } from '../auth/socket-rights.ts';
import type { SocketRights } from '../auth/socket-rights.ts';
import { limitCaller } from '../routing/limited-calls.ts';
import type { ServingOptions } from '../routing/serve-operation.ts';

/** An open WebSocket and its caller. */
export interface OpenedSocket<Shape = Operation> {
  socket: WebSocket;
  principal: PrincipalOf<Shape>;
  requestId: string;
  /**
   * Verifies the device, user or API key again, for operations that must not rely on access changes alone.
   * @throws AppError when refused.
   */
  authenticate(): Promise<unknown>;
  /** Counts a message as a request. @throws AppError `rate_limited`. */
  limit(): Promise<void>;
  /**
   * Sets a handler that is called when the caller loses access, instead of closing the socket: immediately, and then
   * every second until the handler has closed the socket. It is for state that must end first, which should take about
   * a second at most.
   */
  onRevoked(handle: (code: string) => void): void;
  /**
   * Aborts when the hub shuts down. The handler of the socket then closes it after the responses to requests in
   * progress.
   */
  stopping: AbortSignal;
}

interface OpenedOptions {
  serving: ServingOptions;
  rights?: SocketRights | undefined;
  stopping: AbortSignal;
  /** Verifies an API key again. */
  check: () => Promise<unknown>;
}

export class AuthenticatedSocket implements OpenedSocket {
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
