/** Which transactions had been committed at one moment, as PostgreSQL spells it: `xmin:xmax:xip,xip…`. */
export type Snapshot = string;

const encodeNumber = (value: number) => value.toString(36);
const snapshotPattern = /^[0-9a-z]{1,11}(\.[0-9a-z]{1,11})+$/;
/** More transactions than a database has open at once; an id that names more is none of ours. */
const maxOpen = 256;

/** A snapshot in short: `xmin`, then by how much each number is more than the one before. */
export function encodeSnapshot(snapshot: Snapshot): string {
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

/** The snapshot that such a text stands for; null when it is none. */
export function decodeSnapshot(text: string): Snapshot | null {
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
