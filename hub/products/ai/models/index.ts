export { countOpenBreakers } from './breaker-store.ts';
export { Breakers } from './breakers.ts';
export { ModelsFailed } from './failover.ts';
export { readModelAuthors } from './model-authors.ts';
export { Ai } from './models.ts';
export type { ModelCall } from './models.ts';
export { openOwnModel } from './own-model.ts';
export type { OwnModelSettings } from './own-model.ts';
export { RefusalMails } from './refusal-mails.ts';
