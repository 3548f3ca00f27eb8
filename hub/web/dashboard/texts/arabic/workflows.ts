import { workflows as english } from '../english/workflows.ts';

/** Texts of the workflows pages. */
export const workflows: typeof english = english;
