import { home as english } from '../english/home.ts';

export const home: typeof english = english;
