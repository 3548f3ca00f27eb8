export { Identity } from './service.ts';
