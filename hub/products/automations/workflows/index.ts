export { Workflows } from './service.ts';
