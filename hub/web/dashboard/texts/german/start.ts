import { start as english } from '../english/start.ts';

export const start: typeof english = english;
