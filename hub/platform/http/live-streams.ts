import { AppError } from '../../../shared/errors.ts';
import type { Events } from '../events/events.ts';
import { accessTopic } from './principal.ts';
import type { Principal } from './principal.ts';

export interface LiveStreamsOptions {
  events: Events;
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

/** What ends together: streams of one caller from one address under one right. */
interface Group {
  tenantId: string;
  /** Whether the caller still may, as it was asked at the beginning. @throws AppError when not. */
  check: () => Promise<unknown>;
  open: Set<AbortController>;
  expiry: NodeJS.Timeout | undefined;
  /** Whether rights are being looked at, and are to be once more, because something may have changed meanwhile. */
  looking: 'no' | 'once' | 'again';
}

const defaultRecheckMs = 2_000;
/** Longer than any stream lasts, and within what a timer can count. */
const longestTimerMs = 86_400_000;
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

  constructor(options: LiveStreamsOptions) {
    this.#options = options;
    this.#reconnect = options.events.onReconnect(() => this.#recheck());
  }

  /**
   * Enters a stream of a caller; to be disposed when it ends.
   * @param right what of the caller's rights it rests on, so that streams which share it are checked once.
   * @throws AppError `rate_limited` when the workspace or the key has its share.
   */
  open(caller: KnownCaller, right: string, check: () => Promise<unknown>): LiveStream {
    const { tenantId } = caller;
    // Visitors are many, and anybody: they use up no share of those who work there.
    const shareId = caller.kind === 'visitor' ? `visitors of ${tenantId}` : tenantId;
    const callerId = caller.kind === 'token' ? caller.tokenId : caller.sessionId;
    const { perWorkspace, perKey } = this.#options.shares;
    if (this.#count(shareId) >= perWorkspace)
      throw full(`This workspace has its ${perWorkspace} streams and downloads open`);
    if (this.#count(callerId) >= perKey)
      throw full(`This ${caller.kind === 'token' ? 'key' : 'session'} has its ${perKey} streams and downloads open`);
    const id = `${callerId} ${right}`;
    const group = this.#groups.get(id) ?? this.#begin(id, tenantId, caller.expiresAt, check);
    const ended = new AbortController();
    group.open.add(ended);
    this.#change(shareId, 1);
    this.#change(callerId, 1);
    return {
      signal: ended.signal,
      [Symbol.dispose]: () => {
        if (!group.open.delete(ended)) return;
        this.#change(shareId, -1);
        this.#change(callerId, -1);
        if (group.open.size === 0) this.#end(id, group);
      },
    };
  }

  [Symbol.dispose](): void {
    for (const [id, group] of this.#groups) this.#end(id, group);
    this.#reconnect[Symbol.dispose]();
  }

  #begin(id: string, tenantId: string, expiresAt: Date | null, check: () => Promise<unknown>): Group {
    const group: Group = { tenantId, check, open: new Set(), expiry: undefined, looking: 'no' };
    if (expiresAt !== null)
      group.expiry = setTimeout(
        () => void this.#look(group),
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
    void this.#look(group);
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
    for (const group of this.#groups.values())
      if (tenantId === undefined || group.tenantId === tenantId) void this.#look(group);
  }

  async #look(group: Group): Promise<void> {
    // However slow the database is, no more than one look of each group waits for it.
    if (group.looking !== 'no') {
      group.looking = 'again';
      return;
    }
    do {
      group.looking = 'once';
      try {
        await group.check();
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

function full(what: string): AppError {
  return new AppError('rate_limited', `${what} at once; end one of them first.`, { retryAfterSeconds: 5 });
}
