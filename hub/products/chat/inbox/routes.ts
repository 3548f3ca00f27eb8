import { inbox as resource } from '../../../../shared/contract/chat/inbox.ts';
import type { SessionIdentity } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Agent, Inbox } from './inbox.ts';

const agentOf = ({ tenantId, user }: SessionIdentity): Agent => ({ tenantId, userId: user.id });

export const inboxRoutes = (inbox: Inbox) =>
  implement(resource, {
    listInboxConversations: ({ principal, query }) => inbox.list(agentOf(principal), query),
    startInboxConversation: ({ principal, body }) => inbox.start(agentOf(principal), body),
    countInboxConversations: ({ principal }) => inbox.counts(agentOf(principal)),
    changeInboxConversations: ({ principal, body }) => inbox.bulk(agentOf(principal), body),
    getInboxConversation: ({ principal, params }) => inbox.show(agentOf(principal), params.id),
    updateInboxConversation: ({ principal, params, body }) => inbox.update(agentOf(principal), params.id, body),
    assignInboxConversation: ({ principal, params, body }) => inbox.assign(agentOf(principal), params.id, body),
    listInboxMessages: ({ principal, params, query }) => inbox.messages(agentOf(principal), params.id, query),
    sendInboxMessage: ({ principal, params, body }) => inbox.send(agentOf(principal), params.id, body),
    readInboxConversation: ({ principal, params, body }) => inbox.read(agentOf(principal), params.id, body.seq),
    showInboxActivity: ({ principal, params, body }) =>
      inbox.activity(agentOf(principal), principal.user.displayName, params.id, body),
    putInboxDraft: ({ principal, params, body }) => inbox.putDraft(agentOf(principal), params.id, body),
    revokeInboxLinks: ({ principal, params }) => inbox.revokeLinks(agentOf(principal), params.id),
  });
