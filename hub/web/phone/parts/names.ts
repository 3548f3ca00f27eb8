import type { Language } from '../language.ts';
import type { Peer } from '../peers.ts';

/** Wraps a text in Unicode isolates, so that its direction does not affect the text around it. */
export const isolated = (text: string): string => `\u2068${text}\u2069`;

/** Display name of a peer, isolated where its direction could affect the text around it. */
export function nameOf({ name }: Peer, { words, direction }: Language): string {
  if (name === '') return words.nobody;
  const isPlain = direction === 'ltr' && /^[\u0020-\u024f]*$/.test(name);
  return isPlain ? name : isolated(name);
}
