import { createHash } from 'node:crypto';
import { headerOf, headersOf, listOf, parseAddress } from '../sip/index.ts';
import type { SipDialog, SipMessage, SipRequest, SipResponse, SipSides } from '../sip/index.ts';
import type { CallLease } from './call-leases.ts';
import { callIdOf, isInDialog, methodOf, pairOf, tagOf } from './dialog-identifiers.ts';
import { addressOf } from './own-addresses.ts';
import { refuse } from './sip-frames.ts';

interface Call {
  fromTag: string;
  /** Null until the call is answered. */
  toTag: string | null;
  /** Address that the INVITE of a received call used. Null for a call that the softphone started. */
  calledAs: string | null;
  /** Whether the softphone started the call. */
  isOwn: boolean;
  /** The INVITE as forwarded. Null if another softphone had the call before. */
  invite: SipRequest | null;
  /** The address that the softphone dialled. The forwarded INVITE contains the normalized address. */
  dialledUri: string | null;
  /** Null for an uncounted call until it is answered. */
  lease: CallLease | null;
  /** Remote sides that may answer, by tag. */
  remotes: Map<string, RemoteSide>;
  /** Start of the call. */
  startedAt: number;
}

/** An unanswered call. */
export interface RingingCall {
  invite: SipRequest;
  /** Whether the softphone started the call. */
  isOwn: boolean;
}

/** Destination of a request: an address of its call, an unknown call, or an address outside its call. */
export type Destination =
  | { kind: 'known'; uri: string; isRouted: boolean }
  | { kind: 'unknownCall' }
  | { kind: 'foreignAddress' };

/** Calls per softphone, without and with emergency calls. */
const [maxCalls, maxCallsWithEmergency] = [16, 256];
/** Unanswered requests, refused calls that wait for their ACK, and remote sides per call. */
const [maxAnswerable, maxRefused, maxRemotes] = [256, 64, 16];
/** Recent Contacts that requests may use. A request can be in transit when the Contact changes. */
const maxTargets = 4;
const maxRoutes = 32;

/** Longer than the SIP server waits for a softphone to answer. */
const maxRingMs = 240_000;

export const answersInvite = (message: SipMessage): boolean => methodOf(message) === 'INVITE';

/** The calls of one softphone, derived from the messages in both directions. All collections are bounded. */
export class SessionCalls {
  readonly #calls = new Map<string, Call>();
  /** Final status of each answerable request. 0 while there is none. */
  readonly #answerable = new Map<string, number>();
  /** Calls that the remote side refused, until their ACK. */
  readonly #refused = new Map<string, Pick<Call, 'dialledUri' | 'invite'>>();
  readonly #track: (dialog: SipDialog) => CallLease;
  readonly #now: () => number;

  /** @param track stores an answered call. */
  constructor(track: (dialog: SipDialog) => CallLease, now: () => number) {
    this.#track = track;
    this.#now = now;
  }

  get isFull(): boolean {
    return this.#calls.size >= maxCalls;
  }

  /** Whether no call fits any more, not even to an emergency number. */
  get isFullForEmergency(): boolean {
    return this.#calls.size >= maxCallsWithEmergency;
  }

  /** Dialogs of the answered calls. */
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

  /** Whether a call uses this Call-ID. Another call must not use it. */
  has(callId: string): boolean {
    return this.#calls.has(callId);
  }

  /** The response to an INVITE that this softphone cannot receive, or null. */
  refuse(message: SipMessage): Buffer | null {
    if (message.kind === 'response' || message.method !== 'INVITE' || isInDialog(message)) return null;
    if (this.has(callIdOf(message))) return refuse(message, 482, 'Call-ID In Use');
    // A call that was never answered may end without any further message.
    for (const [callId, { isOwn, toTag, startedAt }] of this.#calls)
      if (!isOwn && toTag === null && startedAt < this.#now() - maxRingMs) this.end(callId);
    return this.isFull ? refuse(message, 486, 'Busy Here') : null;
  }

  /** Whether a response answers a received request and agrees with its earlier final response. */
  mayAnswer(response: SipResponse): boolean {
    const before = this.#answerable.get(keyOf(response));
    return before !== undefined && (before === 0 || before === response.status);
  }

  /** The destination of a request within a call, or of an ACK or CANCEL for an INVITE of the softphone. */
  destinationOf(request: SipRequest): Destination {
    const callId = callIdOf(request);
    const call = this.#calls.get(callId);
    const isAck = request.method === 'ACK';
    const unanswered = call?.toTag === null && call.isOwn ? call : this.#refused.get(callId);
    // An ACK or CANCEL for an unanswered INVITE uses the address of the INVITE.
    if (
      (isAck || request.method === 'CANCEL') &&
      unanswered?.invite &&
      [unanswered.dialledUri, unanswered.invite.uri].includes(request.uri)
    )
      return { kind: 'known', uri: unanswered.invite.uri, isRouted: false };
    if (call === undefined || (request.method === 'BYE' && call.toTag === null)) return { kind: 'unknownCall' };
    const remote = remoteOf(call, request);
    if (remote === undefined) return { kind: 'unknownCall' };
    const uri = remote.targetLike(request.uri);
    return uri !== null && remote.hasRoutesOf(request)
      ? { kind: 'known', uri, isRouted: true }
      : { kind: 'foreignAddress' };
  }

  /** Takes over a call from another softphone of the same user. @param sides both sides as known to the SIP server. */
  resume({ callId, fromTag, toTag }: SipDialog, lease: CallLease, sides: SipSides): void {
    const remote = new RemoteSide(sides);
    const remotes = new Map([fromTag, toTag].map((tag) => [tag, remote]));
    this.#calls.set(callId, {
      fromTag,
      toTag,
      lease,
      remotes,
      calledAs: null,
      isOwn: false,
      invite: null,
      dialledUri: null,
      startedAt: this.#now(),
    });
  }

  /**
   * Updates the calls from a forwarded message.
   * @param isOwn whether the softphone sent the message.
   * @param dial for an INVITE: the dialled address, and the lease of a counted call.
   */
  follow(
    message: SipMessage,
    isOwn: boolean,
    dial: { dialledUri: string; lease: CallLease | null } | null = null,
  ): void {
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
      dialledUri: dial?.dialledUri ?? null,
      lease: dial?.lease ?? null,
      remotes: new Map(),
      startedAt: this.#now(),
    };
    if (!isOwn) updateRemoteSide(call, message, call.fromTag);
    this.#calls.set(callId, call);
  }

  /** The answered call whose BYE got an error response, or null. The remote side has not ended it. */
  afterFailedBye(response: SipResponse): SipDialog | null {
    if (response.status < 300 || methodOf(response) !== 'BYE') return null;
    const callId = callIdOf(response);
    return this.answered.find((dialog) => dialog.callId === callId && isOf(response, dialog)) ?? null;
  }

  /** The call if it is answered and not ended, otherwise null. */
  lasting({ callId, toTag }: SipDialog): SipDialog | null {
    return this.answered.find((dialog) => dialog.callId === callId && dialog.toTag === toTag) ?? null;
  }

  end(callId: string): void {
    this.#calls.get(callId)?.lease?.ended();
    this.#calls.delete(callId);
  }

  /** Detaches all calls when the softphone disconnects. */
  detach(): void {
    for (const { lease } of this.#calls.values()) lease?.detached();
    this.#calls.clear();
  }

  /** Handles a response of the softphone. */
  #followAnswer(callId: string, message: SipResponse): void {
    const key = keyOf(message);
    if (message.status >= 200) this.#answerable.set(key, message.status);
    const call = this.#calls.get(callId);
    if (call?.invite && !call.isOwn && keyOf(call.invite) === key) this.#settle(callId, call, message);
  }

  /** Handles a response of the remote side or the SIP server. */
  #followResponse(callId: string, message: SipResponse): void {
    const call = this.#calls.get(callId);
    if (call === undefined) return;
    const [method, to] = [methodOf(message), tagOf(message, 'to')];
    if (method === 'BYE' && message.status >= 200 && message.status < 300 && isOf(message, call))
      return this.end(callId);
    if ((method === 'INVITE' || method === 'UPDATE') && message.status < 300) updateRemoteSide(call, message, to);
    if (call.isOwn && method === 'INVITE' && headerOf(message, 'cseq') === headerOf(call.invite as SipRequest, 'cseq'))
      this.#settle(callId, call, message);
  }

  /** Handles a request of the remote side. */
  #followRemote(callId: string, message: SipRequest): void {
    const call = this.#calls.get(callId);
    if (call === undefined) return;
    if (message.method === 'BYE' && isOf(message, call)) this.end(callId);
    if (message.method === 'INVITE' || message.method === 'UPDATE')
      updateRemoteSide(call, message, tagOf(message, 'from'));
  }

  #settle(callId: string, call: Call, { status, ...rest }: SipResponse): void {
    if (status < 200 || call.toTag !== null) return;
    if (status >= 300) {
      if (call.isOwn) setBounded(this.#refused, callId, call, maxRefused);
      return this.end(callId);
    }
    call.toTag = tagOf({ status, ...rest }, 'to');
    const dialog = { callId, fromTag: call.fromTag, toTag: call.toTag };
    if (call.lease === null) call.lease = this.#track(dialog);
    else call.lease.answered(dialog);
  }

  #expectAnswer(request: SipRequest): void {
    if (request.method !== 'ACK') setBounded(this.#answerable, keyOf(request), 0, maxAnswerable);
  }
}

/** Identifies a request and its responses. */
function keyOf(message: SipMessage): string {
  const known = [callIdOf(message), tagOf(message, 'from'), headerOf(message, 'cseq'), ...headersOf(message, 'via')];
  return createHash('sha256').update(known.join('\n')).digest('base64');
}

const isOf = (message: SipMessage, { fromTag, toTag }: Pick<Call, 'fromTag' | 'toTag'>): boolean =>
  toTag !== null && pairOf(tagOf(message, 'from'), tagOf(message, 'to')) === pairOf(fromTag, toTag);

/** The remote side that a request of the softphone addresses. */
function remoteOf(call: Call, request: SipRequest): RemoteSide | undefined {
  const [local, remote] = [tagOf(request, 'from'), tagOf(request, 'to')];
  const isMine =
    call.invite === null ? isOf(request, call) : call.isOwn ? local === call.fromTag : local === (call.toTag ?? local);
  return isMine ? call.remotes.get(remote) : undefined;
}

function updateRemoteSide({ remotes }: Call, message: SipMessage, tag: string): void {
  const known = remotes.get(tag);
  if (known === undefined && (tag === '' || remotes.size >= maxRemotes)) return;
  const remote = known ?? new RemoteSide();
  remotes.set(tag, remote);
  remote.update(message);
}

function setBounded<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) map.delete(map.keys().next().value as string);
}

/** Contacts and routes of the remote side of a call. */
class RemoteSide {
  /** Contacts, newest last. */
  #targets: string[];
  readonly #routes: Set<string>;

  constructor({ targets, routes }: SipSides = { targets: [], routes: [] }) {
    this.#targets = targets;
    this.#routes = new Set(routes);
  }

  update(message: SipMessage): void {
    const contacts = listOf(message, 'contact');
    const [contact = ''] = contacts;
    const { uri } = parseAddress(contact);
    if (contacts.length === 1 && locationOf(uri) !== null)
      this.#targets = [...this.#targets.filter((each) => each !== uri), uri].slice(-maxTargets);
    for (const value of listOf(message, 'record-route'))
      if (this.#routes.size < maxRoutes) this.#routes.add(parseAddress(value).uri.toLowerCase());
  }

  /** The known Contact that a URI is equivalent to, or null. */
  targetLike(uri: string): string | null {
    const location = locationOf(uri);
    return (
      (location === null ? undefined : this.#targets.findLast((target) => locationOf(target) === location)) ?? null
    );
  }

  /** Whether all Route headers of a request are routes of this call. */
  hasRoutesOf(request: SipRequest): boolean {
    return listOf(request, 'route').every((value) => {
      const uri = /^<([^<>"\s]+)>(?:;[^<>"]*)?$/.exec(value)?.[1]?.toLowerCase() ?? '';
      return this.#routes.has(uri) || this.#routes.has(uri.split(';', 1)[0] as string);
    });
  }
}

/** User, host and port of a URI. Null for an invalid URI. */
function locationOf(uri: string): string | null {
  const [, user, host] = /^sips?:(?:([^@;?\s]*)@)?([^@;?\s]+)(?:[;?]\S*)?$/i.exec(uri) ?? [];
  if (host === undefined) return null;
  try {
    return `${decodeURIComponent(user ?? '')}@${host.toLowerCase()}`;
  } catch {
    return null;
  }
}
