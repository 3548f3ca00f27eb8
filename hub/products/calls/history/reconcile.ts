import { AppError } from '../../../../shared/errors.ts';
import { EgressFailed, EgressRefused } from '../../../platform/egress/egress.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { readTwilioCall } from '../carrier/index.ts';
import type { CarrierConnections, ListedConnection } from '../connections/index.ts';
import type { Calls } from '../records/index.ts';

/** What came of comparing calls with the lists of carriers. */
export interface ReconcileOutcome {
  connections: number;
  read: number;
  /** Records that were missed, or say more than before. */
  changed: number;
  /** Connections whose carrier could not be asked, and why; those before stand. */
  failed: { connectionId: string; message: string }[];
}

export interface ReconcileDependencies {
  calls: Calls;
  connections: CarrierConnections;
  egress: Egress;
  logger: Logger;
  /** The time, and a wait between tries; for tests. */
  now: () => Date;
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

const dayMs = 86_400_000;
/** A call that began before the last comparison may have ended since. */
const overlapMs = dayMs;
/** How far back the first comparison of a connection goes. */
const firstDays = 7;
const pageSize = 1_000;
const maxPageBytes = 16 * 1024 * 1024;
/** More than any account has in a day. */
const maxPagesOfDay = 2_000;
const requestTimeoutMs = 30_000;
const retryMs = [1_000, 5_000, 20_000];
/** The others come with the next turn. */
const connectionsOfTurn = 500;
/** So that a slow carrier keeps few others waiting. */
const connectionsAtOnce = 8;
/** What one connection may take of a night's turn; the next turn goes on from the page that it came to. */
const turnMs = 120_000;
/** Connections of which it is kept how far a turn came; those beyond begin with the days that are not noted yet. */
const maxPlaces = 1_000;
const firstId = '00000000-0000-0000-0000-000000000000';
/** When the night's comparison begins, in hours of UTC. */
const nightHour = 2;

/** How far a turn came in the list of one connection. */
interface Place {
  from: Date;
  to: Date;
  /** The page that comes next; null for the first of its day. */
  next: string | null;
  /** Pages of its day that were read. */
  pages: number;
}

/** Compares records with the lists of carriers, which try a callback for 15 s only: what was missed is made up for. */
export class Reconciliation {
  readonly #deps: ReconcileDependencies;
  /** Where the last turn ended: those that fail each time come again only after all others. */
  #after = firstId;
  /** Of connections whose list did not fit into a turn, by their account. */
  readonly #places = new Map<string, Place>();

  constructor(dependencies: ReconcileDependencies) {
    this.#deps = dependencies;
  }

  /** The calls of a workspace since a time, of each connection whose carrier has a list. */
  async since(tenantId: string, since: Date, signal: AbortSignal): Promise<ReconcileOutcome> {
    const listed = await this.#deps.connections.listed(tenantId);
    return this.#all(
      listed.map((connection) => ({ connection, since })),
      null,
      signal,
    );
  }

  /** Those that were not compared this night; part of the sweep. */
  async nightly(signal: AbortSignal): Promise<ReconcileOutcome> {
    const now = this.#deps.now();
    const night = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), nightHour);
    const begun = now.getTime() >= night ? night : night - dayMs;
    const due = await this.#deps.connections.due(new Date(begun), this.#after, connectionsOfTurn);
    this.#after = (due.length === connectionsOfTurn ? due.at(-1)?.id : undefined) ?? firstId;
    const outcome = await this.#all(
      due.map((connection) => ({
        connection,
        since: new Date((connection.reconciledAt?.getTime() ?? now.getTime() - firstDays * dayMs) - overlapMs),
      })),
      turnMs,
      signal,
    );
    for (const { connectionId, message } of outcome.failed)
      this.#deps.logger.warn(
        { connectionId, reason: message },
        'the list of a carrier could not be read; it is tried again',
      );
    return outcome;
  }

  async #all(
    all: readonly { connection: ListedConnection; since: Date }[],
    budgetMs: number | null,
    signal: AbortSignal,
  ): Promise<ReconcileOutcome> {
    const outcome: ReconcileOutcome = { connections: all.length, read: 0, changed: 0, failed: [] };
    const waiting = all.values();
    const work = async () => {
      for (const { connection, since } of waiting) {
        const timeout = budgetMs === null ? null : AbortSignal.timeout(budgetMs);
        try {
          if (timeout === null) await this.#connection(connection, firstOf(since), outcome, signal);
          else await this.#goOn(connection, since, outcome, AbortSignal.any([signal, timeout]));
        } catch (error) {
          signal.throwIfAborted();
          // Whatever it is, it is of this connection: what its carrier or its workspace chose ends no other's night.
          outcome.failed.push({ connectionId: connection.id, message: this.#reasonOf(error, connection, timeout) });
        }
      }
    };
    await Promise.all(Array.from({ length: connectionsAtOnce }, work));
    return outcome;
  }

  #reasonOf(error: unknown, { id }: ListedConnection, timeout: AbortSignal | null): string {
    if (timeout?.aborted === true) return 'The list takes longer than it may at once; it goes on with the next turn.';
    if (error instanceof AppError || error instanceof EgressFailed || error instanceof EgressRefused)
      return error.message;
    this.#deps.logger.error({ err: error, connectionId: id }, 'the calls of a connection could not be compared');
    return 'Its calls could not be compared; the log says why.';
  }

  /** From where the last turn was cut off: with the day before, which is compared again, a day may be more than fits into one. */
  async #goOn(connection: ListedConnection, since: Date, outcome: ReconcileOutcome, signal: AbortSignal) {
    // Of another account the pages are others.
    const key = [connection.id, connection.apiBaseUrl, connection.accountSid].join(' ');
    const kept = this.#places.get(key);
    this.#places.delete(key);
    // Whatever came further meanwhile is noted.
    const place = kept !== undefined && kept.to > since ? kept : firstOf(since);
    try {
      await this.#connection(connection, place, outcome, signal);
    } catch (error) {
      // A page that is answered with an error may be one that is there no longer.
      if (!(error instanceof AppError)) this.#keep(key, place);
      throw error;
    }
  }

  #keep(key: string, place: Place): void {
    this.#places.set(key, place);
    for (const oldest of this.#places.keys()) {
      if (this.#places.size <= maxPlaces) return;
      this.#places.delete(oldest);
    }
  }

  /** Day by day, the oldest first, and each noted once it is done. */
  async #connection(connection: ListedConnection, place: Place, outcome: ReconcileOutcome, signal: AbortSignal) {
    const { connections, now } = this.#deps;
    const end = now();
    const firstDay = new Date(end.getTime() - firstDays * dayMs);
    const authToken = connection.authToken();
    while (place.from < end) {
      // The pages behind the first are of the day as that one was asked for.
      if (place.next === null) {
        place.to = new Date(Math.min(place.from.getTime() + dayMs, end.getTime()));
        place.pages = 0;
      }
      await this.#day(connection, authToken, place, outcome, signal);
      await connections.noteReconciled(connection.id, place, firstDay);
      Object.assign(place, firstOf(place.to));
    }
  }

  /** The pages of a day, from its place on, which moves with each that was read. */
  async #day(
    connection: ListedConnection,
    authToken: string,
    place: Place,
    outcome: ReconcileOutcome,
    signal: AbortSignal,
  ) {
    const { calls } = this.#deps;
    const { tenantId } = connection;
    const day = place.from.toISOString();
    const seen = new Set<string>();
    for (let url: string | null = place.next ?? firstPage(connection, place); url !== null; url = place.next) {
      signal.throwIfAborted();
      if (seen.has(url))
        throw new AppError('unavailable', `The list of Twilio for ${day} leads back to a page before.`);
      if (place.pages === maxPagesOfDay)
        throw new AppError('unavailable', `Twilio lists more than ${maxPagesOfDay} pages for ${day}.`);
      seen.add(url);
      const page = await this.#page(connection, authToken, url, signal);
      if (page.calls.length === 0) return;
      const events = page.calls.map(readTwilioCall).filter((event) => event !== null);
      outcome.read += events.length;
      const changed = events.length === 0 ? 0 : await calls.mergeAll(tenantId, events);
      outcome.changed += changed;
      place.next = page.next;
      place.pages += 1;
    }
  }

  async #page(connection: ListedConnection, authToken: string, url: string, signal: AbortSignal) {
    const { egress, pause } = this.#deps;
    const authorization = `Basic ${Buffer.from(`${connection.accountSid}:${authToken}`).toString('base64')}`;
    for (let tries = 0; ; tries += 1) {
      const wait = retryMs[tries];
      try {
        const { status, body } = await egress.fetch(url, {
          method: 'GET',
          headers: { accept: 'application/json', authorization },
          signal,
          timeoutMs: requestTimeoutMs,
          maxResponseBytes: maxPageBytes,
          followsRedirects: false,
        });
        if (status === 200) return parsePage(body, connection.apiBaseUrl);
        if (wait === undefined || (status !== 429 && status < 500))
          throw new AppError(
            'unavailable',
            status === 401
              ? 'Twilio does not take this accountSid with this authToken (401).'
              : `Twilio answered ${status}.`,
          );
      } catch (error) {
        if (!(error instanceof EgressFailed) || wait === undefined) throw error;
      }
      await pause(wait, signal);
    }
  }
}

const firstOf = (from: Date): Place => ({ from, to: from, next: null, pages: 0 });

function firstPage({ apiBaseUrl, accountSid }: ListedConnection, { from, to }: Place): string {
  const query = new URLSearchParams({
    PageSize: String(pageSize),
    'StartTime>': twilioTime(from),
    'StartTime<': twilioTime(to),
  });
  return `${apiBaseUrl}/2010-04-01/Accounts/${accountSid}/Calls.json?${query.toString()}`;
}

/** As Twilio takes it, to the second. */
const twilioTime = (at: Date) => `${at.toISOString().slice(0, 19)}Z`;

/** @throws AppError `unavailable` for what is no page, or leads elsewhere. */
function parsePage(body: Buffer, apiBaseUrl: string): { calls: Record<string, unknown>[]; next: string | null } {
  let page: { calls?: unknown; next_page_uri?: unknown };
  try {
    page = JSON.parse(body.toString('utf8')) as typeof page;
  } catch (error) {
    throw new AppError('unavailable', 'Twilio answered something that is no JSON.', { cause: error });
  }
  if (!Array.isArray(page.calls)) throw new AppError('unavailable', 'Twilio answered no list of calls.');
  const calls = page.calls.filter((call) => typeof call === 'object' && call !== null) as Record<string, unknown>[];
  const { next_page_uri: uri } = page;
  if (typeof uri !== 'string' || uri === '') return { calls, next: null };
  // The auth token goes with it, so it goes nowhere else.
  const next = URL.parse(uri, `${apiBaseUrl}/`);
  if (next === null || next.origin !== new URL(apiBaseUrl).origin)
    throw new AppError('unavailable', 'The next page of the list of Twilio is at another address.');
  return { calls, next: next.href };
}
