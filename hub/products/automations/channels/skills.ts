import { z } from 'zod';
import { channelProviders } from '../../../../shared/contract/automations/channel-providers.ts';
import { id, text } from '../../../../shared/contract/common.ts';
import { defineSkill, outgoingRetry } from '../../../engine/skill.ts';
import type { DirectSkill } from '../../../engine/skill.ts';
import { emailOutput } from '../email/index.ts';
import type { Channels } from './service.ts';

export const channelSkills = (channels: Channels): DirectSkill[] => [
  defineSkill({
    id: 'channel.deliver',
    title: 'Send a message',
    summary: 'Sends a message through a channel: Telegram, Slack, WhatsApp, a webhook or mail.',
    requires: ['automations'],
    effect: 'once',
    waitsForThirdParty: true,
    retry: outgoingRetry,
    input: z
      .strictObject({
        to: text(1, 2000).describe(
          'The recipient in the format of the provider: a chat id, a channel id, a phone number or an address',
        ),
        text: text(1, 20_000),
        channelId: id.optional(),
        provider: z
          .enum(channelProviders, `must be one of ${channelProviders.join(', ')}`)
          .optional()
          .describe('The only active channel of this provider is used'),
        subject: text(1, 500).optional().describe('For mail'),
        mediaUrl: text(1, 4000).optional().describe('URL of an image that the provider fetches'),
      })
      .refine((input) => input.channelId !== undefined || input.provider !== undefined, {
        message: 'give channelId or provider',
        path: ['channelId'],
      }),
    output: z.union([
      emailOutput,
      z.object({ simulated: z.literal(true), channelId: id, to: z.string() }),
      z.object({
        channelId: id,
        provider: z.enum(channelProviders),
        to: z.string(),
        providerMessageId: z.string().nullable(),
      }),
    ]),
    lookUp: (input, context) => channels.pick(input, context.tenantId),
    execute: (input, context, channel) => channels.deliver(channel, input, context),
  }),
];
