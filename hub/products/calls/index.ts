export { callsRetention, createCalls } from './product.ts';
export type { CallsProduct, SipLimits } from './product.ts';
export { examineSipServer } from './softphones/index.ts';
