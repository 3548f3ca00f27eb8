export { createAi } from './product.ts';
