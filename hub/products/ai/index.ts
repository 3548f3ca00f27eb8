export { examineBindings } from './doctor/index.ts';
export { createAi } from './product.ts';
export { createReplies } from './replies/index.ts';
export { readModelHealth } from './usage/index.ts';
