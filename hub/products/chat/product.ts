import type { RowRetention } from '../../platform/db/row-retention.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { ChatEventFollower, Product } from '../../product.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { Assignment } from './assignment/index.ts';
import { CannedReplies, cannedReplyRoutes } from './canned-replies/index.ts';
import { conversationRoutes, Conversations, ConversationWriter, MessageWriter } from './conversations/index.ts';
import { createChatEvents } from './events/index.ts';
import type { ChatEvents } from './events/index.ts';
import { Inbox, inboxRoutes } from './inbox/index.ts';
import type { Viewing } from './inbox/index.ts';
import { createChatChanges } from './live/changes.ts';
import { Erasure, peopleRoutes, removeAgedConversations, Visitors } from './people/index.ts';
import { ChatSettingsService } from './settings/index.ts';
import { chatSkills } from './skills.ts';
import { VisitorSessions } from './visitor-page/sessions.ts';

/** Live Chat. */
export interface Chat extends Product {
  events: ChatEvents;
  visitors: VisitorSessions;
  conversations: Conversations;
  inbox: Inbox;
}

/** @param followers what other products do when something happens in a chat. */
export function createChat(
  { db, cursors, events: hubEvents }: Platform,
  { limits }: { limits: WorkspaceLimits },
  followers: readonly ChatEventFollower[],
): Chat {
  const events = createChatEvents(followers);
  const changes = createChatChanges(hubEvents);
  const conversationWriter = new ConversationWriter(events, changes);
  const messageWriter = new MessageWriter(events, changes);
  const assignment = new Assignment(conversationWriter);
  const visitors = new VisitorSessions(db);
  const erasure = new Erasure({ db, events: hubEvents, changes });
  const viewing: Viewing = { show: () => undefined, viewersOf: () => [] };
  const conversations = new Conversations({ db, cursors, conversationWriter, messageWriter, assignment });
  const inbox = new Inbox({
    db,
    cursors,
    events: hubEvents,
    conversationWriter,
    messageWriter,
    assignment,
    changes,
    viewing,
  });
  return {
    events,
    visitors,
    conversations,
    inbox,
    routes: [
      ...conversationRoutes(conversations),
      ...inboxRoutes(inbox),
      ...peopleRoutes({
        db,
        cursors,
        erasure,
        visitors: new Visitors({ db, cursors, events: hubEvents, changes }),
        settings: new ChatSettingsService(db),
      }),
      ...cannedReplyRoutes(new CannedReplies({ db, cursors, limits })),
    ],
    tasks: [
      { name: 'erased visitors', everyMs: 60_000, run: (stopping) => erasure.sweep(stopping) },
      {
        name: 'retention of conversations',
        everyMs: 60_000,
        run: (stopping) => removeAgedConversations({ db, changes }, stopping),
      },
    ],
    skills: chatSkills({ db, conversationWriter, messageWriter }),
    retention: chatRetention,
  };
}

export const chatRetention: RowRetention = {
  // A link opens nothing once its day is over; so there are never more than those that the rate limits let be minted in a day.
  expiring: [{ table: 'chat_links' }, { table: 'chat_sessions' }],
  // Longer than any bill that is made of it: a year and a month.
  aged: [{ table: 'usage_events', days: 400 }],
};
