import type { nodes as english } from '../english/nodes.ts';

/** Texts of the nodes pages. */
export const nodes: typeof english = {};
