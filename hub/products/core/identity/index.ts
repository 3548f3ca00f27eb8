export { mailAdmins } from './admin-mails.ts';
export { Identity } from './service.ts';
