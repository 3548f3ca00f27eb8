export { createChannelConversations } from './channel-conversations.ts';
