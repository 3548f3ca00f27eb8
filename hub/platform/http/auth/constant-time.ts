import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares secrets in constant time, so that the duration does not reveal them. */
export function equals(left: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
