import { z } from 'zod';
import { named } from '../common.ts';
import { defineResource } from '../define.ts';

/** Hosted SIP: the SIP server of the operator, as an alternative to a SIP trunk of the workspace. */

export const hostedSipReasons = ['sip_server_not_configured', 'credentials_outdated'] as const;

const sipCredentials = named(
  'SipCredentials',
  z.object({
    username: z.string().describe('SIP account of the workspace at `domain`'),
    password: z.string().describe('Password, returned only once'),
  }),
);

export const hostedSip = named(
  'HostedSip',
  z.object({
    enabled: z.boolean().describe('Whether the workspace opted in'),
    ready: z.boolean().describe('Whether phones of the workspace can connect; otherwise see `reason`'),
    reason: z
      .enum(hostedSipReasons)
      .optional()
      .describe(
        '`sip_server_not_configured`: the operator has not configured a SIP server (`SIP_DOMAIN`). `credentials_outdated`: the workspace opted in before there was a server, or with another domain; opt in again for new credentials',
      ),
    entitled: z.boolean().describe('Whether the workspace has the entitlement; losing it does not change `enabled`'),
    domain: z.string().nullable().describe('Domain of the SIP server; null without one'),
    username: z
      .string()
      .nullable()
      .describe('Your SIP user at `domain`; null unless the workspace opted in and there is a server'),
    wsUrl: z.string().nullable().describe('WebSocket URL for softphones of signed-in users; null if not offered'),
    credentials: sipCredentials
      .optional()
      .describe(
        'Credentials for a phone that registers at `domain` itself, with MD5. Returned only by the opt-in that created them; opt out and in again for new ones',
      ),
  }),
  {
    enabled: true,
    ready: true,
    entitled: true,
    domain: 'sip.example.com',
    username: 'w2f0c8e1b7a6d5943-019c0000000070008000000000000007',
    wsUrl: null,
  },
);
export type HostedSip = z.output<typeof hostedSip>;

const session = { tag: 'SIP', callers: ['session'] } as const;

export const hostedSipOperations = defineResource({
  getHostedSip: {
    ...session,
    method: 'GET',
    path: '/sip/our-sip',
    role: 'agent',
    summary: 'Get the state of hosted SIP',
    description:
      'Also available without the entitlement; `entitled` shows whether the workspace has it. Never contains `credentials`.',
    response: hostedSip,
  },
  optIntoHostedSip: {
    ...session,
    method: 'POST',
    path: '/sip/our-sip/opt-in',
    role: 'admin',
    entitlement: 'business_calling',
    summary: 'Opt into hosted SIP',
    description:
      'Removes an own SIP trunk. The response contains `credentials` if new ones were created: at the first opt-in, and when earlier ones are no longer valid. If the operator has no SIP server, the opt-in is stored and `ready` is false.',
    response: hostedSip,
  },
  optOutOfHostedSip: {
    ...session,
    method: 'POST',
    path: '/sip/our-sip/opt-out',
    role: 'admin',
    summary: 'Opt out of hosted SIP',
    description: 'Revokes the credentials. Opting out again changes nothing.',
    response: hostedSip,
  },
});
