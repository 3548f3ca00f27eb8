import { systemClock, waitFor } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { closeLostCall } from '../records/index.ts';
import type { SipDialog, SipServer } from '../sip/index.ts';
import { deleteCall, readAnswered, renewCalls, writeAnswered, writeDial } from './call-store.ts';
import type { CallOwner, DialCaps } from './call-store.ts';

/** A call that is kept in the database until it ended, so that any process can end it. */
export interface CallLease {
  answered(dialog: SipDialog): void;
  ended(): void;
  /** Its softphone is gone; from now on the SIP server is asked whether it lasts. */
  left(): void;
}

export interface CallLeasesOptions {
  db: Database;
  logger: Logger;
  caps: DialCaps;
  /** Null where the operator has none. */
  server: Pick<SipServer, 'knows'> | null;
  /** How often this process says that its calls last, in milliseconds. */
  renewMs?: number;
}

const defaultRenewMs = 15_000;
/** Calls of which the SIP server is asked at a time. */
export const asksAtOnce = 20;

/** How long a process that stops waits for what is to be written. */
const lastWordMs = 2_000;

interface Held {
  owner: CallOwner;
  isCounted: boolean;
  /** Null until it was answered. */
  answer: { dialog: SipDialog; at: number; isWritten: boolean } | null;
  isLeft: boolean;
}

/** The calls of softphones of this process: those to numbers from their INVITE, so many at once and so many minutes a day in UTC, all others once they are answered. */
export class CallLeases implements AsyncDisposable {
  readonly #options: CallLeasesOptions;
  readonly #held = new Map<string, Held>();
  readonly #timer: NodeJS.Timeout;
  /** Calls that ended, whose rows are there still. */
  readonly #ended = new Set<string>();
  /** What is written of a call is written in the order in which it happened. */
  #written = Promise.resolve();
  #isRenewing = false;

  constructor(options: CallLeasesOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.renew(), options.renewMs ?? defaultRenewMs);
    this.#timer.unref();
  }

  /** Begins a call that counts, unless its workspace has had its share. Answers why not. */
  async begin(
    owner: CallOwner,
    asked: Omit<SipDialog, 'toTag'>,
  ): Promise<CallLease | 'calls_at_once' | 'minutes_a_day'> {
    const { db, caps } = this.#options;
    const id = newId();
    const refusal = await db.workspace(owner.tenantId, (tx) => writeDial(tx, id, owner, asked, caps));
    if (refusal !== null) return refusal;
    this.#held.set(id, { owner, isCounted: true, answer: null, isLeft: false });
    return this.#handle(id);
  }

  /** Keeps a call that does not count, once it was answered. */
  hold(owner: CallOwner, dialog: SipDialog): CallLease {
    const id = newId();
    const answer = { dialog, at: performance.now(), isWritten: false };
    this.#held.set(id, { owner, isCounted: false, answer, isLeft: false });
    this.#keepAnswer(id);
    return this.#handle(id);
  }

  /** Calls of a session that last, whatever softphone had them before. */
  async takeUp(owner: CallOwner): Promise<{ dialog: SipDialog; call: CallLease }[]> {
    const found = await readAnswered(this.#options.db, owner);
    return found.map(({ id, isCounted, dialog }) => {
      const answer = { dialog, at: performance.now(), isWritten: true };
      this.#held.set(id, { owner, isCounted, answer, isLeft: false });
      return { dialog, call: this.#handle(id) };
    });
  }

  /** Says of all calls of this process that they last, and forgets those that were left and that the SIP server knows no more. */
  async renew(): Promise<void> {
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    // What could not be written when it happened.
    for (const id of this.#held.keys()) this.#keepAnswer(id);
    for (const id of this.#ended) this.#remove(id);
    this.#write(async () => {
      if (this.#held.size > 0) await renewCalls(this.#options.db, [...this.#held.keys()]);
    });
    await this.#written;
    await this.#attempt(() => this.#forgetEnded());
    this.#isRenewing = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    const late = new AbortController();
    await Promise.race([this.#written, waitFor(systemClock, lastWordMs, late.signal).catch(() => undefined)]);
    late.abort();
  }

  async #forgetEnded(): Promise<void> {
    const { server } = this.#options;
    const left = [...this.#held].flatMap(([id, { owner, answer, isLeft }]) =>
      isLeft && answer ? [{ id, tenantId: owner.tenantId, dialog: answer.dialog }] : [],
    );
    if (server === null) return;
    for (let from = 0; from < left.length; from += asksAtOnce) {
      const asked = await Promise.allSettled(
        left.slice(from, from + asksAtOnce).map(async ({ id, tenantId, dialog }) => {
          if ((await server.knows(dialog)) || this.#held.get(id)?.isLeft !== true) return;
          await closeLostCall(this.#options.db, tenantId, dialog.callId);
          this.#end(id);
        }),
      );
      // A server that is away says nothing about a call, and would take as long of the next ones.
      if (asked.some(({ status }) => status === 'rejected')) return;
    }
  }

  #keepAnswer(id: string): void {
    if (this.#held.get(id)?.answer?.isWritten !== false) return;
    this.#write(async () => {
      const held = this.#held.get(id);
      if (held?.answer?.isWritten !== false) return;
      const { owner, isCounted, answer } = held;
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
        const held = this.#held.get(id);
        if (held === undefined || held.answer !== null) return;
        held.answer = { dialog, at: performance.now(), isWritten: false };
        this.#keepAnswer(id);
      },
      ended: () => this.#end(id),
      left: () => {
        const held = this.#held.get(id);
        if (held?.answer === null) this.#end(id);
        else if (held !== undefined) held.isLeft = true;
      },
    };
  }

  #end(id: string): void {
    if (!this.#held.delete(id)) return;
    this.#ended.add(id);
    this.#remove(id);
  }

  #write(write: () => Promise<unknown>): void {
    this.#written = this.#written.then(() => this.#attempt(write));
  }

  async #attempt(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'a call of a softphone could not be written; it is tried again');
    }
  }
}
