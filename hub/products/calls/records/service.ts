import type { z } from 'zod';
import type {
  CallProvider,
  CallRecord,
  callRecords as resource,
  CallSummary,
} from '../../../../shared/contract/calls/records.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import { Batches } from '../../../platform/db/batches.ts';
import type { Database } from '../../../platform/db/database.ts';
import { commitBehind } from '../../../platform/db/transaction.ts';
import { noteWorkspaceChange } from '../../../platform/events/workspace-topic.ts';
import { listCallLines } from './call-lines.ts';
import type { ExportFormat } from './call-lines.ts';
import { beganAt, mergeCalls } from './merge-calls.ts';
import type { CallEvent } from './merge-calls.ts';
import { presentCall } from './present.ts';
import { countCallsSince, findCall, findCallsBySid, listCalls, sumDays } from './store.ts';
import type { CallFilter, Place } from './store.ts';

/** What an event takes up while it waits, in bytes; its texts are short. */
const eventBytes = 1_000;
/** Days of which a summary tells, today included. */
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
  /** For how many days records are kept; 0, and nothing given, is for ever. */
  keptDays?: number;
}

/** The records of the calls of workspaces. */
export class Calls {
  readonly #deps: CallsDependencies;
  readonly #merges: Batches<CallEvent, undefined>;

  constructor(dependencies: CallsDependencies) {
    this.#deps = dependencies;
    this.#merges = new Batches({
      flush: async (tenantId, events, options) => {
        await dependencies.db.workspace(
          tenantId,
          async (tx) => {
            const merged = mergeCalls(tx, tenantId, events);
            commitBehind(tx);
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

  /** Whether the record of a call is kept yet: once it was removed, the same again would count in its day's sums once more. */
  isKept(event: CallEvent): boolean {
    const { keptDays = 0 } = this.#deps;
    return keptDays === 0 || beganAt(event).getTime() > Date.now() - keptDays * 86_400_000;
  }

  /** Resolves once what a carrier said is part of the record of its call, durably, or is of one too old to be kept. @throws DatabaseOutage. */
  async merge(tenantId: string, event: CallEvent): Promise<void> {
    if (this.isKept(event)) await this.#merges.add(tenantId, event);
  }

  /** The same for many at once, in one transaction; answers how many records changed. */
  mergeAll(tenantId: string, events: readonly CallEvent[]): Promise<number> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const kept = events.filter((event) => this.isKept(event));
      const changed = await mergeCalls(tx, tenantId, kept);
      if (changed > 0) noteWorkspaceChange(tx, tenantId);
      return changed;
    });
  }

  /** The records that there are of some calls, by what carriers call them. */
  async findBySid(
    tenantId: string,
    wanted: readonly { provider: CallProvider; callSid: string }[],
  ): Promise<CallRecord[]> {
    return (await this.#deps.db.read(tenantId, (tx) => findCallsBySid(tx, tenantId, wanted))).map(presentCall);
  }

  /** A page whose cursor says where it ended. @throws AppError `invalid_cursor`, `validation_failed`. */
  async list(tenantId: string, query: z.output<typeof resource.listVoiceCalls.query>) {
    const { db, cursors } = this.#deps;
    assertSpan(query);
    const scope = `calls:${tenantId}`;
    const after = query.cursor === undefined ? undefined : placeOf(cursors.decodeText(scope, query.cursor));
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

  /** A page whose cursor is its last call. @throws AppError `invalid_cursor`, `validation_failed`. */
  async listAfterCall(tenantId: string, query: z.output<typeof resource.listCalls.query>) {
    assertSpan(query);
    const rows = await this.#deps.db.read(tenantId, async (tx) => {
      const last = query.cursor === undefined ? undefined : await findCall(tx, tenantId, query.cursor);
      if (last === null)
        throw new AppError(
          'invalid_cursor',
          'cursor is no call of this workspace; use nextCursor of the page before, or leave it out.',
          {
            details: [{ path: 'query.cursor', message: 'is no call of this workspace' }],
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

  /** How many calls of a provider began since a time; no more than a limit are counted. */
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

  /** All calls that a filter lets through as they stand in an export, a page at a time: each in a transaction of its own, so that a slow reader holds none open. */
  async *pages(
    tenantId: string,
    format: ExportFormat,
    filter: CallFilter,
    signal: AbortSignal,
  ): AsyncGenerator<string> {
    let after: Place | undefined;
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

/** Calls that are read at once: some 80 KB of text, which the young generation of V8 holds several of. */
const exportPage = 200;

/** @throws AppError `validation_failed` for a time span that ends before it begins. */
export function assertSpan({ from, to }: CallFilter): void {
  if (from === undefined || to === undefined || Date.parse(from) <= Date.parse(to)) return;
  const details = [
    { path: 'query.from', message: 'must not be later than to' },
    { path: 'query.to', message: 'must not be earlier than from' },
  ];
  throw new AppError('validation_failed', 'query.from must not be later than query.to.', { details });
}

/** Whole minutes, half up. */
const minutesOf = (seconds: number) => Math.floor((seconds + 30) / 60);

function placeOf(cursor: string): Place {
  const [at, id] = cursor.split(' ') as [string, string];
  return { startedAt: new Date(at), id };
}
