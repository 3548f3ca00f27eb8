import { z } from 'zod';
import { deleted, named, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

/** The SIP trunk of a carrier at which the hub registers for a workspace. */

export const sipTransports = ['udp', 'tcp', 'tls'] as const;
export type SipTransport = (typeof sipTransports)[number];

export const trunkStates = ['registering', 'registered', 'rejected', 'unreachable', 'stopped'] as const;
export type TrunkState = (typeof trunkStates)[number];

/** Refusals of one password after which the hub stops. */
export const maxRefusedCredentials = 3;

const host = z.string().describe('Of the carrier, such as `sip.example.com`, or its address');
const username = z.string().describe('The account at the carrier');
const transport = z.enum(sipTransports, `must be one of ${sipTransports.join(', ')}`);

export const ownTrunk = named(
  'OwnTrunk',
  z.object({
    mode: z.literal('own').describe('Always `own`: a trunk of the workspace'),
    state: z
      .enum(trunkStates)
      .describe(
        '`registering`: on its way; `registered`; `rejected`: the carrier said no, `lastCode` and `lastReason` are its words; `unreachable`: no SIP answer came; `stopped`: the carrier refused this password three times, and is not asked again before `POST /sip/register`',
      ),
    host,
    port: z.int().nullable().describe('Null where the DNS of the host says it'),
    username,
    transport: z.enum(sipTransports).describe('Transport of SIP to the carrier; `tls` also checks the certificate'),
    registered: z.boolean().describe('Whether the carrier sends calls here now'),
    lastCode: z
      .int()
      .nullable()
      .describe('The SIP status that the last attempt ended with; null where no SIP answer came'),
    lastReason: z
      .string()
      .nullable()
      .describe(
        "The carrier's words for it. Where no SIP answer came: `timeout`, `refused`, `tls_name`, `tls_untrusted`, `dns`, or `address_refused` for a host that leads to a private address. `credentials_rejected` once it stopped, or `password_unreadable` where the hub has another SECRET_KEY than the one that sealed the password; `challenge_not_supported` and `nonce_always_stale` for challenges that nobody can answer; `registration_not_kept` where the carrier took it for no time",
      ),
    expiresAt: timestamp.nullable().describe('Until when the carrier keeps the registration, unless it is renewed'),
    nextAttemptAt: timestamp.nullable().describe('Null when there will be none'),
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
      .describe('Left out, the DNS says it by the SRV records of the host; without any it is 5060, or 5061 for tls'),
    username: text(1, 128)
      .regex(
        /^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d-\x7e]+$/,
        'must be printable ASCII without spaces, quotes, backslashes and angle brackets',
      )
      .describe('Account at the carrier, at most 128 characters of printable ASCII'),
    password: text(1, 256)
      .regex(/^[ -~\u00a0-\uffff]+$/, 'must not hold control characters')
      .optional()
      .describe('Write only. May be left out while `host` and `username` stay as they are, and `tls` is not given up'),
    transport: transport.default('udp').describe('`tls` checks the certificate and its name'),
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
    summary: 'Register at a SIP trunk of your own',
    description: `Sets or changes the trunk, and has the hub register there at once; \`GET /sip/status\` says what came of it. Hosted SIP is switched off by it. The hub renews the registration, tries again after 5 s, then twice as long each time up to 10 min, and stops once the carrier refused the same password ${maxRefusedCredentials} times. Calls that come to it are answered 480 and recorded as missed, unless the operator set SIP_TRUNK_CONTACT.`,
    body: registerTrunkBody,
    response: ownTrunk,
  },
  getSipStatus: {
    ...session,
    method: 'GET',
    path: '/sip/status',
    role: 'agent',
    summary: 'Show how the own SIP trunk is',
    description: 'Null when there is none.',
    response: ownTrunk.nullable(),
  },
  removeOwnTrunk: {
    ...session,
    method: 'DELETE',
    path: '/sip',
    role: 'admin',
    summary: 'Remove the own SIP trunk',
    description:
      'The hub takes the registration back at the carrier. `id` is that of the trunk, as the audit log has it.',
    response: deleted,
    errors: ['not_found'],
  },
});
