import { usageEventDays } from '../../../shared/contract/core/usage-events.ts';
import type { RowRetention } from '../../platform/db/row-retention.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Product } from '../../product.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { AgentPresences, agentRoutes } from './agents/index.ts';
import { Assignment, AssignmentUpkeep } from './assignment/index.ts';
import { CannedReplies, cannedReplyRoutes } from './canned-replies/index.ts';
import { createChannelConversations } from './channels/index.ts';
import type { ChannelConversations } from './channels/index.ts';
import { ConversationWriter, MessageWriter } from './conversations/index.ts';
import { ChatEvents } from './events/index.ts';
import { ChatFiles, chatFileRoutes, FileBlobs, FileScanner, foldFileUsage, IncomingFiles } from './files/index.ts';
import { HandOver } from './hand-over/index.ts';
import { foldDoneCounts, Inbox, inboxRoutes } from './inbox/index.ts';
import {
  AgentSocketGateway,
  LiveChat,
  liveRoutes,
  liveSockets,
  VisitorSocketGateway,
  VisitorMarks,
} from './live/index.ts';
import { chatPages } from './page/index.ts';
import { Erasure, peopleRoutes, removeAgedConversations, Visitors } from './people/index.ts';
import { MemberPictures, memberPictureRoutes } from './pictures/index.ts';
import { ChatSettingsService } from './settings/index.ts';
import { chatSkills } from './skills.ts';
import { Suggestions } from './suggestions/index.ts';
import { conversationRoutes, Conversations } from './token-api/index.ts';
import {
  SessionOpenings,
  VisitorChat,
  VisitorEntry,
  visitorPageRoutes,
  VisitorSessions,
} from './visitor-page/index.ts';
import type { AnonymousVisitorLimits } from './visitor-page/index.ts';

/** Live Chat. */
export interface Chat extends Product {
  /** Events that other products subscribe to. */
  events: ChatEvents;
  visitors: VisitorSessions;
  conversations: Conversations;
  inbox: Inbox;
  settings: ChatSettingsService;
  suggestions: Suggestions;
  /** Writes messages for other products. */
  writers: ChatWriters;
  /** Conversations of channel senders. */
  channelConversations: ChannelConversations;
}

interface ChatWriters {
  conversations: ConversationWriter;
  messages: MessageWriter;
  assignment: Assignment;
  handOver: HandOver;
}

export interface ChatConfig {
  artifacts: { maxWorkspaceBytes: number };
  limits: { anonymousVisitors: AnonymousVisitorLimits };
}

/** @param stack disposes the background tasks. */
export function createChat(
  stack: AsyncDisposableStack,
  { db, cursors, rateLimiter, chatBlobs: blobs, events: hubEvents, logger }: Platform,
  { artifacts: { maxWorkspaceBytes }, limits: { anonymousVisitors: anonymousVisitorLimits } }: ChatConfig,
  { limits }: { limits: WorkspaceLimits },
): Chat {
  const events = new ChatEvents();
  const conversationWriter = new ConversationWriter(events);
  const messageWriter = new MessageWriter(events);
  const assignment = new Assignment(conversationWriter, db);
  const upkeep = stack.use(
    new AssignmentUpkeep({ db, events: hubEvents, conversations: conversationWriter, assignment, logger }),
  );
  const visitors = new VisitorSessions(db);
  const erasure = new Erasure({ db, chatEvents: events });
  const entry = new VisitorEntry({
    db,
    rateLimiter,
    logger,
    anonymousVisitorLimits,
    openings: new SessionOpenings(rateLimiter),
    sessions: visitors,
    conversationWriter,
    messageWriter,
    assignment,
    events,
  });
  const handOver = new HandOver({ conversationWriter, messageWriter, assignment });
  const chat = new VisitorChat({
    db,
    rateLimiter,
    conversationWriter,
    messageWriter,
    assignment,
    events,
    hubEvents,
    handOver,
  });
  const fileBlobs = new FileBlobs({ db, blobs });
  const scanner = stack.use(new FileScanner());
  const incoming = new IncomingFiles();
  const files = new ChatFiles({ db, blobs, fileBlobs, scanner, maxWorkspaceBytes });
  const pictures = new MemberPictures({ db, blobs, fileBlobs, scanner });
  const presences = stack.use(
    new AgentPresences({ db, events: hubEvents, fill: (tenantId) => assignment.fill(tenantId), logger }),
  );
  const live = stack.use(new LiveChat({ db, events: hubEvents, presences, logger }));
  const visitorGateway = new VisitorSocketGateway(live, hubEvents, new VisitorMarks(db, logger));
  const agentGateway = new AgentSocketGateway(live, hubEvents, presences);
  const settings = new ChatSettingsService(db);
  const conversations = new Conversations({ db, cursors, conversationWriter, messageWriter, assignment });
  const inbox = new Inbox({
    db,
    cursors,
    conversationWriter,
    messageWriter,
    assignment,
    viewing: live,
  });
  return {
    events,
    visitors,
    conversations,
    inbox,
    settings,
    suggestions: new Suggestions({ db, cursors }),
    writers: { conversations: conversationWriter, messages: messageWriter, assignment, handOver },
    channelConversations: createChannelConversations({ conversationWriter, messageWriter, assignment }),
    routes: [
      ...conversationRoutes(conversations),
      ...inboxRoutes(inbox),
      ...peopleRoutes({
        db,
        cursors,
        erasure,
        visitors: new Visitors({ db, cursors }),
        settings,
      }),
      ...cannedReplyRoutes(new CannedReplies({ db, cursors, limits })),
      ...visitorPageRoutes({ entry, chat }),
      ...chatFileRoutes({ files, incoming, rateLimiter }),
      ...memberPictureRoutes({ pictures, incoming, rateLimiter }),
      ...agentRoutes(presences),
      ...liveRoutes(visitorGateway, agentGateway),
    ],
    skills: chatSkills({ db, conversationWriter, messageWriter }),
    sockets: liveSockets(visitorGateway, agentGateway),
    tasks: [
      ...upkeep.tasks,
      { name: 'erased visitors', everyMs: 60_000, run: (stopping) => erasure.sweep(stopping) },
      {
        name: 'retention of conversations',
        everyMs: 60_000,
        run: (stopping) => removeAgedConversations({ db, chatEvents: events }, stopping),
      },
      { name: 'loose files of chats', everyMs: 600_000, run: (stopping) => fileBlobs.removeUnattached(stopping) },
      { name: 'room of files of chats', everyMs: 60_000, run: (stopping) => foldFileUsage(db, stopping) },
      { name: 'counts of conversations', everyMs: 60_000, run: (stopping) => foldDoneCounts(db, stopping) },
      { name: 'bytes without a file of a chat', everyMs: 60_000, run: (stopping) => fileBlobs.removeUnused(stopping) },
    ],
    pages: chatPages(db),
    retention: chatRetention,
  };
}

export const chatRetention: RowRetention = {
  // Links expire after a day, so the rate limits bound their number.
  expiring: [{ table: 'chat_links' }, { table: 'chat_sessions' }],
  // Usage is kept for 13 months, longer than any billing period.
  aged: [
    { table: 'usage_events', days: usageEventDays },
    { table: 'chat_ai_suggestions', days: 30 },
  ],
};
