export { accessTopic, Identity } from './service.ts';
export type { SessionIdentity, TokenIdentity } from './service.ts';
export { parseApiKey } from './keys.ts';
