import { decodeSnapshot, encodeSnapshot } from '../../../platform/db/snapshot.ts';
import type { Snapshot } from '../../../platform/db/snapshot.ts';

/**
 * What a reader has been sent: every event of a transaction that `seen` sees and, on the way to the newer snapshot of `partial`,
 * those of the transactions in between up to `seq`. Because it names transactions, one that commits late is neither missed nor waited for.
 */
export interface Position {
  seen: Snapshot;
  partial: { upTo: Snapshot; seq: number } | null;
}

const seqPattern = /^[0-9a-z]{1,11}$/;

/** A position as the id of an event. */
export function encodePosition({ seen, partial }: Position): string {
  return partial === null
    ? encodeSnapshot(seen)
    : `${encodeSnapshot(seen)}-${encodeSnapshot(partial.upTo)}-${partial.seq.toString(36)}`;
}

/** The position that an id stands for; null when it is none of ours. */
export function decodePosition(id: string): Position | null {
  const [first = '', second, third, ...more] = id.split('-');
  const seen = decodeSnapshot(first);
  if (seen === null || more.length > 0) return null;
  if (second === undefined) return { seen, partial: null };
  const upTo = decodeSnapshot(second);
  const seq = seqPattern.test(third ?? '') ? Number.parseInt(third as string, 36) : Number.NaN;
  return upTo === null || !Number.isSafeInteger(seq) ? null : { seen, partial: { upTo, seq } };
}
