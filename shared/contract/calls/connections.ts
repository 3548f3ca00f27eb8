import { z } from 'zod';
import { deleted, id, idParams, listQuery, name, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { carriers } from './records.ts';

/** Connections to carriers, and what these send. */

/** Connections that a workspace may have. */
export const maxCallConnections = 50;
/** The most that a carrier may send at once, in bytes. */
export const maxCarrierBodyBytes = 64 * 1024;
/** How old a signature with a time may be, and how far ahead, in seconds. */
export const signatureSeconds = 300;
export const twilioApiUrl = 'https://api.twilio.com';

const authToken = text(16, 200).describe("Twilio: the account's auth token, which signs what Twilio sends; write only");
const publicKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be the 32 bytes of an ed25519 key as base64')
  .describe('Telnyx: the public key of the account, as base64; write only');
const accountSid = z
  .string()
  .regex(/^AC[0-9a-f]{32}$/, 'must be AC and 32 hexadecimal digits')
  .describe("Twilio: the account's SID. With it, Twilio's own list is asked every night for calls that were missed");
const apiBaseUrl = text(1, 500).describe(
  `Twilio: where its API answers, https; \`${twilioApiUrl}\` unless said. The auth token goes only where it was set for: with another address it must be given anew`,
);

const connection = {
  id: id.describe('Id of the connection'),
  provider: z.enum(carriers).describe('Carrier that sends the events'),
  name: z.string().describe('Label for people, at most 200 characters'),
  url: z.string().describe('Where the carrier sends what happens to calls; under PUBLIC_URL'),
  accountSid: z
    .string()
    .nullable()
    .describe('Twilio: SID of the account; null for other carriers and when it is not set'),
  apiBaseUrl: z
    .string()
    .nullable()
    .describe('Twilio: base URL of the API; null for other carriers and for the default'),
  lastEventAt: timestamp
    .nullable()
    .describe('When the carrier last sent something that was signed well, to within a minute'),
  reconciledAt: timestamp.nullable().describe("Up to when calls were compared with the carrier's own list"),
  createdAt: timestamp,
  updatedAt: timestamp,
};
export const callConnection = named('CallConnection', z.object(connection));
export type CallConnection = z.output<typeof callConnection>;

const secret = z
  .string()
  .optional()
  .describe('Kamailio: the secret with which it signs, shown only now: 32 bytes as base64url');
const callConnectionWithSecret = named('CallConnectionWithSecret', z.object({ ...connection, secret }));

const managed = {
  tag: 'Call connections',
  callers: ['token', 'session'],
  permission: 'connections:manage',
  role: 'admin',
  entitlement: 'business_calling',
} as const;

export const callConnections = defineResource({
  listCallConnections: {
    ...managed,
    method: 'GET',
    path: '/calls/connections',
    summary: 'List connections to carriers',
    query: listQuery,
    response: page(callConnection),
  },
  createCallConnection: {
    ...managed,
    method: 'POST',
    path: '/calls/connections',
    summary: 'Connect a carrier',
    description: `Twilio needs \`authToken\`, Telnyx \`publicKey\`; for Kamailio the answer shows a \`secret\`, once. Give \`url\` of the answer to the carrier. A workspace may have ${maxCallConnections}.`,
    body: named(
      'CreateCallConnection',
      z.strictObject({
        provider: z
          .enum(carriers, `must be one of ${carriers.join(', ')}`)
          .describe('Carrier that sends the events; can not be changed later'),
        name: name.describe('Label for people, 1 to 200 characters'),
        authToken: authToken.optional(),
        publicKey: publicKey.optional(),
        accountSid: accountSid.optional(),
        apiBaseUrl: apiBaseUrl.optional(),
      }),
      { provider: 'twilio', name: 'Main line', authToken: '0123456789abcdef0123456789abcdef' },
    ),
    response: callConnectionWithSecret,
    errors: ['workspace_limit_reached'],
  },
  getCallConnection: {
    ...managed,
    method: 'GET',
    path: '/calls/connections/{id}',
    summary: 'Read a connection',
    params: idParams,
    response: callConnection,
  },
  updateCallConnection: {
    ...managed,
    liveOnly: true,
    method: 'PATCH',
    path: '/calls/connections/{id}',
    summary: 'Change a connection',
    params: idParams,
    body: z.strictObject({
      name: name.optional().describe('Label for people, 1 to 200 characters'),
      accountSid: accountSid.nullable().optional(),
      apiBaseUrl: apiBaseUrl.optional(),
      authToken: authToken.optional().describe('Twilio: only together with another `apiBaseUrl`; else rotate it'),
    }),
    response: callConnection,
  },
  deleteCallConnection: {
    ...managed,
    liveOnly: true,
    method: 'DELETE',
    path: '/calls/connections/{id}',
    summary: 'Delete a connection',
    description: 'What the carrier sends to it is refused at once. The records of its calls stay.',
    params: idParams,
    response: deleted,
  },
  rotateCallConnection: {
    ...managed,
    liveOnly: true,
    method: 'POST',
    path: '/calls/connections/{id}/rotate',
    summary: 'Change what a connection is signed with',
    description:
      'Twilio takes the new `authToken`, Telnyx the new `publicKey`; for Kamailio a new `secret` is made and shown. For `overlapHours` what was signed with the one before counts as well.',
    params: idParams,
    body: z.strictObject({
      authToken: authToken.optional(),
      publicKey: publicKey.optional(),
      overlapHours: z
        .int('must be a whole number from 0 to 168')
        .min(0, 'must be from 0 to 168')
        .max(168, 'must be from 0 to 168')
        .default(24)
        .describe('Hours for which what the old secret signed is accepted as well, 0 to 168'),
    }),
    bodyOptional: true,
    response: callConnectionWithSecret,
  },
  receiveCarrierEvent: {
    tag: 'Call connections',
    callers: ['public'],
    method: 'POST',
    path: '/carrier/{provider}/{connectionId}/voice-status',
    summary: 'Receive what happened to a call',
    description: `For the carrier. Twilio sends a form or JSON signed by \`X-Twilio-Signature\` (HMAC-SHA1 over the address under PUBLIC_URL and the parameters, or over the address with \`bodySHA256\`); Telnyx JSON signed by \`telnyx-signature-ed25519\` and \`telnyx-timestamp\`; Kamailio JSON signed by \`X-Signature: t=SECONDS,v1=HEX\`, the HMAC-SHA256 over \`SECONDS.BODY\`. What has a time is refused ${signatureSeconds} s later. 200 says that it is kept; the same again changes nothing, and other kinds of events are answered 200, too. What is not signed well is answered 403, whether or not there is such a connection. At most ${maxCarrierBodyBytes} bytes.`,
    params: z.strictObject({
      provider: z.enum(carriers, `must be one of ${carriers.join(', ')}`),
      connectionId: id,
    }),
    bodyTypes: ['application/json', 'application/x-www-form-urlencoded'],
    response: named(
      'CarrierEventReceived',
      z.object({ received: z.literal(true).describe('Always true: the event was accepted') }),
    ),
    errors: ['carrier_signature_invalid', 'payload_too_large', 'rate_limited', 'unavailable'],
  },
});
