import type { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { SipDialog, SipServer } from '../../../platform/sip/sip-server.ts';
import { closeLostCall } from '../records/index.ts';
import { answerCall, deleteCall, readAnswered, renewCalls, writeAnswered, writeDial } from './call-store.ts';
import type { CallOwner, DialCaps } from './call-store.ts';

/** A call that is kept in the database until it ended, so that any process can end it. */
export interface HeldCall {
  answered(dialog: SipDialog): void;
  ended(): void;
  /** Its softphone is gone; from now on the SIP server is asked whether it lasts. */
  left(): void;
}

export interface HeldCallsOptions {
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

interface Held {
  tenantId: string;
  /** Null until it was answered. */
  dialog: SipDialog | null;
  isLeft: boolean;
}

/** The calls of softphones of this process: those to numbers from their INVITE, so many at once and so many minutes a day in UTC, all others once they are answered. */
export class HeldCalls implements Disposable {
  readonly #options: HeldCallsOptions;
  readonly #held = new Map<string, Held>();
  readonly #timer: NodeJS.Timeout;
  /** What is written of a call is written in the order in which it happened. */
  #written = Promise.resolve();

  constructor(options: HeldCallsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.renew(), options.renewMs ?? defaultRenewMs);
    this.#timer.unref();
  }

  /** Begins a call that counts, unless its workspace has had its share. Answers why not. */
  async begin(
    owner: CallOwner,
    asked: Omit<SipDialog, 'toTag'>,
  ): Promise<HeldCall | 'calls_at_once' | 'minutes_a_day'> {
    const { db, caps } = this.#options;
    const id = newId();
    const refusal = await db.workspace(owner.tenantId, (tx) => writeDial(tx, id, owner, asked, caps));
    if (refusal !== null) return refusal;
    this.#held.set(id, { tenantId: owner.tenantId, dialog: null, isLeft: false });
    return this.#handle(id);
  }

  /** Keeps a call that does not count, once it was answered. */
  hold(owner: CallOwner, dialog: SipDialog): HeldCall {
    const id = newId();
    this.#held.set(id, { tenantId: owner.tenantId, dialog, isLeft: false });
    this.#write(() => writeAnswered(this.#options.db, id, owner, dialog));
    return this.#handle(id);
  }

  /** Calls of a session that last, whatever softphone had them before. */
  async takeUp(owner: CallOwner): Promise<{ dialog: SipDialog; call: HeldCall }[]> {
    const found = await readAnswered(this.#options.db, owner);
    return found.map(({ id, dialog }) => {
      this.#held.set(id, { tenantId: owner.tenantId, dialog, isLeft: false });
      return { dialog, call: this.#handle(id) };
    });
  }

  /** Says of all calls of this process that they last, and forgets those that were left and that the SIP server knows no more. */
  async renew(): Promise<void> {
    await this.#attempt(async () => {
      await this.#forgetEnded();
      if (this.#held.size > 0) await renewCalls(this.#options.db, [...this.#held.keys()]);
    });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #forgetEnded(): Promise<void> {
    const { server } = this.#options;
    const left = [...this.#held].flatMap(([id, { tenantId, dialog, isLeft }]) =>
      isLeft && dialog ? [{ id, tenantId, dialog }] : [],
    );
    if (server === null) return;
    for (let from = 0; from < left.length; from += asksAtOnce)
      await Promise.all(
        left.slice(from, from + asksAtOnce).map(async ({ id, tenantId, dialog }) => {
          // A server that is away says nothing about a call.
          if ((await server.knows(dialog).catch(() => true)) || this.#held.get(id)?.isLeft !== true) return;
          await closeLostCall(this.#options.db, tenantId, dialog.callId);
          this.#end(id);
        }),
      );
  }

  #handle(id: string): HeldCall {
    return {
      answered: (dialog) => {
        const held = this.#held.get(id);
        if (held === undefined || held.dialog !== null) return;
        held.dialog = dialog;
        this.#write(() => answerCall(this.#options.db, id, dialog.toTag));
      },
      ended: () => this.#end(id),
      left: () => {
        const held = this.#held.get(id);
        if (held?.dialog === null) this.#end(id);
        else if (held !== undefined) held.isLeft = true;
      },
    };
  }

  #end(id: string): void {
    if (this.#held.delete(id)) this.#write(() => deleteCall(this.#options.db, id));
  }

  #write(write: () => Promise<unknown>): void {
    this.#written = this.#written.then(() => this.#attempt(write));
  }

  async #attempt(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'a call of a softphone could not be written; its lease runs out');
    }
  }
}
