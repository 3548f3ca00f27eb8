import type { ChatEventType } from '../../../shared/contract/chat/chat-events.ts';
import type { ChatMessage, Conversation, Visitor } from '../../../shared/contract/chat/shapes.ts';
import type { JsonObject } from '../../../shared/json.ts';

const idOf = (n: number) => `01980000-0000-7000-8000-${String(n).padStart(12, '0')}`;

/** The payload of a sample event, marked `test: true`. Its ids refer to no stored rows. */
export function samplePayload(
  event: ChatEventType,
  { tenantId, environment, actor, at }: { tenantId: string; environment: 'live' | 'test'; actor: string; at: string },
): JsonObject {
  const [conversationId, visitorId, assigneeId] = [idOf(1), idOf(2), idOf(4)];
  const conversation: Conversation = {
    id: conversationId,
    name: 'Ada',
    source: 'widget',
    status: event === 'conversation.closed' || event === 'csat.submitted' ? 'closed' : 'open',
    priority: 'normal',
    assignedUserId: event === 'conversation.assigned' ? assigneeId : null,
    visitorId,
    unreadCount: 1,
    lastMessageAt: at,
    createdAt: at,
    updatedAt: at,
  };
  const visitor: Visitor = {
    id: visitorId,
    display_name: 'Ada',
    email: 'ada@example.com',
    phone: null,
    external_id: 'customer-42',
    attributes: { plan: 'pro' },
    created_at: at,
    last_seen_at: at,
  };
  const message: ChatMessage = {
    id: idOf(3),
    conversationId,
    seq: 1,
    content: 'When does the shop open?',
    senderType: 'visitor',
    senderId: visitorId,
    senderName: null,
    senderPicture: null,
    attachments: [],
    clientId: null,
    createdAt: at,
  };
  return {
    test: true,
    tenantId,
    sequence: 1,
    environment,
    actor,
    conversation,
    visitor,
    ...(event === 'message.created' ? { message } : {}),
    ...(event === 'conversation.assigned' ? { assignee: { id: assigneeId } } : {}),
    ...(event === 'csat.submitted' ? { csat: { score: 5, comment: 'Quick and kind.' } } : {}),
  };
}
