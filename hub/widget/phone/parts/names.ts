import type { Language } from '../language.ts';
import type { Peer } from '../people.ts';

/** Keeps a text in its own direction from turning those around it. */
export const isolated = (text: string): string => `\u2068${text}\u2069`;

export const nameOf = ({ name }: Peer, { words }: Language): string => name || words.nobody;
