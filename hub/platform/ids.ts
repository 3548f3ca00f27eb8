import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Random bytes for the next ids: asking for those of one alone costs more than all else of it. */
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

/** A new UUIDv7: sorts by the time it was made, and within one process by the order. */
export function newId(): string {
  const random = nextRandom();
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    // With room above, so that the order does not run over within a millisecond.
    order = (((random[6] ?? 0) & 0x3f) << 24) | ((random[7] ?? 0) << 16) | ((random[8] ?? 0) << 8) | (random[9] ?? 0);
  } else order += 1;
  return v7({ msecs: lastMs, seq: order, random });
}

/** A new UUIDv7 that sorts as if it had been made at an instant; for what is heard of later. */
export const newIdAt = (at: Date): string => v7({ msecs: Math.max(0, at.getTime()), random: nextRandom() });

/** The least UUIDv7 of an instant: every id that was made then or later is greater. */
export function idBefore(at: Date): string {
  const hex = Math.max(0, at.getTime()).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-000000000000`;
}
