import type { Follower } from '../../events/live-topics.ts';
import { idBefore } from '../../ids.ts';
import type { EventStream } from './event-stream.ts';

/** A row is sent if its transaction commits within this time after the row was written, in milliseconds. */
const lateCommitMs = 10_000;
/**
 * A pass over all rows of that time is made at most this often, in milliseconds. Under load each pass reads thousands of rows, and a
 * topic wakes its followers several times a second.
 */
const latePassEveryMs = 2_000;
/** The passes between read only rows that were written this long before the last read, in milliseconds. */
const recentMs = 250;
const rowsAtOnce = 100;
/** How many rows a reader that comes back may catch up on. */
const maxReplayRows = 10_000;

/**
 * Sends rows as they are written, each once, beginning after the last one that the caller saw. One that missed too many gets the
 * oldest of them, then an event `reset` that names the last one sent, and goes on with what is new.
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
  const shown = new Set<string>();
  let latePassAt = performance.now();
  /** By the clock of ids, when the last pass began that read all rows that may commit late. */
  let lookedAt = Date.now();
  /** Whether a pass since the last late one left rows out that may commit late. */
  let isLatePassOpen = false;
  using follower = follow();
  while (!stream.signal.aborted) {
    // What commits late may have an id that is lower than one that was sent.
    const lateOf = () => idBefore(new Date(lookedAt - lateCommitMs));
    let readAt = Date.now();
    while (!stream.signal.aborted) {
      readAt = Date.now();
      const rows = await read(after, rowsAtOnce);
      for (const row of rows.filter(({ id }) => !shown.has(id))) {
        if (stream.signal.aborted) return;
        shown.add(row.id);
        await stream.send(event, show(row), row.id);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < rowsAtOnce) break;
      after = last.id;
      // Rows after the cursor come again in this pass, also those that become older than the late ones meanwhile.
      const late = lateOf();
      const passed = after < late ? after : late;
      for (const id of shown) if (id < passed) shown.delete(id);
      replayable -= rows.length;
      if (replayable > 0) continue;
      if ((await read(after, 1)).length === 0) break;
      from = idBefore(new Date());
      await stream.send(
        'reset',
        {
          after,
          message: `More than ${maxReplayRows} rows were missed; list those after this one, and go on from here.`,
        },
        from,
      );
      break;
    }
    replayable = Number.POSITIVE_INFINITY;
    // Once what there was is sent, only what is written from now on matters, and what commits late.
    const untilLatePassMs = () => latePassAt + latePassEveryMs - performance.now();
    await follower.next(stream.signal, isLatePassOpen ? Math.max(0, untilLatePassMs()) : undefined);
    const isLatePass = untilLatePassMs() <= 0;
    isLatePassOpen = !isLatePass;
    // What committed since the last late pass was written at most so long before that pass.
    const late = lateOf();
    if (isLatePass) {
      latePassAt = performance.now();
      lookedAt = Date.now();
    }
    // Sending may have taken longer than late rows are waited for, so every pass begins before the last read.
    const recent = idBefore(new Date(readAt - recentMs));
    const start = isLatePass && late < recent ? late : recent;
    after = from > start ? from : start;
    for (const id of shown) if (id < late && id < start) shown.delete(id);
  }
}
