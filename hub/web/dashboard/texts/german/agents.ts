import type { agents as english } from '../english/agents.ts';

/** Texts of the agents pages. */
export const agents: typeof english = {};
