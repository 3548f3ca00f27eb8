import { AppError } from '../../../../shared/errors.ts';
import type { Events } from '../../events/events.ts';
import type { VisitorAuthenticator } from '../auth/auth.ts';
import { accessTopic } from '../auth/principal.ts';
import type { Principal } from '../auth/principal.ts';

export interface LiveStreamsOptions {
  events: Events;
  visitors: Pick<VisitorAuthenticator, 'refused'>;
  /** Streams and downloads that may be open at once on this process. */
  shares: { perWorkspace: number; perKey: number };
  /** How often rights are looked at again without being told of a change, in milliseconds. */
  recheckMs?: number;
}

/** An answer that goes on for a while: a stream or a download. */
export interface LiveStream extends Disposable {
  /** Aborts, with the refusal as its reason, when the caller may not have it any more. */
  signal: AbortSignal;
}

type KnownCaller = Extract<Principal, { kind: 'token' | 'session' | 'visitor' }>;

/** What a stream rests on. */
export interface StreamRight {
  /** Streams of one caller that have it in common are checked once. */
  right: string;
  isDownload: boolean;
  /** Whether the caller still may, as it was asked at the beginning. @throws AppError when not. */
  check: () => Promise<unknown>;
}

/** What ends together: streams of one caller from one address under one right, or of one session of a visitor. */
interface Group {
  tenantId: string;
  /** Null for visitors, who are looked at together. */
  check: (() => Promise<unknown>) | null;
  open: Set<AbortController>;
  expiry: NodeJS.Timeout | undefined;
  /** Whether rights are being looked at, and are to be once more, because something may have changed meanwhile. */
  looking: 'no' | 'once' | 'again';
}

const defaultRecheckMs = 2_000;
/** What all sessions of one visitor may have open together: streams of pages that can open no socket, and pictures that a page shows at once. */
const visitorShares = { stream: 6, download: 20 };
/** Sessions of visitors that one statement looks at. */
const sessionsAtOnce = 2_000;
/** Longer than any stream lasts, and within what a timer can count. */
const longestTimerMs = 86_400_000;
interface Share {
  id: string;
  most: number;
  of: string;
  what: string;
}

const refusals = new Set([401, 403, 404]);

/**
 * The open streams of this process: each workspace and key has its share of them, and each ends when its key or session is
 * revoked or expires, or when its workspace loses what it needs, within a moment of being told, at the latest when looked at again.
 */
export class LiveStreams implements Disposable {
  readonly #options: LiveStreamsOptions;
  readonly #groups = new Map<string, Group>();
  readonly #counts = new Map<string, number>();
  /** Of each workspace that has groups: how many, and what tells it of changed rights. */
  readonly #workspaces = new Map<string, { groups: number; subscription: Disposable }>();
  readonly #reconnect: Disposable;
  #timer: NodeJS.Timeout | undefined;
  /** Sessions of visitors to look at. */
  #dueVisitors = new Set<string>();
  #isLookingAtVisitors = false;

  constructor(options: LiveStreamsOptions) {
    this.#options = options;
    this.#reconnect = options.events.onReconnect(() => this.#recheck());
  }

  /**
   * Enters a stream of a caller; to be disposed when it ends.
   * @throws AppError `rate_limited` when the workspace, the key or the visitor has its share.
   */
  open(caller: KnownCaller, { right, isDownload, check }: StreamRight): LiveStream {
    const { workspace, own } = this.#sharesOf(caller, isDownload);
    for (const share of [workspace, own])
      if (this.#count(share.id) >= share.most)
        throw full(`This ${share.of} has its ${share.most} ${share.what} open`, share.most);
    const isVisitor = caller.kind === 'visitor';
    const id = isVisitor ? caller.sessionId : `${own.id} ${right}`;
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

  #sharesOf(caller: KnownCaller, isDownload: boolean): Record<'workspace' | 'own', Share> {
    const { tenantId } = caller;
    const { perWorkspace, perKey } = this.#options.shares;
    if (caller.kind !== 'visitor') {
      const what = 'streams and downloads';
      const of = caller.kind === 'token' ? 'key' : 'session';
      return {
        workspace: { id: tenantId, most: perWorkspace, of: 'workspace', what },
        own: { id: caller.kind === 'token' ? caller.tokenId : caller.sessionId, most: perKey, of, what },
      };
    }
    // Visitors are many, and anybody: they use up no share of those who work there, nor of each other.
    const kind = isDownload ? 'download' : 'stream';
    const what = `${kind}s`;
    return {
      workspace: {
        id: `${what} of visitors of ${tenantId}`,
        most: perWorkspace,
        of: 'workspace',
        what: `${what} of visitors`,
      },
      own: { id: `${what} of ${caller.visitorId}`, most: visitorShares[kind], of: 'visitor', what },
    };
  }

  #begin(id: string, { tenantId, expiresAt }: KnownCaller, check: Group['check']): Group {
    const group: Group = { tenantId, check, open: new Set(), expiry: undefined, looking: 'no' };
    if (expiresAt !== null)
      group.expiry = setTimeout(
        () => this.#lookAt(id, group),
        Math.min(longestTimerMs, Math.max(0, expiresAt.getTime() - Date.now()) + 50),
      ).unref();
    this.#groups.set(id, group);
    let workspace = this.#workspaces.get(tenantId);
    if (workspace === undefined) {
      const subscription = this.#options.events.subscribe(accessTopic(tenantId), () => this.#recheck(tenantId));
      workspace = { groups: 0, subscription };
      this.#workspaces.set(tenantId, workspace);
    }
    workspace.groups += 1;
    // What was taken away between the caller's check and this subscription was not told here.
    this.#lookAt(id, group);
    this.#timer ??= setInterval(() => this.#recheck(), this.#options.recheckMs ?? defaultRecheckMs).unref();
    return group;
  }

  #end(id: string, group: Group): void {
    clearTimeout(group.expiry);
    // Its streams may end after all were ended.
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
      if (tenantId === undefined || group.tenantId === tenantId) this.#lookAt(id, group);
  }

  #lookAt(id: string, group: Group): void {
    if (group.check !== null) {
      void this.#look(group, group.check);
      return;
    }
    this.#dueVisitors.add(id);
    if (!this.#isLookingAtVisitors) void this.#lookAtVisitors();
  }

  async #lookAtVisitors(): Promise<void> {
    this.#isLookingAtVisitors = true;
    // What is told in this turn of the loop is looked at together, and what is told while a look waits is part of the next.
    await new Promise(setImmediate);
    while (this.#dueVisitors.size > 0) {
      const ids = [...this.#dueVisitors].slice(0, sessionsAtOnce);
      for (const id of ids) this.#dueVisitors.delete(id);
      const refused = await this.#options.visitors.refused(ids).catch(nobody);
      for (const [id, refusal] of refused) for (const ended of this.#groups.get(id)?.open ?? []) ended.abort(refusal);
    }
    this.#isLookingAtVisitors = false;
  }

  async #look(group: Group, check: () => Promise<unknown>): Promise<void> {
    // However slow the database is, no more than one look of each group waits for it.
    if (group.looking !== 'no') {
      group.looking = 'again';
      return;
    }
    do {
      group.looking = 'once';
      try {
        await check();
      } catch (error) {
        // A database that does not answer says nothing about the caller.
        if (error instanceof AppError && refusals.has(error.status)) for (const ended of group.open) ended.abort(error);
      }
    } while ((group.looking as Group['looking']) === 'again' && group.open.size > 0);
    group.looking = 'no';
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

/** A database that does not answer says nothing about a caller. */
const nobody = (): Map<string, AppError> => new Map();

function full(what: string, limit: number): AppError {
  return new AppError('rate_limited', `${what} at once; end one of them first.`, { retryAfterSeconds: 5, limit });
}
