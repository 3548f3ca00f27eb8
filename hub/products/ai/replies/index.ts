export { createReplies } from './product.ts';
