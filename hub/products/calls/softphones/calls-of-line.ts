import { parseAddress } from '../../../platform/sip/header-values.ts';
import { headerOf } from '../../../platform/sip/message.ts';
import type { SipMessage, SipRequest } from '../../../platform/sip/message.ts';
import type { SipDialog } from '../../../platform/sip/sip-server.ts';
import type { Dial } from './dials.ts';
import { addressOf } from './own-name.ts';

interface Call {
  fromTag: string;
  /** Null until it was answered. */
  toTag: string | null;
  /** Under which name it reached the softphone; null where the softphone began it. */
  calledAs: string | null;
  /** What asked for it, where the softphone did. */
  invite: SipRequest | null;
  /** Where it counts. */
  dial: Dial | null;
}

/** Calls that one softphone has at a time. */
export const maxCallsOfLine = 16;
/** Call-IDs of requests that may be answered yet. */
const maxAnswerable = 256;

const tagOf = (message: SipMessage, name: 'from' | 'to'): string =>
  parseAddress(headerOf(message, name) ?? '').parameters.get('tag') ?? '';

export const callIdOf = (message: SipMessage): string => headerOf(message, 'call-id') ?? '';

export const isInDialog = (message: SipMessage): boolean => tagOf(message, 'to') !== '';

const answersInvite = (message: SipMessage): boolean => /\sINVITE$/i.test(headerOf(message, 'cseq') ?? '');

/** The calls that a softphone has, as what goes by tells; bounded, whatever goes by. */
export class CallsOfLine {
  readonly #calls = new Map<string, Call>();
  readonly #answerable = new Set<string>();

  get isFull(): boolean {
    return this.#calls.size >= maxCallsOfLine;
  }

  calledAs(callId: string): string | undefined {
    return this.#calls.get(callId)?.calledAs ?? undefined;
  }

  /** Whether the other side asked something under this Call-ID, so that there is something to answer. */
  isAnswerable(callId: string): boolean {
    return this.#answerable.has(callId);
  }

  /** Follows what is passed on. @param isOwn whether the softphone sent it. @param dial of an INVITE that counts. */
  follow(message: SipMessage, isOwn: boolean, dial: Dial | null = null): void {
    const callId = callIdOf(message);
    if (message.kind === 'response') {
      this.#followResponse(callId, message.status, message);
      return;
    }
    if (!isOwn) this.#expectAnswer(callId);
    if (message.method === 'BYE') this.#end(callId);
    if (message.method !== 'INVITE' || isInDialog(message) || this.isFull) return;
    this.#end(callId);
    this.#calls.set(callId, {
      fromTag: tagOf(message, 'from'),
      toTag: null,
      calledAs: isOwn ? null : (addressOf(headerOf(message, 'to') ?? '')?.address ?? null),
      invite: isOwn ? message : null,
      dial,
    });
  }

  /** Those that were answered, and those that the softphone began and nobody answered yet; none is known any more then. */
  takeAll(): { answered: SipDialog[]; asking: SipRequest[] } {
    const calls = [...this.#calls];
    for (const [callId] of calls) this.#end(callId);
    return {
      answered: calls.flatMap(([callId, { fromTag, toTag }]) => (toTag === null ? [] : [{ callId, fromTag, toTag }])),
      asking: calls.flatMap(([, { toTag, invite }]) => (toTag === null && invite !== null ? [invite] : [])),
    };
  }

  #followResponse(callId: string, status: number, message: SipMessage): void {
    const call = this.#calls.get(callId);
    if (call === undefined || status < 200 || !answersInvite(message) || call.toTag !== null) return;
    if (status >= 300) return this.#end(callId);
    call.toTag = tagOf(message, 'to');
    call.dial?.answered();
  }

  #end(callId: string): void {
    this.#calls.get(callId)?.dial?.ended();
    this.#calls.delete(callId);
  }

  #expectAnswer(callId: string): void {
    this.#answerable.delete(callId);
    this.#answerable.add(callId);
    if (this.#answerable.size > maxAnswerable)
      this.#answerable.delete(this.#answerable.values().next().value as string);
  }
}
