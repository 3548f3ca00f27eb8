import type { InboxConversation, InboxMessage } from '../../../../shared/contract/chat/agent-shapes.ts';
import { maxSeq } from '../../../../shared/contract/chat/shapes.ts';
import type { ChatMessage } from '../../../../shared/contract/chat/shapes.ts';
import type { VisitorConversation } from '../../../../shared/contract/chat/visitor-page.ts';
import { Batcher } from '../../../platform/db/batcher.ts';
import type { Database } from '../../../platform/db/database.ts';
import { maxPageBytes, messageColumns, pageText, presentMessage } from '../conversations/index.ts';
import type { MessageRow, PublicMessageRow } from '../conversations/index.ts';
import { inboxColumns, inboxJoins, presentInboxConversation, presentInboxMessage } from '../inbox/index.ts';
import type { InboxConversationRow } from '../inbox/index.ts';
import { outgoing } from './connection.ts';
import type { OutgoingFrame } from './connection.ts';
import { readVisitorConversations } from './visitor-conversations.ts';

/** A conversation id with the workspace that the conversation must belong to. */
export interface ConversationKey {
  tenantId: string;
  conversationId: string;
}

/**
 * Serialized messages after a `seq`, with the state of the conversation at the same moment. Equal concurrent requests
 * share a page.
 */
export interface MissedPage {
  messages: { seq: number; frame: OutgoingFrame }[];
  /** Total size of the message frames. */
  bytes: number;
  lastSeq: number;
  lastPosition: number;
  status: string;
}

export interface FeedRead extends ConversationKey {
  after: number;
  /** Only messages that were written later. Null for all. */
  since: Date | null;
}

/** A message or note as agents see it, and as visitors see it. `public` is null for a note. */
export interface WrittenEntry {
  position: number;
  inbox: InboxMessage;
  public: ChatMessage | null;
}

/** Messages and notes of a conversation after the requested position. */
export interface FeedPage {
  entries: WrittenEntry[];
  /** Whether there are more entries than one read returns. */
  hasMore: boolean;
}

const pageSize = 50;
const feedSize = 100;
/** Requests that one statement serves. */
const maxRequestsPerBatch = 200;
/** Bytes of text that one statement returns, not counting the first message of each request. */
const maxStatementBytes = 4 * 1024 * 1024;
/** Share of each request. A single request gets a whole page. */
const maxBytesPerRequest = (asks: number) => Math.min(maxPageBytes, Math.floor(maxStatementBytes / asks));

/** Reads for live connections. Concurrent requests, also of different workspaces, share one statement. */
export class LiveReads {
  readonly #missed: Batcher<ConversationKey & { after: number }, MissedPage | null>;
  readonly #visitors: Batcher<ConversationKey, VisitorConversation | null>;
  readonly #inbox: Batcher<ConversationKey, InboxConversation | null>;
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
    const options = { bytesOf: () => 100, maxItems: maxRequestsPerBatch, maxFlushesOfKey: 1, maxWaiting: 100_000 };
    this.#missed = new Batcher({ ...options, flush: (_key, asked) => readMissed(db, asked) });
    this.#visitors = new Batcher({ ...options, flush: (_key, asked) => readVisitorConversations(db, asked) });
    this.#inbox = new Batcher({ ...options, flush: (_key, asked) => readInbox(db, asked) });
  }

  /** Resolves to null if the conversation does not exist. */
  missed(key: ConversationKey, after: number): Promise<MissedPage | null> {
    return this.#missed.add('', { ...key, after });
  }

  visitorConversation(key: ConversationKey): Promise<VisitorConversation | null> {
    return this.#visitors.add('', key);
  }

  inboxConversation(key: ConversationKey): Promise<InboxConversation | null> {
    return this.#inbox.add('', key);
  }

  /** Reads the messages and notes of each feed, in order of position. */
  async feeds(asked: readonly FeedRead[]): Promise<FeedPage[]> {
    const rows = await this.#db.systemStatement<MessageRow & { ask: number; found: number }>(
      'read_chat_feeds',
      `SELECT f.ask::int, m.* FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::timestamptz[]) WITH ORDINALITY AS f (tenant_id, conversation_id, after, since, ask)
       CROSS JOIN LATERAL (${pageText(
         `SELECT ${messageColumns} FROM chat_messages
         WHERE chat_messages.tenant_id = f.tenant_id AND chat_messages.conversation_id = f.conversation_id AND position > f.after
           AND (f.since IS NULL OR created_at > f.since) ORDER BY position LIMIT ${feedSize}`,
         'position',
         '$5::int',
       )}) m
       ORDER BY f.ask, m.position`,
      [
        asked.map(({ tenantId }) => tenantId),
        asked.map(({ conversationId }) => conversationId),
        asked.map(({ after }) => after),
        asked.map(({ since }) => since),
        maxBytesPerRequest(asked.length),
      ],
    );
    const pages: FeedPage[] = asked.map(() => ({ entries: [], hasMore: false }));
    for (const row of rows) {
      const page = pages[row.ask - 1] as FeedPage;
      page.entries.push({
        position: row.position,
        inbox: presentInboxMessage(row),
        public: row.seq === null ? null : presentMessage(row as PublicMessageRow),
      });
      page.hasMore = row.found === feedSize || row.found > page.entries.length;
    }
    return pages;
  }

  positionsOf(
    asked: readonly ConversationKey[],
  ): Promise<{ id: string; last_seq: number; last_position: number; status: string; updated_at: Date }[]> {
    return this.#db.systemStatement(
      'read_chat_positions',
      `SELECT c.id, c.last_seq, c.last_position, c.status, c.updated_at FROM unnest($1::uuid[], $2::uuid[]) AS asked (tenant_id, id)
       JOIN chat_conversations c ON c.tenant_id = asked.tenant_id AND c.id = asked.id`,
      [asked.map(({ tenantId }) => tenantId), asked.map(({ conversationId }) => conversationId)],
    );
  }
}

async function readMissed(
  db: Database,
  given: readonly (ConversationKey & { after: number })[],
): Promise<(MissedPage | null)[]> {
  // The pages of one visitor often reconnect together and miss the same messages.
  const indexes = new Map<string, number>();
  const asked: (ConversationKey & { after: number })[] = [];
  const indexOfRequest = given.map((ask) => {
    const id = `${ask.tenantId} ${ask.conversationId} ${ask.after}`;
    const index = indexes.get(id) ?? asked.push(ask) - 1;
    indexes.set(id, index);
    return index;
  });
  const rows = await db.systemStatement<
    PublicMessageRow & { ask: number; last_seq: number; last_position: number; status: string }
  >(
    'read_missed_messages',
    `SELECT f.ask::int, c.last_seq, c.last_position, c.status, m.*
     FROM unnest($1::uuid[], $2::uuid[], $3::int[]) WITH ORDINALITY AS f (tenant_id, conversation_id, after, ask)
     JOIN chat_conversations c ON c.tenant_id = f.tenant_id AND c.id = f.conversation_id
     LEFT JOIN LATERAL (${pageText(
       `SELECT ${messageColumns} FROM chat_messages
       WHERE chat_messages.tenant_id = f.tenant_id AND chat_messages.conversation_id = f.conversation_id AND seq > f.after
       ORDER BY seq LIMIT ${pageSize}`,
       'seq',
       '$4::int',
     )}) m ON true
     ORDER BY f.ask, m.seq`,
    [
      asked.map(({ tenantId }) => tenantId),
      asked.map(({ conversationId }) => conversationId),
      asked.map(({ after }) => Math.min(after, maxSeq)),
      maxBytesPerRequest(asked.length),
    ],
  );
  const found: (MissedPage | null)[] = asked.map(() => null);
  for (const row of rows) {
    const page = (found[row.ask - 1] ??= {
      messages: [],
      bytes: 0,
      lastSeq: row.last_seq,
      lastPosition: row.last_position,
      status: row.status,
    });
    if ((row.seq as number | null) === null) continue;
    const frame = outgoing({ type: 'message', message: presentMessage(row) }, row.seq);
    page.messages.push({ seq: row.seq, frame });
    page.bytes += frame.bytes.length;
  }
  return indexOfRequest.map((index) => found[index] ?? null);
}

async function readInbox(db: Database, asked: readonly ConversationKey[]): Promise<(InboxConversation | null)[]> {
  const rows = await db.systemStatement<InboxConversationRow & { ask: number }>(
    'read_live_inbox_conversations',
    `SELECT asked.ask::int, ${inboxColumns} FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS asked (tenant_id, id, ask)
     JOIN chat_conversations c ON c.tenant_id = asked.tenant_id AND c.id = asked.id ${inboxJoins}`,
    [asked.map(({ tenantId }) => tenantId), asked.map(({ conversationId }) => conversationId)],
  );
  const found: (InboxConversation | null)[] = asked.map(() => null);
  for (const { ask, ...row } of rows) found[ask - 1] = presentInboxConversation(row);
  return found;
}
