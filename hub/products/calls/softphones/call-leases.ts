import { systemClock, waitFor } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { background } from '../../../platform/process/background.ts';
import { closeLostCall } from '../records/index.ts';
import type { SipDialog, SipServer } from '../sip/index.ts';
import { deleteCall, readAnswered, renewCalls, writeAnswered, writeDial } from './call-store.ts';
import type { CallOwner, DialLimit, DialQuota } from './call-store.ts';

/** A call stored in the database until it ends, so that any process can end it. */
export interface CallLease {
  answered(dialog: SipDialog): void;
  ended(): void;
  /** Its softphone disconnected. From now on the SIP server is asked whether the call is in progress. */
  detached(): void;
}

export interface CallLeasesOptions {
  db: Database;
  logger: Logger;
  quota: DialQuota;
  /** Null without a SIP server. */
  server: Pick<SipServer, 'knows'> | null;
  /** Renewal interval of the leases, in milliseconds. */
  renewMs?: number;
}

const defaultRenewMs = 15_000;
/** Concurrent requests to the SIP server about calls. */
export const serverConcurrency = 20;

/** Time to finish pending writes at shutdown. */
const shutdownFlushMs = 2_000;

interface LeasedCall {
  owner: CallOwner;
  isCounted: boolean;
  /** Null until the call is answered. */
  answer: { dialog: SipDialog; at: number; isWritten: boolean } | null;
  isDetached: boolean;
}

/**
 * Leases of the softphone calls of this process.
 * Calls to phone numbers count against the quota of the workspace and are stored from their INVITE. Other calls are
 * stored once they are answered.
 */
export class CallLeases implements AsyncDisposable {
  readonly #options: CallLeasesOptions;
  readonly #calls = new Map<string, LeasedCall>();
  readonly #timer: NodeJS.Timeout;
  /** Ended calls whose rows still exist. */
  readonly #ended = new Set<string>();
  /** Pending writes, in order of the events of the calls. */
  #pendingWrites = Promise.resolve();
  #isRenewing = false;

  constructor(options: CallLeasesOptions) {
    this.#options = options;
    this.#timer = setInterval(
      () => background(this.renew(), options.logger, 'renewal of the leases of calls'),
      options.renewMs ?? defaultRenewMs,
    );
    this.#timer.unref();
  }

  /** Starts a call that counts against the quota. Returns the exceeded limit if the quota does not allow it. */
  async start(owner: CallOwner, dialog: Omit<SipDialog, 'toTag'>): Promise<CallLease | DialLimit> {
    const { db, quota } = this.#options;
    const id = newId();
    const limit = await db.workspace(owner.tenantId, (tx) => writeDial(tx, id, owner, dialog, quota));
    if (limit !== null) return limit;
    this.#calls.set(id, { owner, isCounted: true, answer: null, isDetached: false });
    return this.#handle(id);
  }

  /** Stores an answered call that does not count against the quota. */
  track(owner: CallOwner, dialog: SipDialog): CallLease {
    const id = newId();
    const answer = { dialog, at: performance.now(), isWritten: false };
    this.#calls.set(id, { owner, isCounted: false, answer, isDetached: false });
    this.#writeAnswer(id);
    return this.#handle(id);
  }

  /** Takes over the answered calls of a session from its previous softphone. */
  async resume(owner: CallOwner): Promise<{ dialog: SipDialog; call: CallLease }[]> {
    const found = await readAnswered(this.#options.db, owner);
    return found.map(({ id, isCounted, dialog }) => {
      const answer = { dialog, at: performance.now(), isWritten: true };
      this.#calls.set(id, { owner, isCounted, answer, isDetached: false });
      return { dialog, call: this.#handle(id) };
    });
  }

  /** Renews the leases of all calls of this process. Ends detached calls that the SIP server no longer knows. */
  async renew(): Promise<void> {
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    // Repeat writes that failed before.
    for (const id of this.#calls.keys()) this.#writeAnswer(id);
    for (const id of this.#ended) this.#remove(id);
    this.#write(async () => {
      if (this.#calls.size > 0) await renewCalls(this.#options.db, [...this.#calls.keys()]);
    });
    await this.#pendingWrites;
    await this.#attempt(() => this.#endUnknown());
    this.#isRenewing = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    const late = new AbortController();
    await Promise.race([
      this.#pendingWrites,
      waitFor(systemClock, shutdownFlushMs, late.signal).catch(() => undefined),
    ]);
    late.abort();
  }

  async #endUnknown(): Promise<void> {
    const { server } = this.#options;
    const detached = [...this.#calls].flatMap(([id, { owner, answer, isDetached }]) =>
      isDetached && answer ? [{ id, tenantId: owner.tenantId, dialog: answer.dialog }] : [],
    );
    if (server === null) return;
    for (let from = 0; from < detached.length; from += serverConcurrency) {
      const outcomes = await Promise.allSettled(
        detached.slice(from, from + serverConcurrency).map(async ({ id, tenantId, dialog }) => {
          if ((await server.knows(dialog)) || this.#calls.get(id)?.isDetached !== true) return;
          await closeLostCall(this.#options.db, tenantId, dialog.callId);
          this.#end(id);
        }),
      );
      // An unreachable server gives no information about a call, and every further request would wait for its timeout.
      if (outcomes.some(({ status }) => status === 'rejected')) return;
    }
  }

  #writeAnswer(id: string): void {
    if (this.#calls.get(id)?.answer?.isWritten !== false) return;
    this.#write(async () => {
      const call = this.#calls.get(id);
      if (call?.answer?.isWritten !== false) return;
      const { owner, isCounted, answer } = call;
      const seconds = (performance.now() - answer.at) / 1_000;
      await writeAnswered(this.#options.db, id, owner, answer.dialog, { isCounted, seconds });
      answer.isWritten = true;
    });
  }

  #remove(id: string): void {
    this.#write(async () => {
      await deleteCall(this.#options.db, id);
      this.#ended.delete(id);
    });
  }

  #handle(id: string): CallLease {
    return {
      answered: (dialog) => {
        const call = this.#calls.get(id);
        if (call === undefined || call.answer !== null) return;
        call.answer = { dialog, at: performance.now(), isWritten: false };
        this.#writeAnswer(id);
      },
      ended: () => this.#end(id),
      detached: () => {
        const call = this.#calls.get(id);
        if (call?.answer === null) this.#end(id);
        else if (call !== undefined) call.isDetached = true;
      },
    };
  }

  #end(id: string): void {
    if (!this.#calls.delete(id)) return;
    this.#ended.add(id);
    this.#remove(id);
  }

  #write(write: () => Promise<unknown>): void {
    this.#pendingWrites = this.#pendingWrites.then(() => this.#attempt(write));
  }

  async #attempt(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'writing a softphone call failed; the hub retries it');
    }
  }
}
