import { schedules as english } from '../english/schedules.ts';

/** Texts of the schedules pages. */
export const schedules: typeof english = english;
