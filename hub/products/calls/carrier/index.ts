export { readKamailioEvent } from './kamailio.ts';
export { carrierReceiver } from './receive.ts';
export { readTwilioCall } from './twilio.ts';
