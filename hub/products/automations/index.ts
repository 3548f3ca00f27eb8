export type { HubPacks } from './packs/index.ts';
export { createAutomations } from './product.ts';
export type { Workflows } from './workflows/index.ts';
