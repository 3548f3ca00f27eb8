import type { WebSocket } from 'ws';
import { chatCloseCodes } from '../../../../shared/contract/chat/live.ts';
import type { Operation } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Events } from '../../events/events.ts';
import type { Logger } from '../../observability/logger.ts';
import { background } from '../../process/background.ts';
import { admitSession } from './auth.ts';
import type { AuthDependencies } from './auth.ts';
import { accessTopic } from './principal.ts';
import type { Principal, SessionIdentity } from './principal.ts';

export interface SocketRightsOptions {
  auth: Pick<AuthDependencies, 'identity' | 'visitors'>;
  events: Events;
  logger: Logger;
  /** Interval at which all sessions are checked, also without an access change. */
  recheckMs?: number;
}

type WatchedCaller = Extract<Principal, { kind: 'session' | 'visitor' | 'token' }>;

/** The sockets of one session or API key. */
interface Entry {
  kind: WatchedCaller['kind'];
  tenantId: string;
  sockets: Map<WebSocket, Operation>;
  /** Verifies the API key again. @throws AppError when it is no longer valid. */
  check: (() => Promise<unknown>) | undefined;
}

const defaultRecheckMs = 1_000;
const maxSessionsPerStatement = 2_000;
/** Limit per session of a user and per visitor: the open pages of one person, plus some that are not closed yet. */
const maxSocketsPerCaller = 20;
/** A server uses one API key for many users. */
const maxSocketsPerKey = 200;
/** The sockets of a visitor are counted together, because a visitor can open any number of sessions. */
const holderOf = (caller: WatchedCaller) => (caller.kind === 'visitor' ? caller.visitorId : idOf(caller));
const idOf = (caller: WatchedCaller) => (caller.kind === 'token' ? caller.tokenId : caller.sessionId);
const nouns = { session: 'session', visitor: 'visitor', token: 'API key' } as const;

/**
 * Closes the sockets of a session, visitor or API key that loses access. An access change triggers a check of the
 * workspace immediately. All sessions are also checked every second, with one statement for up to
 * `maxSessionsPerStatement` of them.
 */
export class SocketRights implements Disposable {
  readonly #options: SocketRightsOptions;
  readonly #entries = new Map<string, Entry>();
  /** Number of sockets by session of a user, visitor or API key. */
  readonly #counts = new Map<string, number>();
  /** Functions that close sockets in a way of their own, by socket. */
  readonly #closers = new WeakMap<WebSocket, (code: string) => void>();
  readonly #owned: Disposable[];
  readonly #timer: NodeJS.Timeout;
  /** Workspaces to check; null for all of them. */
  #due: Set<string> | null = new Set();
  #isChecking = false;

  constructor(options: SocketRightsOptions) {
    this.#options = options;
    this.#owned = [
      options.events.subscribeFamily(accessTopic(''), (tenantId) => this.#recheck(tenantId)),
      options.events.onReconnect(() => this.#recheck(null)),
    ];
    this.#timer = setInterval(() => this.#recheck(null), options.recheckMs ?? defaultRecheckMs);
    this.#timer.unref();
  }

  /** @throws AppError `rate_limited` when the session, visitor or API key has reached its limit of sockets. */
  assertBelowLimit(caller: WatchedCaller): void {
    const most = caller.kind === 'token' ? maxSocketsPerKey : maxSocketsPerCaller;
    if ((this.#counts.get(holderOf(caller)) ?? 0) >= most)
      throw new AppError(
        'rate_limited',
        `This ${nouns[caller.kind]} has reached its limit of ${most} live connections; close one of them.`,
        { retryAfterSeconds: 5, limit: most },
      );
  }

  /** @param check verifies an API key again. */
  watch(socket: WebSocket, caller: WatchedCaller, operation: Operation, check?: () => Promise<unknown>): void {
    const { kind, tenantId } = caller;
    const entry = this.#entries.get(idOf(caller)) ?? { kind, tenantId, sockets: new Map(), check };
    this.#entries.set(idOf(caller), entry);
    entry.sockets.set(socket, operation);
    const holder = holderOf(caller);
    this.#counts.set(holder, (this.#counts.get(holder) ?? 0) + 1);
  }

  /** Sets the function that closes a socket when its caller loses access. */
  setCloser(socket: WebSocket, close: (code: string) => void): void {
    this.#closers.set(socket, close);
  }

  unwatch(socket: WebSocket, caller: WatchedCaller): void {
    const entry = this.#entries.get(idOf(caller));
    if (entry?.sockets.delete(socket) !== true) return;
    if (entry.sockets.size === 0) this.#entries.delete(idOf(caller));
    const holder = holderOf(caller);
    const left = (this.#counts.get(holder) ?? 0) - 1;
    if (left > 0) this.#counts.set(holder, left);
    else this.#counts.delete(holder);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const owned of this.#owned) owned[Symbol.dispose]();
  }

  #recheck(tenantId: string | null): void {
    if (tenantId === null) this.#due = null;
    else this.#due?.add(tenantId);
    if (!this.#isChecking) background(this.#checkDue(), this.#options.logger, 'check of the access of open sockets');
  }

  async #checkDue(): Promise<void> {
    this.#isChecking = true;
    // Access changes that arrive during a check are handled by the next one.
    while (this.#due === null || this.#due.size > 0) {
      const due = this.#due;
      this.#due = new Set();
      const found = [...this.#entries].filter(([, { tenantId }]) => due === null || due.has(tenantId));
      try {
        for (const kind of ['session', 'visitor'] as const) {
          const ids = found.filter(([, entry]) => entry.kind === kind).map(([id]) => id);
          for (let from = 0; from < ids.length; from += maxSessionsPerStatement)
            await this.#checkSessions(kind, ids.slice(from, from + maxSessionsPerStatement));
        }
        await Promise.all(found.flatMap(([id, { check }]) => (check === undefined ? [] : [this.#checkKey(id, check)])));
      } catch (error) {
        // An unavailable database does not mean that a caller lost access. The timer starts the next check.
        this.#options.logger.debug({ err: error }, 'checking the access of open sockets failed');
        break;
      }
    }
    this.#isChecking = false;
  }

  async #checkSessions(kind: 'session' | 'visitor', ids: string[]): Promise<void> {
    const { identity, visitors } = this.#options.auth;
    if (kind === 'visitor') {
      for (const [id, refusal] of await visitors.refused(ids)) this.#close(id, () => refusal);
      return;
    }
    const sessions = await identity.sessions(ids);
    for (const id of ids)
      this.#close(id, (operation) => {
        try {
          assertSession(operation, sessions.get(id));
          return null;
        } catch (error) {
          return error as Error;
        }
      });
  }

  async #checkKey(id: string, check: () => Promise<unknown>): Promise<void> {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      this.#close(id, () => error);
    }
  }

  #close(id: string, refusalOf: (operation: Operation) => Error | null): void {
    for (const [socket, operation] of this.#entries.get(id)?.sockets ?? []) {
      const refusal = refusalOf(operation);
      if (!(refusal instanceof AppError)) continue;
      const close = this.#closers.get(socket);
      if (close === undefined) socket.close(chatCloseCodes.revoked, refusal.code);
      else close(refusal.code);
    }
  }
}

/** @throws AppError for a session that has ended, or may no longer call the operation. */
function assertSession(operation: Operation, session: SessionIdentity | undefined): void {
  if (session === undefined) throw new AppError('unauthenticated', 'This session has ended; sign in again.');
  admitSession(operation, session);
}

/** Verifies again that a session may call an operation. @throws AppError when not. */
export async function confirmSession(
  identity: AuthDependencies['identity'],
  operation: Operation,
  sessionId: string,
): Promise<void> {
  assertSession(operation, (await identity.sessions([sessionId])).get(sessionId));
}
