export { createCore } from './product.ts';
export type { Identity } from './identity/index.ts';
export type { LimitedKind } from './limits/index.ts';
