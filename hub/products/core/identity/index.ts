export { mailAdmins } from './admin-mails.ts';
export {
  endPushSubscription,
  readPushReceivers,
  recordPushAcceptance,
  recordPushRefusal,
} from './push-subscriptions.ts';
export { Identity } from './service.ts';
