import { AppError } from '../../../../shared/errors.ts';
import type { Events } from '../../events/events.ts';
import type { Logger } from '../../observability/logger.ts';
import { background } from '../../process/background.ts';
import type { VisitorAuthenticator } from '../auth/auth.ts';
import { accessTopic } from '../auth/principal.ts';
import type { Principal } from '../auth/principal.ts';

export interface LiveStreamsOptions {
  events: Events;
  visitors: Pick<VisitorAuthenticator, 'refused'>;
  /** Maximum open streams and downloads of this process; `perKey` also limits all sessions of one user together. */
  limits: { perWorkspace: number; perKey: number };
  logger: Logger;
  /** Interval at which access is checked, also without an access change. */
  recheckMs?: number;
}

/** An open stream or download. */
export interface LiveStream extends Disposable {
  /** Aborts when the caller loses access, with the error as the reason. */
  signal: AbortSignal;
}

type StreamCaller = Extract<Principal, { kind: 'token' | 'session' | 'visitor' }>;

/** The access right that a stream depends on. */
export interface StreamRight {
  /** Streams of one caller with the same right are checked together. */
  right: string;
  isDownload: boolean;
  /** Authorizes the caller again. @throws AppError when the caller has lost access. */
  check: () => Promise<unknown>;
}

/** Streams that are checked and ended together: of one caller with one right, or of one visitor session. */
interface Group {
  tenantId: string;
  /** Null for visitors, whose sessions are checked in batches. */
  check: (() => Promise<unknown>) | null;
  open: Set<AbortController>;
  expiry: NodeJS.Timeout | undefined;
  /** `again`: access may have changed during the running check, so another check follows. */
  checking: 'no' | 'once' | 'again';
}

const defaultRecheckMs = 2_000;
/**
 * Limits for all sessions of one visitor: streams of pages that cannot open a WebSocket, and pictures that a page loads
 * concurrently.
 */
const visitorLimits = { stream: 6, download: 20 };
/** Visitor sessions per statement. */
const maxSessionsPerStatement = 2_000;
/** Longer than any stream, and within the maximum of a Node.js timer. */
const maxTimerMs = 86_400_000;
/** The limit of open streams of one owner. */
interface OpenLimit {
  id: string;
  max: number;
  owner: string;
  what: string;
}

const credentialOf = (caller: Exclude<StreamCaller, { kind: 'visitor' }>) =>
  caller.kind === 'token' ? caller.tokenId : caller.sessionId;

const refusalStatuses = new Set([401, 403, 404]);

/**
 * The open streams and downloads of this process, limited by workspace, and by key or user. A stream ends when its key or session
 * is revoked or expires, or when its workspace loses an entitlement: immediately after the access change, at the latest
 * with the next periodic check.
 */
export class LiveStreams implements Disposable {
  readonly #options: LiveStreamsOptions;
  readonly #groups = new Map<string, Group>();
  readonly #counts = new Map<string, number>();
  /** By workspace: the number of groups, and the subscription to access changes. */
  readonly #workspaces = new Map<string, { groups: number; subscription: Disposable }>();
  readonly #reconnect: Disposable;
  #timer: NodeJS.Timeout | undefined;
  /** Visitor sessions to check. */
  #dueVisitors = new Set<string>();
  #isCheckingVisitors = false;

  constructor(options: LiveStreamsOptions) {
    this.#options = options;
    this.#reconnect = options.events.onReconnect(() => this.#recheck());
  }

  /**
   * Registers a stream of a caller. The caller of this method disposes the stream when it ends.
   * @throws AppError `rate_limited` when the workspace, key, user or visitor has reached its limit.
   */
  open(caller: StreamCaller, { right, isDownload, check }: StreamRight): LiveStream {
    const { workspace, own } = this.#limitsOf(caller, isDownload);
    for (const limit of [workspace, own]) if (this.#count(limit.id) >= limit.max) throw limitReached(limit);
    const isVisitor = caller.kind === 'visitor';
    const id = isVisitor ? caller.sessionId : `${credentialOf(caller)} ${right}`;
    const group = this.#groups.get(id) ?? this.#begin(id, caller, isVisitor ? null : check);
    const ended = new AbortController();
    group.open.add(ended);
    this.#change(workspace.id, 1);
    this.#change(own.id, 1);
    return {
      signal: ended.signal,
      [Symbol.dispose]: () => {
        if (!group.open.delete(ended)) return;
        this.#change(workspace.id, -1);
        this.#change(own.id, -1);
        if (group.open.size === 0) this.#end(id, group);
      },
    };
  }

  [Symbol.dispose](): void {
    for (const [id, group] of this.#groups) this.#end(id, group);
    this.#reconnect[Symbol.dispose]();
  }

  #limitsOf(caller: StreamCaller, isDownload: boolean): Record<'workspace' | 'own', OpenLimit> {
    const { tenantId } = caller;
    const { perWorkspace, perKey } = this.#options.limits;
    if (caller.kind !== 'visitor') {
      const what = 'streams and downloads';
      const owner = caller.kind === 'token' ? 'key' : 'user';
      // The sessions of a user are counted together, because a user can open any number of them.
      const id = caller.kind === 'token' ? caller.tokenId : `${tenantId} ${caller.user.id}`;
      return {
        workspace: { id: tenantId, max: perWorkspace, owner: 'workspace', what },
        own: { id, max: perKey, owner, what },
      };
    }
    // Anyone can become a visitor, so visitors have limits of their own and do not use those of keys and users.
    const kind = isDownload ? 'download' : 'stream';
    const what = `${kind}s`;
    return {
      workspace: {
        id: `${what} of visitors of ${tenantId}`,
        max: perWorkspace,
        owner: 'workspace',
        what: `${what} of visitors`,
      },
      own: { id: `${what} of ${caller.visitorId}`, max: visitorLimits[kind], owner: 'visitor', what },
    };
  }

  #begin(id: string, { tenantId, expiresAt }: StreamCaller, check: Group['check']): Group {
    const group: Group = { tenantId, check, open: new Set(), expiry: undefined, checking: 'no' };
    if (expiresAt !== null)
      group.expiry = setTimeout(
        () => this.#check(id, group),
        Math.min(maxTimerMs, Math.max(0, expiresAt.getTime() - Date.now()) + 50),
      ).unref();
    this.#groups.set(id, group);
    let workspace = this.#workspaces.get(tenantId);
    if (workspace === undefined) {
      const subscription = this.#options.events.subscribe(accessTopic(tenantId), () => this.#recheck(tenantId));
      workspace = { groups: 0, subscription };
      this.#workspaces.set(tenantId, workspace);
    }
    workspace.groups += 1;
    // The subscription misses an access change that was published after the caller was authenticated.
    this.#check(id, group);
    this.#timer ??= setInterval(() => this.#recheck(), this.#options.recheckMs ?? defaultRecheckMs).unref();
    return group;
  }

  #end(id: string, group: Group): void {
    clearTimeout(group.expiry);
    // A stream may be disposed after this class was disposed.
    if (!this.#groups.delete(id)) return;
    const workspace = this.#workspaces.get(group.tenantId);
    if (workspace !== undefined && (workspace.groups -= 1) === 0) {
      workspace.subscription[Symbol.dispose]();
      this.#workspaces.delete(group.tenantId);
    }
    if (this.#groups.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #recheck(tenantId?: string): void {
    for (const [id, group] of this.#groups)
      if (tenantId === undefined || group.tenantId === tenantId) this.#check(id, group);
  }

  #check(id: string, group: Group): void {
    if (group.check !== null) {
      background(this.#checkGroup(group, group.check), this.#options.logger, 'check of the access of streams');
      return;
    }
    this.#dueVisitors.add(id);
    if (!this.#isCheckingVisitors)
      background(this.#checkVisitors(), this.#options.logger, 'check of the access of visitor streams');
  }

  async #checkVisitors(): Promise<void> {
    this.#isCheckingVisitors = true;
    // Sessions that become due in this turn of the event loop are checked together; those that become due during a
    // check, by the next one.
    await new Promise(setImmediate);
    while (this.#dueVisitors.size > 0) {
      const ids = [...this.#dueVisitors].slice(0, maxSessionsPerStatement);
      for (const id of ids) this.#dueVisitors.delete(id);
      const refused = await this.#options.visitors.refused(ids).catch(noRefusals);
      for (const [id, refusal] of refused) for (const ended of this.#groups.get(id)?.open ?? []) ended.abort(refusal);
    }
    this.#isCheckingVisitors = false;
  }

  async #checkGroup(group: Group, check: () => Promise<unknown>): Promise<void> {
    // At most one check per group runs, so that checks do not pile up while the database is slow.
    if (group.checking !== 'no') {
      group.checking = 'again';
      return;
    }
    do {
      group.checking = 'once';
      try {
        await check();
      } catch (error) {
        // An unavailable database does not mean that the caller lost access.
        if (error instanceof AppError && refusalStatuses.has(error.status))
          for (const ended of group.open) ended.abort(error);
      }
    } while ((group.checking as Group['checking']) === 'again' && group.open.size > 0);
    group.checking = 'no';
  }

  #count(id: string): number {
    return this.#counts.get(id) ?? 0;
  }

  #change(id: string, by: 1 | -1): void {
    const count = this.#count(id) + by;
    if (count === 0) this.#counts.delete(id);
    else this.#counts.set(id, count);
  }
}

/** An unavailable database does not mean that a visitor lost access. */
const noRefusals = (): Map<string, AppError> => new Map();

function limitReached({ owner, max, what }: OpenLimit): AppError {
  return new AppError(
    'rate_limited',
    `This ${owner} has reached its limit of ${max} open ${what}; end one of them first.`,
    {
      retryAfterSeconds: 5,
      limit: max,
    },
  );
}
