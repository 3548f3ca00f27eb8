import type { Follower } from '../../events/live-topics.ts';
import { idBefore } from '../../ids.ts';
import type { EventStream } from './event-stream.ts';

/** A row is sent if its transaction commits within this time after the row was written. */
const lateCommitMs = 10_000;
/**
 * Minimum interval of late passes, which read all rows of the last `lateCommitMs`. Under load a late pass reads
 * thousands of rows, and a topic wakes its followers several times a second.
 */
const latePassIntervalMs = 2_000;
/** Other passes read rows that were written at most this long before the last read. */
const recentMs = 250;
const maxRowsPerRead = 100;
/** Maximum missed rows that a client receives when it reconnects. */
const maxReplayRows = 10_000;

/**
 * Sends rows as they are written, each once, starting after the last row that the client received. A client that missed
 * too many rows gets the oldest of them, then an event `reset` with the id of the last row sent. New rows follow.
 */
export async function followRows<Row extends { id: string }>(
  stream: EventStream,
  follow: () => Follower,
  lastEventId: string | string[] | undefined,
  event: string,
  read: (after: string, limit: number) => Promise<Row[]>,
  show: (row: Row) => unknown,
): Promise<void> {
  const isId =
    typeof lastEventId === 'string' &&
    /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(lastEventId);
  let from = isId ? lastEventId.toLowerCase() : idBefore(new Date());
  let replayable = isId ? maxReplayRows : Number.POSITIVE_INFINITY;
  let after = from;
  const sentIds = new Set<string>();
  /** Start of the last late pass, by the monotonic clock. */
  let latePassAt = performance.now();
  /** Start of the last late pass, by the clock of row ids. */
  let latePassDate = Date.now();
  /** Whether a pass after the last late pass may have skipped rows that commit late. */
  let isLatePassDue = false;
  using follower = follow();
  while (!stream.signal.aborted) {
    // A row that commits late may have a lower id than a row that was sent.
    const lateStart = () => idBefore(new Date(latePassDate - lateCommitMs));
    let readAt = Date.now();
    while (!stream.signal.aborted) {
      readAt = Date.now();
      const rows = await read(after, maxRowsPerRead);
      for (const row of rows.filter(({ id }) => !sentIds.has(id))) {
        if (stream.signal.aborted) return;
        sentIds.add(row.id);
        await stream.send(event, show(row), row.id);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < maxRowsPerRead) break;
      after = last.id;
      // Keep the ids after the cursor: this pass reads those rows again, even if they are older than `lateCommitMs` by
      // then.
      const late = lateStart();
      const passed = after < late ? after : late;
      for (const id of sentIds) if (id < passed) sentIds.delete(id);
      replayable -= rows.length;
      if (replayable > 0) continue;
      if ((await read(after, 1)).length === 0) break;
      from = idBefore(new Date());
      await stream.send(
        'reset',
        {
          after,
          message: `You missed more than ${maxReplayRows} rows. List the rows after the id in "after"; this stream continues with new rows.`,
        },
        from,
      );
      break;
    }
    replayable = Number.POSITIVE_INFINITY;
    // The existing rows are sent. The following passes find new rows and rows that commit late.
    const untilLatePassMs = () => latePassAt + latePassIntervalMs - performance.now();
    await follower.next(stream.signal, isLatePassDue ? Math.max(0, untilLatePassMs()) : undefined);
    const isLatePass = untilLatePassMs() <= 0;
    isLatePassDue = !isLatePass;
    // Rows that committed after the last late pass were written at most `lateCommitMs` before that pass.
    const late = lateStart();
    if (isLatePass) {
      latePassAt = performance.now();
      latePassDate = Date.now();
    }
    // Sending may have taken longer than `lateCommitMs`, so every pass starts before the last read.
    const recent = idBefore(new Date(readAt - recentMs));
    const start = isLatePass && late < recent ? late : recent;
    after = from > start ? from : start;
    for (const id of sentIds) if (id < late && id < start) sentIds.delete(id);
  }
}
