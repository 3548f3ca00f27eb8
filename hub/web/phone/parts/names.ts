import type { Language } from '../language.ts';
import type { Peer } from '../peers.ts';

/** Keeps a text in its own direction from turning those around it. */
export const isolated = (text: string): string => `\u2068${text}\u2069`;

/** How somebody is called, in its own direction wherever it stands. */
export function nameOf({ name }: Peer, { words, direction }: Language): string {
  if (name === '') return words.nobody;
  const isPlain = direction === 'ltr' && /^[\u0020-\u024f]*$/.test(name);
  return isPlain ? name : isolated(name);
}
