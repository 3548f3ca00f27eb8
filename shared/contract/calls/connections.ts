import { z } from 'zod';
import { deleted, id, idParams, listQuery, name, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { carriers } from './records.ts';

/** Connections to carriers, and the events that carriers send. */

/** Maximum number of connections of a workspace. */
export const maxCallConnections = 50;
/** Maximum size of a request of a carrier, in bytes. */
export const maxCarrierBodyBytes = 64 * 1024;
/** Maximum difference between the time of a signature and the current time, in seconds. */
export const signatureSeconds = 300;
export const twilioApiUrl = 'https://api.twilio.com';

const authToken = text(16, 200).describe('Twilio: auth token of the account, which signs the events; write-only');
const publicKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be the 32 bytes of an ed25519 key as base64')
  .describe('Telnyx: public key of the account, as base64; write-only');
const accountSid = z
  .string()
  .regex(/^AC[0-9a-f]{32}$/, 'must be AC and 32 hexadecimal digits')
  .describe("Twilio: SID of the account. With it, missing calls are imported from Twilio's own list every night");
const apiBaseUrl = text(1, 500).describe(
  `Twilio: base URL of the API, https; default \`${twilioApiUrl}\`. With a new URL, \`authToken\` must be sent again`,
);

const connection = {
  id: id.describe('Id of the connection'),
  provider: z.enum(carriers).describe('Carrier that sends the events'),
  name: z.string().describe('Display name, at most 200 characters'),
  url: z.string().describe('URL for the events of the carrier, under `PUBLIC_URL`'),
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
    .describe('When the last event with a valid signature arrived, accurate to a minute'),
  reconciledAt: timestamp.nullable().describe("Time up to which calls were compared with the carrier's own list"),
  createdAt: timestamp,
  updatedAt: timestamp,
};
export const callConnection = named('CallConnection', z.object(connection));
export type CallConnection = z.output<typeof callConnection>;

const secret = z.string().optional().describe('Kamailio: signing secret, returned only once: 32 bytes as base64url');
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
    summary: 'List carrier connections',
    description: 'Newest first, without secrets.',
    query: listQuery,
    response: page(callConnection),
  },
  createCallConnection: {
    ...managed,
    liveOnly: true,
    method: 'POST',
    path: '/calls/connections',
    summary: 'Create a carrier connection',
    description: `Twilio requires \`authToken\`, Telnyx \`publicKey\`. For Kamailio, the response contains a \`secret\`, which is returned only once. Configure \`url\` of the response at the carrier. Limit: ${maxCallConnections} connections per workspace.`,
    body: named(
      'CreateCallConnection',
      z.strictObject({
        provider: z
          .enum(carriers, `must be one of ${carriers.join(', ')}`)
          .describe('Carrier that sends the events; cannot be changed later'),
        name: name.describe('Display name, 1 to 200 characters'),
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
    summary: 'Get a carrier connection',
    description:
      'The secret is never returned; rotate it if it is lost. `lastEventAt` shows whether events of the carrier arrive.',
    params: idParams,
    response: callConnection,
  },
  updateCallConnection: {
    ...managed,
    liveOnly: true,
    method: 'PATCH',
    path: '/calls/connections/{id}',
    summary: 'Update a carrier connection',
    description:
      'Omitted fields do not change. `accountSid`, `apiBaseUrl` and `authToken` are only for Twilio, and a new `apiBaseUrl` requires `authToken`; `url` stays the same.',
    params: idParams,
    body: z.strictObject({
      name: name.optional().describe('Display name, 1 to 200 characters'),
      accountSid: accountSid.nullable().optional(),
      apiBaseUrl: apiBaseUrl.optional(),
      authToken: authToken.optional().describe('Twilio: only together with a new `apiBaseUrl`; otherwise use `rotate`'),
    }),
    response: callConnection,
  },
  deleteCallConnection: {
    ...managed,
    liveOnly: true,
    method: 'DELETE',
    path: '/calls/connections/{id}',
    summary: 'Delete a carrier connection',
    description: 'Further events of the carrier are refused immediately. Call records are kept.',
    params: idParams,
    response: deleted,
  },
  rotateCallConnection: {
    ...managed,
    liveOnly: true,
    method: 'POST',
    path: '/calls/connections/{id}/rotate',
    summary: 'Rotate the signing secret of a carrier connection',
    description:
      'For Twilio send the new `authToken`, for Telnyx the new `publicKey`. For Kamailio, the response contains a new `secret`. Signatures with the previous secret are also accepted for `overlapHours`.',
    params: idParams,
    body: z.strictObject({
      authToken: authToken.optional(),
      publicKey: publicKey.optional(),
      overlapHours: z
        .int('must be a whole number from 0 to 168')
        .min(0, 'must be from 0 to 168')
        .max(168, 'must be from 0 to 168')
        .default(24)
        .describe('Hours for which signatures with the previous secret are accepted, 0 to 168'),
    }),
    bodyOptional: true,
    response: callConnectionWithSecret,
  },
  receiveCarrierEvent: {
    tag: 'Call connections',
    callers: ['public'],
    method: 'POST',
    path: '/carrier/{provider}/{connectionId}/voice-status',
    summary: 'Receive a call event (called by the carrier)',
    description: `Twilio sends a form or JSON with \`X-Twilio-Signature\` (HMAC-SHA1 over the URL under PUBLIC_URL and the parameters, or over the URL with \`bodySHA256\`). Telnyx sends JSON with \`telnyx-signature-ed25519\` and \`telnyx-timestamp\`. Kamailio sends JSON with \`X-Signature: t=SECONDS,v1=HEX\`, the HMAC-SHA256 over \`SECONDS.BODY\`. Signatures with a timestamp expire after ${signatureSeconds} s. 200 means that the event is stored; repeated and unknown events also return 200. An invalid signature or an unknown connection returns 403. Limit: ${maxCarrierBodyBytes} bytes.`,
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
