import { z } from 'zod';
import { named } from '../common.ts';
import { defineResource } from '../define.ts';

/** SIP by the operator's own server, in the place of a trunk of a workspace's own. */

export const hostedSipReasons = ['sip_server_not_configured', 'credentials_outdated'] as const;

const sipCredentials = named(
  'SipCredentials',
  z.object({
    username: z.string().describe('The account of the workspace at `domain`'),
    password: z.string().describe('Shown this once'),
  }),
);

export const hostedSip = named(
  'HostedSip',
  z.object({
    enabled: z.boolean().describe('Whether the workspace opted in'),
    ready: z.boolean().describe('Whether phones of the workspace can be served; `reason` says why not'),
    reason: z
      .enum(hostedSipReasons)
      .optional()
      .describe(
        '`sip_server_not_configured`: the operator has no SIP server for this hub (SIP_DOMAIN); `credentials_outdated`: the workspace opted in before the server was there, or at another domain; opt in again for credentials that count',
      ),
    entitled: z
      .boolean()
      .describe('Whether the workspace may have it; where it may not any more, `enabled` stays as it was'),
    domain: z.string().nullable().describe('Of the SIP server; null where there is none'),
    username: z
      .string()
      .nullable()
      .describe('The SIP user that you are at `domain`; null unless the workspace opted in and there is a server'),
    wsUrl: z
      .string()
      .nullable()
      .describe('Where softphones of people who are signed in connect; null where that is not offered'),
    credentials: sipCredentials
      .optional()
      .describe(
        'For one phone that registers at `domain` itself, with MD5. Only in the answer to the opt-in that made them: opt out and in again for others',
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
    summary: 'Show how hosted SIP is',
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
      'An own trunk is removed by it. It answers `credentials` where it made some: at the first opt-in, and where those from before count no more. Where the operator has no SIP server it is kept that the workspace wants one, and `ready` is false.',
    response: hostedSip,
  },
  optOutOfHostedSip: {
    ...session,
    method: 'POST',
    path: '/sip/our-sip/opt-out',
    role: 'admin',
    summary: 'Opt out of hosted SIP',
    description: 'The credentials count no more from then on. Opting out of what is not on changes nothing.',
    response: hostedSip,
  },
});
