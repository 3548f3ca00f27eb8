import { chat as resource } from '../../../../shared/contract/chat/chat.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import type { TokenIdentity } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Conversations } from './conversations.ts';

const byToken = (principal: { kind: 'token' } & TokenIdentity) => ({
  actor: actorOf(principal),
  environment: principal.environment,
});

export const conversationRoutes = (conversations: Conversations) =>
  implement(resource, {
    createChatSession: ({ principal, body, baseUrl }) =>
      conversations.mint(principal.tenantId, body, byToken(principal), baseUrl),
    listChatConversations: ({ principal, query }) =>
      conversations.list(principal.tenantId, principal.environment, query),
    createChatConversation: ({ principal, body }) => conversations.create(principal.tenantId, body, byToken(principal)),
    listChatMessages: ({ principal, params, query }) =>
      conversations.messages(principal.tenantId, principal.environment, params.id, query),
    sendChatMessage: ({ principal, params, body }) =>
      conversations.send(
        principal.tenantId,
        params.id,
        { ...body, senderType: 'api', senderId: principal.tokenId },
        byToken(principal),
      ),
    listChatVisitors: ({ principal, query }) =>
      conversations.visitors(principal.tenantId, principal.environment, query),
  });
