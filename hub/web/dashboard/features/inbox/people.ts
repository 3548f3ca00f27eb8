import { useQuery } from '@tanstack/react-query';
import type { ChatAgent, InboxConversation, InboxMessage } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useSession } from '../../app/session.tsx';

const nameOfAgent = ({ displayName, email }: ChatAgent) => visibleLine(displayName ?? email);

/** The members of the workspace, and how the page names them. */
export function usePeople() {
  const { tenantId, user } = useSession();
  const { words } = useLanguage();
  const { data } = useQuery(query('listChatAgents', { params: { tenantId } }));
  const agents = data?.data ?? [];
  const nameOf = (userId: string | null) => {
    if (userId === user.id) return words.inbox.you;
    const agent = agents.find((each) => each.userId === userId);
    return agent === undefined ? words.inbox.formerMember : nameOfAgent(agent);
  };
  return {
    ownId: user.id,
    agents,
    nameOf,
    own: agents.find(({ userId }) => userId === user.id),
    /** Who wrote a message, except a visitor. */
    senderOf: ({ senderType, senderId, senderName }: InboxMessage) => {
      if (senderType === 'ai') return words.inbox.aiAgent;
      if (senderType === 'api') return words.inbox.automation;
      if (senderType === 'system') return words.inbox.system;
      return senderName === null ? nameOf(senderId) : visibleLine(senderName);
    },
    /** Who answers a conversation. */
    ownerOf: ({ assignedUserId, owner }: Pick<InboxConversation, 'assignedUserId' | 'owner'>) => {
      if (assignedUserId !== null) return nameOf(assignedUserId);
      return owner === 'ai' ? words.inbox.aiAgent : words.inbox.unassigned;
    },
  };
}

/** The name of a visitor in lists and headings. */
export function useVisitorName(): (conversation: Pick<InboxConversation, 'visitorName' | 'name'>) => string {
  const { anonymous } = useLanguage().words.inbox;
  return ({ visitorName, name }) => visibleLine(visitorName ?? (name === 'Visitor' || name === '' ? anonymous : name));
}
