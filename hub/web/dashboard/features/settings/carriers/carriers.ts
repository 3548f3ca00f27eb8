import type { Answer } from '../../../app/api.ts';

export type Connection = Answer<'getCallConnection'>;
export type Carrier = Connection['provider'];

export const carriers: readonly Carrier[] = ['twilio', 'telnyx', 'kamailio'];

/** What the carrier signs its events with. For Kamailio the hub makes a secret. */
export const signingField: Record<Carrier, 'authToken' | 'publicKey' | null> = {
  twilio: 'authToken',
  telnyx: 'publicKey',
  kamailio: null,
};
