/** Which transactions had been committed at one moment, as PostgreSQL spells it: `xmin:xmax:xip,xip…`. */
export type Snapshot = string;

/**
 * What a reader has been sent: every event of a transaction that `seen` sees and, on the way to the newer snapshot of `partial`,
 * those of the transactions in between up to `seq`. Because it names transactions, one that commits late is neither missed nor waited for.
 */
export interface Position {
  seen: Snapshot;
  partial: { upTo: Snapshot; seq: number } | null;
}

const encodeNumber = (value: number) => value.toString(36);
const snapshotPattern = /^[0-9a-z]{1,11}(\.[0-9a-z]{1,11})+$/;
/** More transactions than a database has open at once; an id that names more is none of ours. */
const maxOpen = 256;
const seqPattern = /^[0-9a-z]{1,11}$/;

/** A snapshot in short: `xmin`, then by how much each number is more than the one before. */
function encodeSnapshot(snapshot: Snapshot): string {
  const [xmin, xmax, under] = snapshot.split(':') as [string, string, string];
  const least = Number(xmin);
  let last = least;
  const steps = (under === '' ? [] : under.split(',')).map((each) => {
    const step = Number(each) - last;
    last = Number(each);
    return step;
  });
  return [least, Number(xmax) - least, ...steps].map(encodeNumber).join('.');
}

function decodeSnapshot(text: string): Snapshot | null {
  if (!snapshotPattern.test(text)) return null;
  const [least = 0, span = 0, ...steps] = text.split('.').map((part) => Number.parseInt(part, 36));
  // Each is named once, in their order.
  if (steps.length > maxOpen || steps.some((step, index) => step === 0 && index > 0)) return null;
  const under: number[] = [];
  for (const step of steps) under.push((under.at(-1) ?? least) + step);
  const most = least + span;
  // What PostgreSQL would refuse to read.
  if (least < 3 || !Number.isSafeInteger(most) || (under.at(-1) ?? -1) >= most) return null;
  return `${least}:${most}:${under.join(',')}`;
}

/** A position as the id of an event. */
export function encodePosition({ seen, partial }: Position): string {
  return partial === null
    ? encodeSnapshot(seen)
    : `${encodeSnapshot(seen)}-${encodeSnapshot(partial.upTo)}-${encodeNumber(partial.seq)}`;
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
