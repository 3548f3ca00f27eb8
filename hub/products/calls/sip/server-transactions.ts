import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../platform/clock.ts';
import { sipTimers, transactionTimeoutMs } from './client-transaction.ts';
import { listOf, parseAddress, parseVia } from './header-values.ts';
import { headerOf, headersOf, writeMessage } from './message.ts';
import type { SipHeaders, SipRequest } from './message.ts';

/** Response to a request. */
export interface SipAnswer {
  status: number;
  reason: string;
  headers?: SipHeaders;
}

/** Concurrent transactions. Further requests are dropped, as if the network had lost them. */
const maxTransactions = 256;
/** Headers that a response copies from its request. */
const neededHeaders = ['from', 'to', 'call-id', 'cseq'];

interface Transaction {
  method: string;
  /** Serialized response. Null until it is known. */
  answer: Buffer | null;
  timers: Set<Disposable>;
  retry: Disposable | null;
}

export interface ServerTransactionsOptions {
  clock: Clock;
  isReliable: boolean;
  remote: { address: string; port: number };
  send: (bytes: Buffer) => void;
  /** Called once per request, without retransmissions, ACK and CANCEL. */
  answer: (request: SipRequest) => SipAnswer | Promise<SipAnswer>;
}

/**
 * Server transactions of one connection (RFC 3261, 17.2, timers G, H, I and J).
 * A retransmitted request gets the same response again. Over UDP, a final response to an INVITE is retransmitted until
 * its ACK arrives, at most 32 s.
 */
export class ServerTransactions implements Disposable {
  readonly #options: ServerTransactionsOptions;
  readonly #transactions = new Map<string, Transaction>();

  constructor(options: ServerTransactionsOptions) {
    this.#options = options;
  }

  receive(request: SipRequest): void {
    const branch = branchOf(request);
    // Drop a request that cannot be answered before any handler acts on it.
    if (branch === null || neededHeaders.some((name) => (headerOf(request, name) ?? '') === '')) return;
    const { method } = request;
    const isOfInvite = method === 'ACK' || method === 'CANCEL';
    const known = this.#transactions.get(`${isOfInvite ? 'INVITE' : method} ${branch}`);
    if (method === 'ACK') {
      if (known !== undefined) this.#confirm(known, branch);
      return;
    }
    if (method === 'CANCEL') {
      // The final response of the INVITE has been sent or follows immediately, so CANCEL has no effect.
      this.#reply(
        request,
        known === undefined
          ? { status: 481, reason: 'Call/Transaction Does Not Exist' }
          : { status: 200, reason: 'OK' },
      );
      return;
    }
    if (known !== undefined) {
      if (known.answer !== null) this.#options.send(known.answer);
      return;
    }
    const key = `${method} ${branch}`;
    if (this.#transactions.size < maxTransactions) this.#begin(request, key).catch(() => this.#forget(key));
  }

  [Symbol.dispose](): void {
    for (const key of this.#transactions.keys()) this.#forget(key);
  }

  async #begin(request: SipRequest, key: string): Promise<void> {
    const { clock, answer, isReliable, send } = this.#options;
    const transaction: Transaction = { method: request.method, answer: null, timers: new Set(), retry: null };
    this.#transactions.set(key, transaction);
    transaction.timers.add(clock.after(transactionTimeoutMs, () => this.#forget(key)));
    let answered: SipAnswer;
    try {
      answered = await answer(request);
    } catch {
      answered = { status: 500, reason: 'Server Internal Error' };
    }
    if (this.#transactions.get(key) !== transaction) return;
    transaction.answer = this.#reply(request, answered);
    if (request.method === 'INVITE' && !isReliable) {
      const bytes = transaction.answer;
      let waitMs: number = sipTimers.t1Ms;
      const again = () => {
        transaction.retry = clock.after(waitMs, () => {
          waitMs = Math.min(2 * waitMs, sipTimers.t2Ms);
          again();
          send(bytes);
        });
      };
      again();
    }
  }

  /** Handles an ACK. The transaction stays for timer I to absorb late ACKs. */
  #confirm(transaction: Transaction, branch: string): void {
    if (transaction.answer === null) return;
    const key = `INVITE ${branch}`;
    if (this.#options.isReliable) {
      this.#forget(key);
      return;
    }
    transaction.retry?.[Symbol.dispose]();
    transaction.retry = null;
    if (transaction.timers.size < 2)
      transaction.timers.add(this.#options.clock.after(sipTimers.t4Ms, () => this.#forget(key)));
  }

  #forget(key: string): void {
    const transaction = this.#transactions.get(key);
    this.#transactions.delete(key);
    transaction?.retry?.[Symbol.dispose]();
    for (const timer of transaction?.timers ?? []) timer[Symbol.dispose]();
  }

  #reply(request: SipRequest, { status, reason, headers = [] }: SipAnswer): Buffer {
    const vias = listOf(request, 'via');
    const [from = '', to = '', callId = '', sequence = ''] = neededHeaders.map((name) => headerOf(request, name));
    const [first = '', ...others] = vias;
    const bytes = writeMessage({
      status,
      reason,
      headers: [
        ...[this.#received(first), ...others].map((via) => ['Via', via] as const),
        ['From', from],
        ['To', parseAddress(to).parameters.has('tag') ? to : `${to};tag=${randomBytes(8).toString('hex')}`],
        ['Call-ID', callId],
        ['CSeq', sequence],
        ...headersOf(request, 'timestamp').map((value) => ['Timestamp', value] as const),
        ...headers,
      ],
    });
    this.#options.send(bytes);
    return bytes;
  }

  /** Adds the source address of the request to its top Via (RFC 3581). */
  #received(via: string): string {
    const { address, port } = this.#options.remote;
    const asks = /;\s*rport\s*(?=;|$)/i;
    return asks.test(via) ? `${via.replace(asks, `;rport=${port}`)};received=${address}` : via;
  }
}

/** Identifies the transaction of a request. Also supports clients older than RFC 3261. */
function branchOf(request: SipRequest): string | null {
  const via = parseVia(listOf(request, 'via')[0] ?? '');
  if (via === null) return null;
  const branch = via.parameters.get('branch') ?? '';
  if (branch.toLowerCase().startsWith('z9hg4bk')) return `${branch} ${via.sentBy}`;
  const number = headerOf(request, 'cseq')?.split(/\s/)[0] ?? '';
  const tag = parseAddress(headerOf(request, 'from') ?? '').parameters.get('tag') ?? '';
  return `${via.sentBy} ${number} ${tag} ${headerOf(request, 'call-id') ?? ''}`;
}
