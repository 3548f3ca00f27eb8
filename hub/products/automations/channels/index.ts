export { Channels } from './service.ts';
