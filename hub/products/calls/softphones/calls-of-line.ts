import { headerOf } from '../../../platform/sip/message.ts';
import type { SipMessage, SipRequest, SipResponse } from '../../../platform/sip/message.ts';
import type { SipDialog } from '../../../platform/sip/sip-server.ts';
import { callIdOf, isInDialog, methodOf, tagOf } from './dialog-identifiers.ts';
import type { HeldCall } from './held-calls.ts';
import { addressOf } from './own-name.ts';

interface Call {
  fromTag: string;
  /** Null until it was answered. */
  toTag: string | null;
  /** Under which name it reached the softphone; null where the softphone began it. */
  calledAs: string | null;
  isOwn: boolean;
  /** What asked for it; null where another softphone had it before. */
  invite: SipRequest | null;
  /** Where it is kept; null until it was answered, where it does not count. */
  held: HeldCall | null;
}

/** A call that nobody answered yet. */
export interface RingingCall {
  invite: SipRequest;
  /** Whether the softphone began it. */
  isOwn: boolean;
}

/** Calls that one softphone has at a time. */
export const maxCallsOfLine = 16;
/** Call-IDs of requests that may be answered yet. */
const maxAnswerable = 256;

export const answersInvite = (message: SipMessage): boolean => methodOf(message) === 'INVITE';

/** The calls that a softphone has, as what goes by tells; bounded, whatever goes by. */
export class CallsOfLine {
  readonly #calls = new Map<string, Call>();
  readonly #answerable = new Set<string>();
  readonly #hold: (dialog: SipDialog) => HeldCall;

  /** @param hold keeps a call that was answered. */
  constructor(hold: (dialog: SipDialog) => HeldCall) {
    this.#hold = hold;
  }

  get isFull(): boolean {
    return this.#calls.size >= maxCallsOfLine;
  }

  /** Those that were answered. */
  get answered(): SipDialog[] {
    return [...this.#calls].flatMap(([callId, { fromTag, toTag }]) =>
      toTag === null ? [] : [{ callId, fromTag, toTag }],
    );
  }

  get ringing(): RingingCall[] {
    return [...this.#calls.values()].flatMap(({ toTag, invite, isOwn }) =>
      toTag === null && invite !== null ? [{ invite, isOwn }] : [],
    );
  }

  calledAs(callId: string): string | undefined {
    return this.#calls.get(callId)?.calledAs ?? undefined;
  }

  /** Whether the other side asked something under this Call-ID, so that there is something to answer. */
  isAnswerable(callId: string): boolean {
    return this.#answerable.has(callId);
  }

  /** Goes on with a call that another softphone of the same person had. */
  takeUp({ callId, fromTag, toTag }: SipDialog, held: HeldCall): void {
    this.#calls.set(callId, { fromTag, toTag, calledAs: null, isOwn: false, invite: null, held });
  }

  /** Follows what is passed on. @param isOwn whether the softphone sent it. @param held of an INVITE that counts. */
  follow(message: SipMessage, isOwn: boolean, held: HeldCall | null = null): void {
    const callId = callIdOf(message);
    if (message.kind === 'response') {
      this.#followResponse(callId, message);
      return;
    }
    if (!isOwn) this.#expectAnswer(callId);
    if (message.method === 'BYE') this.end(callId);
    if (message.method !== 'INVITE' || isInDialog(message) || this.isFull) return;
    this.end(callId);
    this.#calls.set(callId, {
      fromTag: tagOf(message, 'from'),
      toTag: null,
      calledAs: isOwn ? null : (addressOf(headerOf(message, 'to') ?? '')?.address ?? null),
      isOwn,
      invite: message,
      held,
    });
  }

  end(callId: string): void {
    this.#calls.get(callId)?.held?.ended();
    this.#calls.delete(callId);
  }

  /** Says of all that their softphone is gone; none is known any more then. */
  leave(): void {
    for (const { held } of this.#calls.values()) held?.left();
    this.#calls.clear();
  }

  #followResponse(callId: string, message: SipResponse): void {
    const call = this.#calls.get(callId);
    if (call === undefined || message.status < 200 || !answersInvite(message) || call.toTag !== null) return;
    if (message.status >= 300) return this.end(callId);
    call.toTag = tagOf(message, 'to');
    const dialog = { callId, fromTag: call.fromTag, toTag: call.toTag };
    if (call.held === null) call.held = this.#hold(dialog);
    else call.held.answered(dialog);
  }

  #expectAnswer(callId: string): void {
    this.#answerable.delete(callId);
    this.#answerable.add(callId);
    if (this.#answerable.size > maxAnswerable)
      this.#answerable.delete(this.#answerable.values().next().value as string);
  }
}
