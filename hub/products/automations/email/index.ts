export { Email, emailOutput } from './email.ts';
export type { EmailContext, EmailOutcome } from './email.ts';
