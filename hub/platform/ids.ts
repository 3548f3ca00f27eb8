import { v7 } from 'uuid';

/** A new UUIDv7: sorts by the time it was made, and within one process by the order. */
export function newId(): string {
  return v7();
}
