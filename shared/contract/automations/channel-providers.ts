/** Where messages go to and come from. */
export const channelProviders = ['telegram', 'slack', 'whatsapp', 'webhook', 'email'] as const;
export type ChannelProvider = (typeof channelProviders)[number];
