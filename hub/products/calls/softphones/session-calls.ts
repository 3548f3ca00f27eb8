import { createHash } from 'node:crypto';
import { headerOf, headersOf } from '../sip/index.ts';
import type { SipDialog, SipMessage, SipRequest, SipResponse, SipSides } from '../sip/index.ts';
import type { CallLease } from './call-leases.ts';
import { callIdOf, isInDialog, methodOf, pairOf, tagOf } from './dialog-identifiers.ts';
import { addressOf } from './own-name.ts';
import { RemoteSide } from './remote-side.ts';
import { refuse } from './sip-frames.ts';

interface Call {
  fromTag: string;
  /** Null until it was answered. */
  toTag: string | null;
  /** Under which name it reached the softphone; null where the softphone began it. */
  calledAs: string | null;
  isOwn: boolean;
  /** What asked for it; null where another softphone had it before. */
  invite: SipRequest | null;
  /** What the softphone called, in the place of which its INVITE has the address that it went to. */
  asked: string | null;
  /** Where it is kept; null until it was answered, where it does not count. */
  held: CallLease | null;
  /** Who answers on the other side, by their tags. */
  remotes: Map<string, RemoteSide>;
  /** When it began. */
  at: number;
}

/** A call that nobody answered yet. */
export interface RingingCall {
  invite: SipRequest;
  /** Whether the softphone began it. */
  isOwn: boolean;
}

/** Where a request goes: to an address, by way of others where it is in a call, to a call that there is not, or elsewhere than to the other side of its call. */
export type Direction = { kind: 'to'; uri: string; isRouted: boolean } | { kind: 'unknown' } | { kind: 'elsewhere' };

/** Calls that one softphone has at a time, and those with calls to emergency numbers. */
const [maxCalls, maxCallsInDistress] = [16, 256];
/** Requests that may be answered yet, refused calls whose ACK is to come, and sides that may answer one call. */
const [maxAnswerable, maxRefused, maxRemotes] = [256, 64, 16];

/** Longer than the SIP server waits for a softphone to answer. */
const maxRingMs = 240_000;

export const answersInvite = (message: SipMessage): boolean => methodOf(message) === 'INVITE';

/** The calls that a softphone has, as what goes by tells; bounded, whatever goes by. */
export class SessionCalls {
  readonly #calls = new Map<string, Call>();
  /** The final status that each has got; 0 until then. */
  readonly #answerable = new Map<string, number>();
  /** Where the ACK of calls goes that the other side refused. */
  readonly #refused = new Map<string, Pick<Call, 'asked' | 'invite'>>();
  readonly #hold: (dialog: SipDialog) => CallLease;
  readonly #now: () => number;

  /** @param hold keeps a call that was answered. */
  constructor(hold: (dialog: SipDialog) => CallLease, now: () => number) {
    this.#hold = hold;
    this.#now = now;
  }

  get isFull(): boolean {
    return this.#calls.size >= maxCalls;
  }

  /** Also where somebody in distress calls. */
  get isOverfull(): boolean {
    return this.#calls.size >= maxCallsInDistress;
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

  /** Whether there is a call under this Call-ID, so that another can't have it. */
  has(callId: string): boolean {
    return this.#calls.has(callId);
  }

  /** What the other side is answered where this softphone can't have its call; null where it can. */
  refuse(message: SipMessage): Buffer | null {
    if (message.kind === 'response' || message.method !== 'INVITE' || isInDialog(message)) return null;
    if (this.has(callIdOf(message))) return refuse(message, 482, 'Call-ID In Use');
    // Of what was never answered nobody tells that it is over.
    for (const [callId, { isOwn, toTag, at }] of this.#calls)
      if (!isOwn && toTag === null && at < this.#now() - maxRingMs) this.end(callId);
    return this.isFull ? refuse(message, 486, 'Busy Here') : null;
  }

  /** Whether a response of the softphone answers what it was asked, and agrees with what it answered before. */
  mayAnswer(response: SipResponse): boolean {
    const before = this.#answerable.get(keyOf(response));
    return before !== undefined && (before === 0 || before === response.status);
  }

  /** Where a request goes that the softphone sends in a call, or of an INVITE of its own. */
  directionOf(request: SipRequest): Direction {
    const callId = callIdOf(request);
    const call = this.#calls.get(callId);
    const isAck = request.method === 'ACK';
    const asked = call?.toTag === null && call.isOwn ? call : this.#refused.get(callId);
    // Of an INVITE that nobody took, the address is that of the INVITE.
    if (
      (isAck || request.method === 'CANCEL') &&
      asked?.invite &&
      [asked.asked, asked.invite.uri].includes(request.uri)
    )
      return { kind: 'to', uri: asked.invite.uri, isRouted: false };
    if (call === undefined || (request.method === 'BYE' && call.toTag === null)) return { kind: 'unknown' };
    const remote = remoteOf(call, request);
    if (remote === undefined) return { kind: 'unknown' };
    const uri = remote.targetLike(request.uri);
    return uri !== null && remote.leads(request) ? { kind: 'to', uri, isRouted: true } : { kind: 'elsewhere' };
  }

  /** Goes on with a call that another softphone of the same person had. @param sides as the SIP server knows them. */
  takeUp({ callId, fromTag, toTag }: SipDialog, held: CallLease, sides: SipSides): void {
    const remote = new RemoteSide(sides);
    const remotes = new Map([fromTag, toTag].map((tag) => [tag, remote]));
    this.#calls.set(callId, {
      fromTag,
      toTag,
      held,
      remotes,
      calledAs: null,
      isOwn: false,
      invite: null,
      asked: null,
      at: this.#now(),
    });
  }

  /**
   * Follows what is passed on. @param isOwn whether the softphone sent it. @param begun of an INVITE: what the softphone called, and where it is kept if
   * it counts.
   */
  follow(message: SipMessage, isOwn: boolean, begun: { asked: string; held: CallLease | null } | null = null): void {
    const callId = callIdOf(message);
    if (message.kind === 'response') {
      if (isOwn) this.#followAnswer(callId, message);
      else this.#followResponse(callId, message);
      return;
    }
    if (!isOwn) this.#expectAnswer(message);
    if (isInDialog(message)) {
      if (!isOwn) this.#followRemote(callId, message);
      return;
    }
    if (message.method !== 'INVITE') return;
    const call: Call = {
      fromTag: tagOf(message, 'from'),
      toTag: null,
      calledAs: isOwn ? null : (addressOf(headerOf(message, 'to') ?? '')?.address ?? null),
      isOwn,
      invite: message,
      asked: begun?.asked ?? null,
      held: begun?.held ?? null,
      remotes: new Map(),
      at: this.#now(),
    };
    if (!isOwn) learn(call, message, call.fromTag);
    this.#calls.set(callId, call);
  }

  /** A call that the softphone took leave of and that the other side has not said to be over; null where there is none. */
  left(response: SipResponse): SipDialog | null {
    if (response.status < 300 || methodOf(response) !== 'BYE') return null;
    const callId = callIdOf(response);
    return this.answered.find((dialog) => dialog.callId === callId && isOf(response, dialog)) ?? null;
  }

  /** A call that was answered, while nothing said that it is over. */
  lasting({ callId, toTag }: SipDialog): SipDialog | null {
    return this.answered.find((dialog) => dialog.callId === callId && dialog.toTag === toTag) ?? null;
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

  /** The softphone answers. */
  #followAnswer(callId: string, message: SipResponse): void {
    const key = keyOf(message);
    if (message.status >= 200) this.#answerable.set(key, message.status);
    const call = this.#calls.get(callId);
    if (call?.invite && !call.isOwn && keyOf(call.invite) === key) this.#settle(callId, call, message);
  }

  /** The other side, or the SIP server, answers. */
  #followResponse(callId: string, message: SipResponse): void {
    const call = this.#calls.get(callId);
    if (call === undefined) return;
    const [method, to] = [methodOf(message), tagOf(message, 'to')];
    if (method === 'BYE' && message.status >= 200 && message.status < 300 && isOf(message, call))
      return this.end(callId);
    if ((method === 'INVITE' || method === 'UPDATE') && message.status < 300) learn(call, message, to);
    if (call.isOwn && method === 'INVITE' && headerOf(message, 'cseq') === headerOf(call.invite as SipRequest, 'cseq'))
      this.#settle(callId, call, message);
  }

  /** The other side asks. */
  #followRemote(callId: string, message: SipRequest): void {
    const call = this.#calls.get(callId);
    if (call === undefined) return;
    if (message.method === 'BYE' && isOf(message, call)) this.end(callId);
    if (message.method === 'INVITE' || message.method === 'UPDATE') learn(call, message, tagOf(message, 'from'));
  }

  #settle(callId: string, call: Call, { status, ...rest }: SipResponse): void {
    if (status < 200 || call.toTag !== null) return;
    if (status >= 300) {
      if (call.isOwn) keep(this.#refused, callId, call, maxRefused);
      return this.end(callId);
    }
    call.toTag = tagOf({ status, ...rest }, 'to');
    const dialog = { callId, fromTag: call.fromTag, toTag: call.toTag };
    if (call.held === null) call.held = this.#hold(dialog);
    else call.held.answered(dialog);
  }

  #expectAnswer(request: SipRequest): void {
    if (request.method !== 'ACK') keep(this.#answerable, keyOf(request), 0, maxAnswerable);
  }
}

/** By what a SIP server knows which request is answered. */
function keyOf(message: SipMessage): string {
  const known = [callIdOf(message), tagOf(message, 'from'), headerOf(message, 'cseq'), ...headersOf(message, 'via')];
  return createHash('sha256').update(known.join('\n')).digest('base64');
}

const isOf = (message: SipMessage, { fromTag, toTag }: Pick<Call, 'fromTag' | 'toTag'>): boolean =>
  toTag !== null && pairOf(tagOf(message, 'from'), tagOf(message, 'to')) === pairOf(fromTag, toTag);

/** To whom a request of the softphone speaks in a call. */
function remoteOf(call: Call, request: SipRequest): RemoteSide | undefined {
  const [local, remote] = [tagOf(request, 'from'), tagOf(request, 'to')];
  const isMine =
    call.invite === null ? isOf(request, call) : call.isOwn ? local === call.fromTag : local === (call.toTag ?? local);
  return isMine ? call.remotes.get(remote) : undefined;
}

function learn({ remotes }: Call, message: SipMessage, tag: string): void {
  const known = remotes.get(tag);
  if (known === undefined && (tag === '' || remotes.size >= maxRemotes)) return;
  const remote = known ?? new RemoteSide();
  remotes.set(tag, remote);
  remote.learn(message);
}

function keep<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) map.delete(map.keys().next().value as string);
}
