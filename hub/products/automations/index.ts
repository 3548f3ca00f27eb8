export { createAutomations } from './product.ts';
export type { Workflows } from './workflows/index.ts';
