import type { ChannelProvider } from '../../../../../shared/contract/automations/channel-providers.ts';
import type { ChannelAdapter } from './provider.ts';
import { slack } from './slack.ts';
import { telegram } from './telegram.ts';
import { webhook } from './webhook.ts';
import { whatsapp } from './whatsapp.ts';

/** How each provider takes and gives messages; email goes out by mail. */
export const adapters: Record<Exclude<ChannelProvider, 'email'>, ChannelAdapter> = {
  telegram,
  slack,
  whatsapp,
  webhook,
};
