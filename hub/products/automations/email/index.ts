export { Email } from './email.ts';
export type { EmailContext, EmailOutcome } from './email.ts';
