import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { deleted, id, idParams, listQuery, name, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { channelProviders } from './channel-providers.ts';

const manage = {
  tag: 'Channels',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

const secret = (what: string) => text(1, 2000).describe(`${what}; write only`);
const inboundSecret = text(16, 200).describe(
  'Callers of the inbound endpoint send it as X-Service-Automation-Token; at least 16 characters, write only',
);
const apiBaseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .max(2000)
  .describe('Where the provider answers, when that is not its own public address');

/** A name before the hub's own address: none that reads like an address, or like something else than it is. */
const senderName = text(1, 100).refine(
  (value) => !/[\p{C}\p{Zl}\p{Zp}@<>"]/u.test(value),
  'must be a name without @, <, >, " and invisible characters',
);

/** The configuration of each provider; what `channelSecrets` names is never shown again. */
export const channelConfigs = {
  telegram: z.strictObject({
    botToken: secret('Token of the bot'),
    inboundSecret: inboundSecret.describe('Set it as secret_token of the webhook; write only'),
    apiBaseUrl: apiBaseUrl.default('https://api.telegram.org'),
  }),
  slack: z.strictObject({
    botToken: secret('Bot user OAuth token'),
    signingSecret: secret('Signing secret of the app'),
    inboundSecret: inboundSecret.optional(),
    apiBaseUrl: apiBaseUrl.default('https://slack.com/api'),
  }),
  whatsapp: z.strictObject({
    accessToken: secret('Access token of the app'),
    phoneNumberId: text(1, 100),
    appSecret: secret('App secret, which signs webhooks'),
    verifyToken: secret('What the provider sends when the webhook is set up'),
    inboundSecret: inboundSecret.optional(),
    apiBaseUrl: apiBaseUrl.default('https://graph.facebook.com/v23.0'),
  }),
  webhook: z.strictObject({
    inboundSecret,
    url: z
      .url({ protocol: /^https?$/, error: 'must be an https address' })
      .max(2000)
      .optional()
      .describe('Where outgoing messages are POSTed'),
    signingSecret: secret('Signs outgoing messages').optional(),
  }),
  email: z.strictObject({
    inboundSecret,
    senderName: senderName.optional().describe('What readers see as the sender; the address is always that of the hub'),
    replyTo: z
      .email('must be an email address')
      .max(254)
      .optional()
      .describe('Where answers go; to the sender when left out'),
  }),
} as const;
/** Secrets that a provider is sent, or that sign what it is sent, each with the field that says where to: for another address it must be given anew. */
export const secretAddresses: Readonly<Record<string, readonly string[]>> = {
  apiBaseUrl: ['botToken', 'accessToken'],
  url: ['signingSecret'],
};
export const channelSecrets: readonly string[] = [
  'botToken',
  'signingSecret',
  'accessToken',
  'appSecret',
  'verifyToken',
  'inboundSecret',
];

export const channel = named(
  'Channel',
  z.object({
    id: id.describe('Id of the channel'),
    provider: z.enum(channelProviders).describe('Service that carries the messages'),
    name: z.string().describe('Label for people, at most 200 characters'),
    config: jsonObject.describe('Without its secrets'),
    secretsSet: z.array(z.string()).describe('Which secrets are set'),
    active: z.boolean().describe('Whether the channel accepts and sends messages'),
    conversations: z.boolean().describe('Whether inbound messages open Live Chat conversations'),
    inboundPath: z.string().describe('Where the provider sends its messages to, under the address of the hub'),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);
export type Channel = z.output<typeof channel>;

export const putChannelBody = named(
  'PutChannel',
  z
    .strictObject({
      id: id.optional().describe('Changes this channel; a new one when left out'),
      provider: z
        .enum(channelProviders, `must be one of ${channelProviders.join(', ')}`)
        .describe('Service that carries the messages; can not be changed later'),
      name: name.describe('Label for people, 1 to 200 characters'),
      config: jsonObject
        .optional()
        .describe(
          'By provider. telegram: botToken, inboundSecret. slack: botToken, signingSecret. whatsapp: accessToken, phoneNumberId, appSecret, verifyToken. webhook: inboundSecret, url?, signingSecret?. email: inboundSecret, senderName?, replyTo?. In a change, a config that is left out is kept. In one that is given, apiBaseUrl and each secret keep their value when left out; but a token goes only to the apiBaseUrl that it was set for, and must be given anew with another one, and a signingSecret is dropped with its url',
        ),
      config_json: jsonObject.optional().describe('Another name of config; send one of the two'),
      active: z
        .boolean()
        .optional()
        .describe(
          'Whether the channel accepts and sends messages. True for a new channel; a change keeps the value when left out',
        ),
      conversations: z
        .boolean()
        .optional()
        .describe(
          'With true, an inbound message opens or continues a Live Chat conversation of its sender, and replies in it are sent through the channel. Requires the entitlement conversations_suite. False for a new channel; a change keeps the value when left out',
        ),
    })
    .refine((body) => body.config === undefined || body.config_json === undefined, {
      path: ['config_json'],
      message: 'is another name of config; send one of the two',
    }),
  { provider: 'webhook', name: 'Orders', config: { inboundSecret: 'a-long-random-secret' } },
);

export const channels = defineResource({
  listAutomationChannels: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/channels',
    summary: 'List channels',
    query: listQuery.extend({ provider: z.enum(channelProviders).optional() }),
    response: page(channel),
  },
  putAutomationChannel: {
    ...manage,
    liveOnly: true,
    role: 'admin',
    method: 'POST',
    path: '/v1/automations/channels',
    summary: 'Create or change a channel',
    body: putChannelBody,
    response: channel,
    errors: ['not_found', 'product_not_entitled', 'workspace_limit_reached'],
  },
  getAutomationChannel: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/channels/{id}',
    summary: 'Show a channel',
    params: idParams,
    response: channel,
  },
  deleteAutomationChannel: {
    ...manage,
    liveOnly: true,
    role: 'admin',
    method: 'DELETE',
    path: '/v1/automations/channels/{id}',
    summary: 'Delete a channel',
    params: idParams,
    response: deleted,
  },
  receiveAutomationChannelMessage: {
    tag: 'Channels',
    callers: ['channel'],
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/channels/{id}/inbound',
    summary: 'Receive a message of a channel',
    description:
      "For the provider, with its own signature (Slack, WhatsApp) or secret (Telegram); for anybody else with the channel's inboundSecret as X-Service-Automation-Token, or with an API key. A channel of webhook or email takes `{ text, from?, replyTo?, messageId?, sessionKey? }`; the same messageId twice starts one run.",
    params: idParams,
    body: jsonObject,
    response: z.union([
      z.object({
        received: z.literal(true).describe('Always true: the message was accepted'),
        runIds: z.array(id).describe('Runs that the message started; may be empty'),
        sessionId: id.nullable().describe('Session that the message was added to; null without one'),
        duplicate: z.literal(true).optional().describe('True when the message was received before'),
      }),
      z.object({ challenge: z.string().describe('Challenge of the provider, returned unchanged') }),
    ]),
    errors: [
      'channel_secret_invalid',
      'channel_inactive',
      'product_not_entitled',
      'workspace_limit_reached',
      'queued_runs_limit_reached',
    ],
    ipLimit: 'hook',
  },
  verifyAutomationChannel: {
    tag: 'Channels',
    callers: ['public'],
    method: 'GET',
    path: '/v1/automations/channels/{id}/inbound',
    summary: 'Answer the check that WhatsApp makes when its webhook is set up',
    params: idParams,
    query: z.strictObject({
      'hub.mode': text(1, 50),
      'hub.verify_token': text(1, 2000),
      'hub.challenge': text(1, 500),
    }),
    response: z.unknown(),
    binaryResponse: 'text/plain',
    errors: ['channel_secret_invalid'],
    ipLimit: 'hook',
  },
});
