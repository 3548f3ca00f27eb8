export { createChannelConversations } from './channel-conversations.ts';
export type { ChannelConversations } from './channel-conversations.ts';
