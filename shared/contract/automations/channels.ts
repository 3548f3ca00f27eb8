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

const secret = (what: string) => text(1, 2000).describe(`${what}; write-only`);
const inboundSecret = text(16, 200).describe(
  'Secret that callers of the inbound endpoint send as X-Service-Automation-Token; at least 16 characters, write-only',
);
const apiBaseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .max(2000)
  .describe('Base URL of the provider API, if it is not the public one');

/** A display name for the hub's own address. It cannot contain characters of an address or invisible characters. */
const senderName = text(1, 100).refine(
  (value) => !/[\p{C}\p{Zl}\p{Zp}@<>"]/u.test(value),
  'must be a name without @, <, >, " and invisible characters',
);

/** Configuration by provider. Responses never contain the fields in `channelSecrets`. */
export const channelConfigs = {
  telegram: z.strictObject({
    botToken: secret('Token of the bot'),
    inboundSecret: inboundSecret.describe('Set it as secret_token of the webhook; write-only'),
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
    verifyToken: secret('Token that the provider sends to verify the webhook'),
    inboundSecret: inboundSecret.optional(),
    apiBaseUrl: apiBaseUrl.default('https://graph.facebook.com/v23.0'),
  }),
  webhook: z.strictObject({
    inboundSecret,
    url: z
      .url({ protocol: /^https?$/, error: 'must be an https address' })
      .max(2000)
      .optional()
      .describe('URL to which outgoing messages are POSTed'),
    signingSecret: secret('Signs outgoing messages').optional(),
  }),
  email: z.strictObject({
    inboundSecret,
    senderName: senderName.optional().describe('Display name of the sender; the address is always that of the hub'),
    replyTo: z
      .email('must be an email address')
      .max(254)
      .optional()
      .describe('Reply-To address; the sender when omitted'),
  }),
} as const;
/**
 * Secrets that are sent to an address or that sign messages to it, by the field of the address. When the address
 * changes, the secret must be sent again.
 */
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
    name: z.string().describe('Display name, at most 200 characters'),
    config: jsonObject.describe('Configuration without secrets'),
    secretsSet: z.array(z.string()).describe('Names of the secrets that are set'),
    active: z.boolean().describe('Whether the channel accepts and sends messages'),
    conversations: z.boolean().describe('Whether inbound messages open Live Chat conversations'),
    inboundPath: z.string().describe('Path to which the provider sends messages, relative to the URL of the hub'),
    version: z.int().min(1).describe('Version, from 1; each change increases it'),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);
export type Channel = z.output<typeof channel>;

export const putChannelBody = named(
  'PutChannel',
  z
    .strictObject({
      id: id.optional().describe('Updates this channel; creates a new one when omitted'),
      provider: z
        .enum(channelProviders, `must be one of ${channelProviders.join(', ')}`)
        .describe('Service that carries the messages; cannot be changed later'),
      name: name.describe('Display name, 1 to 200 characters'),
      config: jsonObject
        .optional()
        .describe(
          'By provider. telegram: botToken, inboundSecret. slack: botToken, signingSecret. whatsapp: accessToken, phoneNumberId, appSecret, verifyToken. webhook: inboundSecret, url?, signingSecret?. email: inboundSecret, senderName?, replyTo?. An update without config keeps it. In a given config, an omitted apiBaseUrl or secret keeps its value, with two exceptions: with a new apiBaseUrl, the token must be sent again; without url, its signingSecret is removed',
        ),
      config_json: jsonObject.optional().describe('Alias of config; send one of the two'),
      active: z
        .boolean()
        .optional()
        .describe(
          'Whether the channel accepts and sends messages. When omitted, true for a new channel, unchanged in an update',
        ),
      conversations: z
        .boolean()
        .optional()
        .describe(
          'With true, an inbound message opens or continues a Live Chat conversation of its sender, and replies in it are sent through the channel. Requires the entitlement conversations_suite. When omitted, false for a new channel, unchanged in an update',
        ),
    })
    .refine((body) => body.config === undefined || body.config_json === undefined, {
      path: ['config_json'],
      message: 'is an alias of config; send one of the two',
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
    description:
      'Newest first, active and inactive ones. Secrets are never returned; `secretsSet` names those that are set.',
    query: listQuery.extend({ provider: z.enum(channelProviders).optional() }),
    response: page(channel),
  },
  putAutomationChannel: {
    ...manage,
    liveOnly: true,
    role: 'admin',
    method: 'POST',
    path: '/v1/automations/channels',
    summary: 'Create or update a channel',
    description:
      'With `id`, updates that channel: its provider cannot change, and an omitted `config` keeps the stored one. `ETag` is the new version.',
    ifMatch: 'version_conflict',
    body: putChannelBody,
    response: channel,
    errors: ['not_found', 'product_not_entitled', 'workspace_limit_reached'],
  },
  getAutomationChannel: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/channels/{id}',
    summary: 'Get a channel',
    description: '`ETag` is the version. Send it as `If-Match` with an update.',
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
    description:
      'Later messages of the provider are refused, and steps that name the channel fail. Conversations of the channel are kept, but replies no longer reach their visitors.',
    params: idParams,
    response: deleted,
  },
  receiveAutomationChannelMessage: {
    tag: 'Channels',
    callers: ['channel'],
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/channels/{id}/inbound',
    summary: 'Receive a channel message',
    description:
      "Called by the provider, with its signature (Slack, WhatsApp) or secret (Telegram). Other callers send the channel's inboundSecret as X-Service-Automation-Token, or an API key. The body of a webhook or email channel is `{ text, from?, replyTo?, messageId?, sessionKey? }`; a repeated messageId starts no second run.",
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
    summary: 'Verify a WhatsApp webhook',
    description:
      'Called by WhatsApp when you set up the webhook. Returns `hub.challenge` as text if `hub.verify_token` is the `verifyToken` of the channel, which may be inactive. An unknown channel gets the same error as a wrong token.',
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
