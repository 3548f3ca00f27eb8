export { mailAdmins } from './admin-mails.ts';
export { endPushSubscription, readPushReceivers } from './push-subscriptions.ts';
export { Identity } from './service.ts';
