import { v7 } from 'uuid';

/** A new UUIDv7: sorts by the time it was made, and within one process by the order. */
export function newId(): string {
  return v7();
}

/** The least UUIDv7 of an instant: every id that was made then or later is greater. */
export function idBefore(at: Date): string {
  const hex = Math.max(0, at.getTime()).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-000000000000`;
}
