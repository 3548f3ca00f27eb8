import { z } from 'zod';
import { channelProviders } from '../../shared/contract/channel-providers.ts';
import { id, text } from '../../shared/contract/common.ts';
import type { Channels } from '../modules/channels/index.ts';
import type { Email } from '../modules/email/index.ts';
import type { Marketing } from '../modules/marketing/index.ts';
import { defineSkill } from './define.ts';
import type { DirectSkill } from './define.ts';

/** When a mail server or provider asks for a pause, its own delay wins over this. */
const retry = { maxAttempts: 4, backoffSeconds: 2, factor: 4 };

export function messageSkills({
  email,
  channels,
  marketing,
}: {
  email: Email;
  channels: Channels;
  marketing: Marketing;
}): DirectSkill[] {
  return [
    defineSkill({
      id: 'email.send',
      title: 'Send a mail',
      summary: "Sends a mail through the hub's SMTP server.",
      requires: ['business_email'],
      effect: 'once',
      waitsOutside: true,
      retry,
      input: z
        .strictObject({
          to: z.array(z.email('must be an email address').max(254)).min(1, 'must name at least one address').max(50),
          subject: text(1, 500),
          html: text(1, 500_000).optional(),
          text: text(1, 100_000).optional(),
          body: text(1, 100_000).optional().describe('The same as text'),
        })
        .refine((input) => input.html !== undefined || input.text !== undefined || input.body !== undefined, {
          message: 'give html, text or body',
          path: ['text'],
        }),
      execute: ({ body, ...mail }, context) => email.send({ ...mail, text: mail.text ?? body }, context),
    }),
    defineSkill({
      id: 'channel.deliver',
      title: 'Send a message',
      summary: 'Sends a message through a channel: Telegram, Slack, WhatsApp, a webhook or mail.',
      requires: ['automations'],
      effect: 'once',
      waitsOutside: true,
      retry,
      input: z
        .strictObject({
          to: text(1, 2000).describe(
            'As the provider names people: a chat id, a channel id, a phone number, an address',
          ),
          text: text(1, 20_000),
          channelId: id.optional(),
          provider: z
            .enum(channelProviders, `must be one of ${channelProviders.join(', ')}`)
            .optional()
            .describe('Its only active channel'),
          subject: text(1, 500).optional().describe('For mail'),
          mediaUrl: text(1, 4000).optional().describe('Address of a picture that the provider fetches'),
        })
        .refine((input) => input.channelId !== undefined || input.provider !== undefined, {
          message: 'give channelId or provider',
          path: ['channelId'],
        }),
      lookUp: (input, context) => channels.pick(input, context.tenantId),
      execute: (input, context, channel) => channels.deliver(channel, input, context),
    }),
    defineSkill({
      id: 'marketing.campaign_send',
      title: 'Send a campaign',
      summary: 'Mails a campaign to every contact of its list that has not had it yet.',
      requires: ['marketing', 'business_email'],
      // Its own ledger knows who got a mail, so that it goes on where it was cut off.
      effect: 'pure',
      waitsOutside: true,
      retry,
      input: z.strictObject({ campaignId: id }),
      execute: ({ campaignId }, context) => marketing.send(campaignId, context),
    }),
  ];
}
