export { callsRetention, createCalls } from './product.ts';
export type { CallsProduct } from './product.ts';
