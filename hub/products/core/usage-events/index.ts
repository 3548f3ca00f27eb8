export { UsageEvents } from './service.ts';
