import type { WebSocket } from 'ws';
import { chatCloseCodes } from '../../../../shared/contract/chat/live.ts';
import type { Operation } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Events } from '../../events/events.ts';
import type { Logger } from '../../observability/logger.ts';
import { admitSession } from './auth.ts';
import type { AuthDependencies } from './auth.ts';
import { accessTopic } from './principal.ts';
import type { Principal, SessionIdentity } from './principal.ts';

export interface SocketRightsOptions {
  auth: Pick<AuthDependencies, 'identity' | 'visitors'>;
  events: Events;
  logger: Logger;
  /** How often all are looked at again without being told of a change, in milliseconds. */
  recheckMs?: number;
}

type WatchedCaller = Extract<Principal, { kind: 'session' | 'visitor' | 'token' }>;

/** The sockets of one session. */
interface Entry {
  kind: WatchedCaller['kind'];
  tenantId: string;
  sockets: Map<WebSocket, Operation>;
  /** Authenticates the API key again. @throws AppError when it is not valid any more. */
  check: (() => Promise<unknown>) | undefined;
}

const defaultRecheckMs = 1_000;
/** Sessions that one statement looks at. */
const maxSessionsPerStatement = 2_000;
/** As many pages as one person has open, and a few that are about to be given up: of a session, and of all sessions of a visitor together. */
const maxSocketsPerCaller = 20;
/** A server serves many people with one API key. */
const maxSocketsPerKey = 200;
/** Visitors make as many sessions as they like. */
const holderOf = (caller: WatchedCaller) => (caller.kind === 'visitor' ? caller.visitorId : idOf(caller));
const idOf = (caller: WatchedCaller) => (caller.kind === 'token' ? caller.tokenId : caller.sessionId);
const nouns = { session: 'session', visitor: 'visitor', token: 'API key' } as const;

/**
 * Watches the rights of those who opened sockets: when a session ends or may no longer what it opened, each of its sockets is closed
 * within a moment of being told, and within a second and the time of a statement when nobody told it. All are looked at together.
 */
export class SocketRights implements Disposable {
  readonly #options: SocketRightsOptions;
  readonly #entries = new Map<string, Entry>();
  /** How many sockets each session of a member has, or each visitor. */
  readonly #counts = new Map<string, number>();
  /** Who closes a socket in the place of this. */
  readonly #closers = new WeakMap<WebSocket, (code: string) => void>();
  readonly #owned: Disposable[];
  readonly #timer: NodeJS.Timeout;
  /** Workspaces to look at; null for all of them. */
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

  /** @throws AppError `rate_limited` when a session or a visitor has as many sockets as it may. */
  assertBelowLimit(caller: WatchedCaller): void {
    const most = caller.kind === 'token' ? maxSocketsPerKey : maxSocketsPerCaller;
    if ((this.#counts.get(holderOf(caller)) ?? 0) >= most)
      throw new AppError(
        'rate_limited',
        `This ${nouns[caller.kind]} has its ${most} live connections; close one of them.`,
        { retryAfterSeconds: 5, limit: most },
      );
  }

  /** @param check authenticates an API key again. */
  watch(socket: WebSocket, caller: WatchedCaller, operation: Operation, check?: () => Promise<unknown>): void {
    const { kind, tenantId } = caller;
    const entry = this.#entries.get(idOf(caller)) ?? { kind, tenantId, sockets: new Map(), check };
    this.#entries.set(idOf(caller), entry);
    entry.sockets.set(socket, operation);
    const holder = holderOf(caller);
    this.#counts.set(holder, (this.#counts.get(holder) ?? 0) + 1);
  }

  /** Leaves it to somebody else to close a socket once its caller may not have it open any more. */
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
    if (!this.#isChecking) void this.#checkDue();
  }

  async #checkDue(): Promise<void> {
    this.#isChecking = true;
    // What is told while one look waits for the database is part of the next.
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
        // A database that does not answer says nothing about a caller; the next beat asks again.
        this.#options.logger.debug({ err: error }, 'the rights of open sockets could not be looked at');
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

/** @throws AppError for a session that has ended, or may not call an operation any more. */
function assertSession(operation: Operation, session: SessionIdentity | undefined): void {
  if (session === undefined) throw new AppError('unauthenticated', 'This session has ended; sign in again.');
  admitSession(operation, session);
}

/** Finds out whether a session that was let in before still may call an operation. @throws AppError when not. */
export async function confirmSession(
  identity: AuthDependencies['identity'],
  operation: Operation,
  sessionId: string,
): Promise<void> {
  assertSession(operation, (await identity.sessions([sessionId])).get(sessionId));
}
