import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Buffered random bytes. Requesting them for each id separately would take most of the time that an id needs. */
const entropy = new Uint8Array(4096);
let used = entropy.length;
let lastMs = 0;
let order = 0;

function nextRandom(): Uint8Array {
  if (used + 16 > entropy.length) {
    randomFillSync(entropy);
    used = 0;
  }
  used += 16;
  return entropy.slice(used - 16, used);
}

/** Creates a UUIDv7. Ids sort by creation time; ids of one process are strictly ascending. */
export function newId(): string {
  const random = nextRandom();
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    // Starts below the maximum, so that the counter does not overflow within a millisecond.
    order = (((random[6] ?? 0) & 0x3f) << 24) | ((random[7] ?? 0) << 16) | ((random[8] ?? 0) << 8) | (random[9] ?? 0);
  } else order += 1;
  return v7({ msecs: lastMs, seq: order, random });
}

/** Creates a UUIDv7 for an earlier instant, for things that the hub learns of later. */
export const newIdAt = (at: Date): string => v7({ msecs: Math.max(0, at.getTime()), random: nextRandom() });

/** The smallest UUIDv7 of an instant. Every id that is created at that instant or later is greater. */
export function idBefore(at: Date): string {
  const hex = Math.max(0, at.getTime()).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-000000000000`;
}

/** The smallest and the largest UUID that start with a text of hexadecimal digits and hyphens. */
export function uuidRange(start: string): [string, string] {
  const digits = start.replaceAll('-', '').toLowerCase().slice(0, 32);
  const padded = (padding: string) =>
    digits.padEnd(32, padding).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return [padded('0'), padded('f')];
}
