import { decodeSnapshot, encodeSnapshot } from '../../../platform/db/snapshot.ts';
import type { Snapshot } from '../../../platform/db/snapshot.ts';

/**
 * The events that a subscriber has received: all events of transactions visible in `seen`.
 * With `partial`, also events up to `seq` of the transactions between `seen` and the newer snapshot `upTo`. Snapshots
 * list transactions, so events of a late commit are neither lost nor waited for.
 */
export interface Position {
  seen: Snapshot;
  partial: { upTo: Snapshot; seq: number } | null;
}

const seqPattern = /^[0-9a-z]{1,11}$/;

/** Encodes a position as an event ID. */
export function encodePosition({ seen, partial }: Position): string {
  return partial === null
    ? encodeSnapshot(seen)
    : `${encodeSnapshot(seen)}-${encodeSnapshot(partial.upTo)}-${partial.seq.toString(36)}`;
}

/** Decodes an event ID. Null for an invalid ID. */
export function decodePosition(id: string): Position | null {
  const [first = '', second, third, ...more] = id.split('-');
  const seen = decodeSnapshot(first);
  if (seen === null || more.length > 0) return null;
  if (second === undefined) return { seen, partial: null };
  const upTo = decodeSnapshot(second);
  const seq = seqPattern.test(third ?? '') ? Number.parseInt(third as string, 36) : Number.NaN;
  return upTo === null || !Number.isSafeInteger(seq) ? null : { seen, partial: { upTo, seq } };
}
