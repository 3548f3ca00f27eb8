export { HostedSips } from './service.ts';
