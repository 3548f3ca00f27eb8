import { AppError } from '../../../../shared/errors.ts';
import { EgressFailed, EgressRefused } from '../../../platform/egress/egress.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { readTwilioCall } from '../carrier/index.ts';
import type { CarrierConnections, ListedConnection } from '../connections/index.ts';
import type { Calls } from '../records/index.ts';

/** Result of comparing stored calls with the lists of carriers. */
export interface ReconcileOutcome {
  connections: number;
  read: number;
  /** Records that are new or changed. */
  changed: number;
  /** Connections whose comparison failed, with reasons. Changes made before the failure are stored. */
  failed: { connectionId: string; message: string }[];
}

export interface ReconcileDependencies {
  calls: Calls;
  connections: CarrierConnections;
  egress: Egress;
  logger: Logger;
  /** The current time and the wait between attempts; tests replace both. */
  now: () => Date;
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

const dayMs = 86_400_000;
/** Overlap with the previous comparison, for calls that ended after it. */
const overlapMs = dayMs;
/** Days that the first comparison of a connection covers. */
const firstDays = 7;
const pageSize = 1_000;
const maxPageBytes = 16 * 1024 * 1024;
/** Upper bound of pages per day; no real account reaches it. */
const maxPagesPerDay = 2_000;
const requestTimeoutMs = 30_000;
const retryMs = [1_000, 5_000, 20_000];
/** Connections per pass. The next pass continues with the others. */
const connectionsPerPass = 500;
/** Parallel connections per pass, so that a slow carrier delays few others. */
const connectionConcurrency = 8;
/** Time limit per connection and pass. The next pass resumes at the page where this pass stopped. */
const passBudgetMs = 120_000;
/** Connections whose position is stored between passes. Others restart at their first unconfirmed day. */
const maxStoredPositions = 1_000;
const firstId = '00000000-0000-0000-0000-000000000000';
/** Start of the nightly comparison, hour in UTC. */
const nightHour = 2;

/** Position in the call list of one connection. */
interface ListPosition {
  from: Date;
  to: Date;
  /** URL of the next page. Null means the first page of the day. */
  next: string | null;
  /** Pages of the day that were read. */
  pages: number;
}

/**
 * Compares stored calls with the call lists of carriers and adds missing data. Carriers retry a failed callback for
 * only 15 s.
 */
export class Reconciliation {
  readonly #deps: ReconcileDependencies;
  /** ID of the last connection of the previous pass. Connections that always fail therefore come last. */
  #after = firstId;
  /** Positions in lists that did not fit into one pass, by connection and account. */
  readonly #positions = new Map<string, ListPosition>();

  constructor(dependencies: ReconcileDependencies) {
    this.#deps = dependencies;
  }

  /** Compares the calls of one workspace since a time, for each connection whose carrier has a list. */
  async compareSince(tenantId: string, since: Date, signal: AbortSignal): Promise<ReconcileOutcome> {
    const listed = await this.#deps.connections.listed(tenantId);
    return this.#compareAll(
      listed.map((connection) => ({ connection, since })),
      null,
      signal,
    );
  }

  /** Compares connections that have not been compared since the last nightly start. The sweep runs this method. */
  async compareNightly(signal: AbortSignal): Promise<ReconcileOutcome> {
    const now = this.#deps.now();
    const night = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), nightHour);
    const nightStart = now.getTime() >= night ? night : night - dayMs;
    const due = await this.#deps.connections.due(new Date(nightStart), this.#after, connectionsPerPass);
    this.#after = (due.length === connectionsPerPass ? due.at(-1)?.id : undefined) ?? firstId;
    const outcome = await this.#compareAll(
      due.map((connection) => ({
        connection,
        since: new Date((connection.reconciledAt?.getTime() ?? now.getTime() - firstDays * dayMs) - overlapMs),
      })),
      passBudgetMs,
      signal,
    );
    for (const { connectionId, message } of outcome.failed)
      this.#deps.logger.warn(
        { connectionId, reason: message },
        'the list of a carrier could not be read; it is tried again',
      );
    return outcome;
  }

  async #compareAll(
    all: readonly { connection: ListedConnection; since: Date }[],
    budgetMs: number | null,
    signal: AbortSignal,
  ): Promise<ReconcileOutcome> {
    const outcome: ReconcileOutcome = { connections: all.length, read: 0, changed: 0, failed: [] };
    const waiting = all.values();
    const compareWaiting = async () => {
      for (const { connection, since } of waiting) {
        const timeout = budgetMs === null ? null : AbortSignal.timeout(budgetMs);
        try {
          if (timeout === null) await this.#compareConnection(connection, positionAt(since), outcome, signal);
          else await this.#resume(connection, since, outcome, AbortSignal.any([signal, timeout]));
        } catch (error) {
          signal.throwIfAborted();
          // A failure of one connection must not end the comparison of the others.
          outcome.failed.push({ connectionId: connection.id, message: this.#reasonOf(error, connection, timeout) });
        }
      }
    };
    await Promise.all(Array.from({ length: connectionConcurrency }, compareWaiting));
    return outcome;
  }

  #reasonOf(error: unknown, { id }: ListedConnection, timeout: AbortSignal | null): string {
    if (timeout?.aborted === true) return 'The list exceeds the time limit of one pass; the next pass continues.';
    if (error instanceof AppError || error instanceof EgressFailed || error instanceof EgressRefused)
      return error.message;
    this.#deps.logger.error({ err: error, connectionId: id }, 'comparing the calls of a connection failed');
    return 'The calls could not be compared; see the log of the hub.';
  }

  /** Resumes where the previous pass stopped. Without this, a day that exceeds one pass would never finish. */
  async #resume(connection: ListedConnection, since: Date, outcome: ReconcileOutcome, signal: AbortSignal) {
    // Include the account: another account has other pages.
    const key = [connection.id, connection.apiBaseUrl, connection.accountSid].join(' ');
    const stored = this.#positions.get(key);
    this.#positions.delete(key);
    // Ignore a stored position that a later comparison has passed.
    const position = stored !== undefined && stored.to > since ? stored : positionAt(since);
    try {
      await this.#compareConnection(connection, position, outcome, signal);
    } catch (error) {
      // After an error answer the stored page may no longer exist, so the next pass starts again.
      if (!(error instanceof AppError)) this.#storePosition(key, position);
      throw error;
    }
  }

  #storePosition(key: string, position: ListPosition): void {
    this.#positions.set(key, position);
    for (const oldest of this.#positions.keys()) {
      if (this.#positions.size <= maxStoredPositions) return;
      this.#positions.delete(oldest);
    }
  }

  /** Compares day by day, oldest first, and records each finished day. */
  async #compareConnection(
    connection: ListedConnection,
    position: ListPosition,
    outcome: ReconcileOutcome,
    signal: AbortSignal,
  ) {
    const { connections, now } = this.#deps;
    const end = now();
    const firstDay = new Date(end.getTime() - firstDays * dayMs);
    const authToken = connection.authToken();
    while (position.from < end) {
      // Later pages belong to the day as it was queried with the first page.
      if (position.next === null) {
        position.to = new Date(Math.min(position.from.getTime() + dayMs, end.getTime()));
        position.pages = 0;
      }
      await this.#compareDay(connection, authToken, position, outcome, signal);
      await connections.noteReconciled(connection.id, position, firstDay);
      Object.assign(position, positionAt(position.to));
    }
  }

  /** Reads the remaining pages of a day and advances the position after each page. */
  async #compareDay(
    connection: ListedConnection,
    authToken: string,
    position: ListPosition,
    outcome: ReconcileOutcome,
    signal: AbortSignal,
  ) {
    const { calls } = this.#deps;
    const { tenantId } = connection;
    const day = position.from.toISOString();
    const seen = new Set<string>();
    for (let url: string | null = position.next ?? firstPage(connection, position); url !== null; url = position.next) {
      signal.throwIfAborted();
      if (seen.has(url))
        throw new AppError('unavailable', `The call list of Twilio for ${day} leads back to an earlier page.`);
      if (position.pages === maxPagesPerDay)
        throw new AppError('unavailable', `Twilio lists more than ${maxPagesPerDay} pages for ${day}.`);
      seen.add(url);
      const page = await this.#fetchPage(connection, authToken, url, signal);
      if (page.calls.length === 0) return;
      const events = page.calls.map(readTwilioCall).filter((event) => event !== null);
      outcome.read += events.length;
      const changed = events.length === 0 ? 0 : await calls.mergeAll(tenantId, events);
      outcome.changed += changed;
      position.next = page.next;
      position.pages += 1;
    }
  }

  async #fetchPage(connection: ListedConnection, authToken: string, url: string, signal: AbortSignal) {
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
            status === 401 ? 'Twilio rejected the accountSid and authToken (401).' : `Twilio answered ${status}.`,
          );
      } catch (error) {
        if (!(error instanceof EgressFailed) || wait === undefined) throw error;
      }
      await pause(wait, signal);
    }
  }
}

const positionAt = (from: Date): ListPosition => ({ from, to: from, next: null, pages: 0 });

function firstPage({ apiBaseUrl, accountSid }: ListedConnection, { from, to }: ListPosition): string {
  const query = new URLSearchParams({
    PageSize: String(pageSize),
    'StartTime>': twilioTime(from),
    'StartTime<': twilioTime(to),
  });
  return `${apiBaseUrl}/2010-04-01/Accounts/${accountSid}/Calls.json?${query.toString()}`;
}

/** Time in the format of Twilio, to the second. */
const twilioTime = (at: Date) => `${at.toISOString().slice(0, 19)}Z`;

/** @throws AppError `unavailable` for an invalid page, or a next page on another host. */
function parsePage(body: Buffer, apiBaseUrl: string): { calls: Record<string, unknown>[]; next: string | null } {
  let page: { calls?: unknown; next_page_uri?: unknown };
  try {
    page = JSON.parse(body.toString('utf8')) as typeof page;
  } catch (error) {
    throw new AppError('unavailable', 'Twilio answered with invalid JSON.', { cause: error });
  }
  if (!Array.isArray(page.calls)) throw new AppError('unavailable', 'Twilio answered without a list of calls.');
  const calls = page.calls.filter((call) => typeof call === 'object' && call !== null) as Record<string, unknown>[];
  const { next_page_uri: uri } = page;
  if (typeof uri !== 'string' || uri === '') return { calls, next: null };
  // The request carries the auth token, so the next page must be on the same origin.
  const next = URL.parse(uri, `${apiBaseUrl}/`);
  if (next === null || next.origin !== new URL(apiBaseUrl).origin)
    throw new AppError('unavailable', 'The next page of the Twilio call list is on another host.');
  return { calls, next: next.href };
}
