export { createWebhooks } from './product.ts';
