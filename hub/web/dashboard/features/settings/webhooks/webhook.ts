import type { Answer } from '../../../app/api.ts';

export type Webhook = Answer<'getWebhook'>;
