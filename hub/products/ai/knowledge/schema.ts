import { foreignKey, index, integer, pgTable, primaryKey, text, unique, uuid } from '../../../platform/db/orm.ts';
import { bytea, createdAt, instant, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';
import { chatConversations } from '../../chat/schema.ts';

/** The knowledge of a workspace as a whole. Its row is locked by whoever changes the entries. */
export const knowledgeBases = pgTable(
  'knowledge_bases',
  {
    tenantId: tenantId().primaryKey(),
    version: integer('version').notNull().default(0),
    terms: text('terms').notNull().default(''),
    /** How many entries there are. */
    entries: integer('entries').notNull().default(0),
    /** The number that an entry got last. */
    lastNumber: integer('last_number').notNull().default(0),
    /** The model by which every entry has a vector or was refused one; null where some still wait. */
    vectorsModel: text('vectors_model'),
    /** Changes whenever vectors come or go. */
    vectorsVersion: integer('vectors_version').notNull().default(0),
    updatedAt: updatedAt(),
  },
  () => policies(),
);

export const knowledgeEntries = pgTable(
  'knowledge_entries',
  {
    tenantId: tenantId(),
    id: text('id').notNull(),
    /** Names the entry within its workspace in few bytes; one that was changed gets another. */
    number: integer('number').notNull(),
    question: text('question').notNull(),
    answer: text('answer').notNull(),
    url: text('url'),
    locale: text('locale'),
    /** Of all the above but the number: what is the same is not written again. */
    hash: text('hash').notNull(),
    /** By what it is found. */
    words: text('words').array().notNull(),
    /** How much its question asks for, in words. */
    questionLength: integer('question_length').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    unique('knowledge_entries_number').on(table.tenantId, table.number),
    ...policies(),
  ],
);

/**
 * Which entries have a word, by their numbers. A row for each word: a question looks up each of its words by the primary key, whose comparisons are leakproof, so that
 * it may be done as the workspace; an index over the words of each entry (GIN) has to visit as many entries as there are hits, and took ten times as long.
 */
export const knowledgeWords = pgTable(
  'knowledge_words',
  {
    tenantId: tenantId(),
    word: text('word').notNull(),
    numbers: integer('numbers').array().notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.word] }), ...policies()],
);

/** Vectors of entries: gone with their entry, and one that was changed has none. */
export const knowledgeVectors = pgTable(
  'knowledge_vectors',
  {
    tenantId: tenantId(),
    number: integer('number').notNull(),
    model: text('model').notNull(),
    /** Numbers of four bytes, little end first, of length 1 together; null where the model refused the entry. */
    vector: bytea('vector'),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.number] }),
    foreignKey({
      columns: [table.tenantId, table.number],
      foreignColumns: [knowledgeEntries.tenantId, knowledgeEntries.number],
      name: 'knowledge_vectors_entry',
    }).onDelete('cascade'),
    ...policies(),
  ],
);

/** Questions that were not answered, each once however it was written. */
export const knowledgeUnanswered = pgTable(
  'knowledge_unanswered',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    /** A hash of its words. */
    key: text('key').notNull(),
    /** As it was asked last. */
    question: text('question').notNull(),
    /** Where it was asked so: the words of a visitor go with their conversation. */
    conversationId: uuid('conversation_id').references(() => chatConversations.id, { onDelete: 'cascade' }),
    count: integer('count').notNull().default(1),
    createdAt: createdAt(),
    lastAskedAt: instant('last_asked_at').notNull().defaultNow(),
  },
  (table) => [
    unique('knowledge_unanswered_key').on(table.tenantId, table.key),
    index('knowledge_unanswered_tenant').on(table.tenantId, table.id),
    index('knowledge_unanswered_age').on(table.tenantId, table.lastAskedAt),
    index('knowledge_unanswered_conversation').on(table.conversationId),
    index('knowledge_unanswered_expiry').on(table.lastAskedAt),
    ...policies(),
  ],
);
