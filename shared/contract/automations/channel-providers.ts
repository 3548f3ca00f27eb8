/** Providers of message channels. */
export const channelProviders = ['telegram', 'slack', 'whatsapp', 'webhook', 'email'] as const;
export type ChannelProvider = (typeof channelProviders)[number];
