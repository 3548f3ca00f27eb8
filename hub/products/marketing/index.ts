export { createMarketing } from './product.ts';
