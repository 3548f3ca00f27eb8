import type { z } from 'zod';
import type {
  CallProvider,
  CallRecord,
  callRecords as resource,
  CallSummary,
} from '../../../../shared/contract/calls/records.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import { Batcher } from '../../../platform/db/batcher.ts';
import type { Database } from '../../../platform/db/database.ts';
import { pipelineCommit } from '../../../platform/db/transaction.ts';
import { noteWorkspaceChange } from '../../../platform/events/workspace-topic.ts';
import { listCallLines } from './call-lines.ts';
import type { ExportFormat } from './call-lines.ts';
import { beganAt, mergeCalls } from './merge-calls.ts';
import type { CallEvent } from './merge-calls.ts';
import { presentCall } from './present.ts';
import { countCallsSince, findCall, findCallsBySid, listCalls, sumDays } from './store.ts';
import type { CallFilter, CallPosition } from './store.ts';

/** Estimated memory of a waiting event, in bytes. */
const eventBytes = 1_000;
/** Days covered by a summary, today included. */
const summaryDays = 7;

export type CallUsage = {
  days: number;
  calls: number;
  inbound: number;
  answeredInbound: number;
  answered: number;
  minutes: number;
};

export interface CallsDependencies {
  db: Database;
  cursors: Cursors;
  /** Retention of records in days. 0 or undefined keeps them forever. */
  keptDays?: number;
}

/** Call records of workspaces. */
export class Calls {
  readonly #deps: CallsDependencies;
  readonly #merges: Batcher<CallEvent, undefined>;

  constructor(dependencies: CallsDependencies) {
    this.#deps = dependencies;
    this.#merges = new Batcher({
      flush: async (tenantId, events, options) => {
        await dependencies.db.workspace(
          tenantId,
          async (tx) => {
            const merged = mergeCalls(tx, tenantId, events);
            pipelineCommit(tx);
            if ((await merged) > 0) noteWorkspaceChange(tx, tenantId);
          },
          options,
        );
        return events.map(() => undefined);
      },
      bytesOf: () => eventBytes,
      maxItems: 128,
    });
  }

  /**
   * Whether the call is within the retention period. Merging a removed call again would count it twice in the daily
   * sums.
   */
  isKept(event: CallEvent): boolean {
    const { keptDays = 0 } = this.#deps;
    return keptDays === 0 || beganAt(event).getTime() > Date.now() - keptDays * 86_400_000;
  }

  /**
   * Resolves when the event is durably merged, or when its call is older than the retention period.
   * @throws DatabaseOutage.
   */
  async merge(tenantId: string, event: CallEvent): Promise<void> {
    if (this.isKept(event)) await this.#merges.add(tenantId, event);
  }

  /** Merges many events in one transaction. Returns the number of changed records. */
  mergeAll(tenantId: string, events: readonly CallEvent[]): Promise<number> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const kept = events.filter((event) => this.isKept(event));
      const changed = await mergeCalls(tx, tenantId, kept);
      if (changed > 0) noteWorkspaceChange(tx, tenantId);
      return changed;
    });
  }

  /** Finds stored calls by the identifiers of their carriers. */
  async findBySid(
    tenantId: string,
    wanted: readonly { provider: CallProvider; callSid: string }[],
  ): Promise<CallRecord[]> {
    return (await this.#deps.db.read(tenantId, (tx) => findCallsBySid(tx, tenantId, wanted))).map(presentCall);
  }

  /**
   * Returns a page. The cursor holds the position of its last call.
   * @throws AppError `invalid_cursor`, `validation_failed`.
   */
  async list(tenantId: string, query: z.output<typeof resource.listVoiceCalls.query>) {
    const { db, cursors } = this.#deps;
    assertSpan(query);
    const scope = `calls:${tenantId}`;
    const after = query.cursor === undefined ? undefined : positionOf(cursors.decodeText(scope, query.cursor));
    const rows = await db.read(tenantId, (tx) => listCalls(tx, tenantId, query, after, query.limit + 1));
    const last = rows.length > query.limit ? rows[query.limit - 1] : undefined;
    return {
      data: rows.slice(0, query.limit).map(presentCall),
      meta: {
        limit: query.limit,
        nextCursor:
          last === undefined ? null : cursors.encodeText(scope, `${last.started_at.toISOString()} ${last.id}`),
      },
    };
  }

  /** Returns a page. The cursor is the ID of its last call. @throws AppError `invalid_cursor`, `validation_failed`. */
  async listAfterCall(tenantId: string, query: z.output<typeof resource.listCalls.query>) {
    assertSpan(query);
    const rows = await this.#deps.db.read(tenantId, async (tx) => {
      const last = query.cursor === undefined ? undefined : await findCall(tx, tenantId, query.cursor);
      if (last === null)
        throw new AppError(
          'invalid_cursor',
          'cursor is not a call of this workspace; use nextCursor of the previous page, or leave it out.',
          {
            details: [{ path: 'query.cursor', message: 'is not a call of this workspace' }],
          },
        );
      const after = last === undefined ? undefined : { startedAt: last.started_at, id: last.id };
      return listCalls(tx, tenantId, query, after, query.limit + 1);
    });
    const items = rows.slice(0, query.limit).map(presentCall);
    return { items, nextCursor: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null };
  }

  /** @throws AppError `not_found`. */
  async get(tenantId: string, id: string): Promise<CallRecord> {
    const row = await this.#deps.db.read(tenantId, (tx) => findCall(tx, tenantId, id));
    if (row === null) throw notFound('call', id);
    return presentCall(row);
  }

  /** Counts calls of a provider since a time, up to a limit. */
  countSince(tenantId: string, provider: CallProvider, since: Date, limit: number): Promise<number> {
    return this.#deps.db.read(tenantId, (tx) => countCallsSince(tx, tenantId, provider, since, limit));
  }

  async summary(tenantId: string): Promise<CallSummary> {
    const row = await this.#deps.db.read(tenantId, (tx) => sumDays(tx, tenantId, summaryDays));
    return {
      minutesToday: minutesOf(row.seconds_today),
      answeredRate7d: row.inbound === 0 ? null : row.answered_inbound / row.inbound,
      callsToday: row.calls_today,
      inbound7d: row.inbound,
      answered7d: row.answered_inbound,
    };
  }

  async usage(tenantId: string, days: number): Promise<CallUsage> {
    const row = await this.#deps.db.read(tenantId, (tx) => sumDays(tx, tenantId, days));
    return {
      days,
      calls: row.calls,
      inbound: row.inbound,
      answeredInbound: row.answered_inbound,
      answered: row.answered,
      minutes: minutesOf(row.seconds),
    };
  }

  /**
   * Exports all calls that match a filter, page by page. Each page has its own transaction, so a slow client keeps none
   * open.
   */
  async *pages(
    tenantId: string,
    format: ExportFormat,
    filter: CallFilter,
    signal: AbortSignal,
  ): AsyncGenerator<string> {
    let after: CallPosition | undefined;
    while (!signal.aborted) {
      const from = after;
      const page = await this.#deps.db.read(tenantId, (tx) =>
        listCallLines(tx, tenantId, format, filter, from, exportPage),
      );
      if (page === null) return;
      yield page.text;
      if (page.count < exportPage) return;
      after = page.last;
    }
    throw signal.reason;
  }
}

/** Calls per export page, about 80 KB of text. V8 can hold several pages in its young generation. */
const exportPage = 200;

/** @throws AppError `validation_failed` if `from` is later than `to`. */
export function assertSpan({ from, to }: CallFilter): void {
  if (from === undefined || to === undefined || Date.parse(from) <= Date.parse(to)) return;
  const details = [
    { path: 'query.from', message: 'must not be later than to' },
    { path: 'query.to', message: 'must not be earlier than from' },
  ];
  throw new AppError('validation_failed', 'query.from must not be later than query.to.', { details });
}

/** Rounds to whole minutes, half up. */
const minutesOf = (seconds: number) => Math.floor((seconds + 30) / 60);

function positionOf(cursor: string): CallPosition {
  const [at, id] = cursor.split(' ') as [string, string];
  return { startedAt: new Date(at), id };
}
