import type { ChannelProvider } from '../../../../../shared/contract/automations/channel-providers.ts';
import type { ChannelAdapter } from './provider.ts';
import { slack } from './slack.ts';
import { telegram } from './telegram.ts';
import { webhook } from './webhook.ts';
import { whatsapp } from './whatsapp.ts';

/** The adapter of each provider. Email channels use the mailer instead. */
export const adapters: Record<Exclude<ChannelProvider, 'email'>, ChannelAdapter> = {
  telegram,
  slack,
  whatsapp,
  webhook,
};
