import { z } from 'zod';
import { deleted, named, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

/** Own SIP trunk: the hub registers at the carrier of the workspace. */

export const sipTransports = ['udp', 'tcp', 'tls'] as const;
export type SipTransport = (typeof sipTransports)[number];

export const trunkStates = ['registering', 'registered', 'rejected', 'unreachable', 'stopped'] as const;
export type TrunkState = (typeof trunkStates)[number];

/** The hub stops registering after this number of refusals of the same password. */
export const maxRefusedCredentials = 3;

const host = z.string().describe('Host name of the carrier, such as `sip.example.com`, or its IP address');
const username = z.string().describe('Account at the carrier');
const transport = z.enum(sipTransports, `must be one of ${sipTransports.join(', ')}`);

export const ownTrunk = named(
  'OwnTrunk',
  z.object({
    mode: z.literal('own').describe('Always `own`: a trunk of the workspace'),
    state: z
      .enum(trunkStates)
      .describe(
        '`registering`: in progress. `registered`: the carrier accepted. `rejected`: the carrier refused, see `lastCode` and `lastReason`. `unreachable`: no SIP response. `stopped`: the carrier refused this password three times; the hub tries again only after `POST /sip/register`',
      ),
    host,
    port: z.int().nullable().describe('Port; null if DNS determines it'),
    username,
    transport: z.enum(sipTransports).describe('Transport of SIP to the carrier; `tls` also checks the certificate'),
    registered: z.boolean().describe('Whether the registration is active'),
    lastCode: z.int().nullable().describe('SIP status of the last attempt; null without a SIP response'),
    lastReason: z
      .string()
      .nullable()
      .describe(
        'Reason phrase of the carrier. Without a SIP response: `timeout`, `refused`, `tls_name`, `tls_untrusted`, `dns`, or `address_refused` (the host resolves to a private address). When stopped: `credentials_rejected`, or `password_unreadable` (the password was encrypted with another SECRET_KEY). `challenge_not_supported` and `nonce_always_stale`: the challenge cannot be answered. `registration_not_kept`: the carrier accepted with an expiry of 0',
      ),
    expiresAt: timestamp.nullable().describe('When the registration expires unless it is renewed'),
    nextAttemptAt: timestamp.nullable().describe('Time of the next attempt; null when none is planned'),
    checkedAt: timestamp.nullable().describe('When the last attempt ended'),
  }),
  {
    mode: 'own',
    state: 'registered',
    host: 'sip.example.com',
    port: 5061,
    username: 'acme',
    transport: 'tls',
    registered: true,
    lastCode: 200,
    lastReason: 'OK',
    expiresAt: '2026-01-31T09:10:00.000Z',
    nextAttemptAt: '2026-01-31T09:09:00.000Z',
    checkedAt: '2026-01-31T09:00:00.000Z',
  },
);
export type OwnTrunk = z.output<typeof ownTrunk>;

export const registerTrunkBody = named(
  'RegisterOwnTrunk',
  z.strictObject({
    host: z
      .string('must be a host, such as sip.example.com')
      .max(253, 'must have at most 253 characters')
      .regex(
        /^([A-Za-z0-9_]([A-Za-z0-9_.]|-+[A-Za-z0-9_.])*|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)$/,
        'must be a host, such as sip.example.com, without a port',
      )
      .describe('Host name or IP address of the carrier, without a port; at most 253 characters'),
    port: z
      .int('must be a whole number from 1 to 65,535')
      .min(1, 'must be from 1 to 65,535')
      .max(65_535, 'must be from 1 to 65,535')
      .optional()
      .describe('Port; when omitted, from SRV records of the host, otherwise 5060, or 5061 for `tls`'),
    username: text(1, 128)
      .regex(
        /^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d-\x7e]+$/,
        'must be printable ASCII without spaces, quotes, backslashes and angle brackets',
      )
      .describe('Account at the carrier, at most 128 characters of printable ASCII'),
    password: text(1, 256)
      .regex(/^[ -~\u00a0-\uffff]+$/, 'must not contain control characters')
      .optional()
      .describe('Password; write-only. Optional if `host` and `username` do not change and `tls` is not disabled'),
    transport: transport.default('udp').describe('Transport of SIP; `tls` verifies the certificate and its name'),
  }),
  { host: 'sip.example.com', port: 5061, username: 'acme', password: 'correct horse battery', transport: 'tls' },
);

const session = { tag: 'SIP', callers: ['session'] } as const;

export const ownTrunks = defineResource({
  registerOwnTrunk: {
    ...session,
    method: 'POST',
    path: '/sip/register',
    role: 'admin',
    entitlement: 'business_calling',
    summary: 'Set the own SIP trunk and register',
    description: `Creates or updates the trunk and starts the registration; \`GET /sip/status\` returns the result. Disables hosted SIP. The hub renews the registration. After a failure it retries after 5 s, then doubles the delay up to 10 min, and stops after the carrier refused the same password ${maxRefusedCredentials} times. Incoming calls are answered with 480 and recorded as missed, unless the operator sets SIP_TRUNK_CONTACT.`,
    body: registerTrunkBody,
    response: ownTrunk,
  },
  getSipStatus: {
    ...session,
    method: 'GET',
    path: '/sip/status',
    role: 'agent',
    summary: 'Get the state of the own SIP trunk',
    description: 'Returns null without a trunk.',
    response: ownTrunk.nullable(),
  },
  removeOwnTrunk: {
    ...session,
    method: 'DELETE',
    path: '/sip',
    role: 'admin',
    summary: 'Remove the own SIP trunk',
    description: 'The hub unregisters at the carrier. `id` is the id of the trunk in the audit log.',
    response: deleted,
    errors: ['not_found'],
  },
});
