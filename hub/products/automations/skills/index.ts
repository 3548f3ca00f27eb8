export { Skills } from './service.ts';
