export { countOpenBreakers } from './breaker-store.ts';
export { Breakers } from './breakers.ts';
export { ModelsFailed } from './failover.ts';
export { Ai } from './models.ts';
export type { ModelCall } from './models.ts';
export { RefusalMails } from './refusal-mails.ts';
