import { foreignKey, index, integer, pgTable, primaryKey, text, unique, uuid } from '../../../platform/db/orm.ts';
import { bytea, createdAt, instant, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';
import { chatConversations } from '../../chat/schema.ts';

/** The knowledge of a workspace. Transactions that change its entries lock this row. */
export const knowledgeBases = pgTable(
  'knowledge_bases',
  {
    tenantId: tenantId().primaryKey(),
    version: integer('version').notNull().default(0),
    terms: text('terms').notNull().default(''),
    /** Number of entries. */
    entries: integer('entries').notNull().default(0),
    /** The last assigned entry number. */
    lastNumber: integer('last_number').notNull().default(0),
    /** The model that has processed every entry (with a vector or a refusal); null while entries are pending. */
    vectorsModel: text('vectors_model'),
    /** Increases when vectors are written or deleted. */
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
    /** A short id within the workspace. A changed entry gets a new number. */
    number: integer('number').notNull(),
    question: text('question').notNull(),
    answer: text('answer').notNull(),
    url: text('url'),
    locale: text('locale'),
    /** Hash of the columns above except the number. An entry with an unchanged hash is not written again. */
    hash: text('hash').notNull(),
    /** The words in the index. */
    words: text('words').array().notNull(),
    /** Number of words of the question that are searched for. */
    questionLength: integer('question_length').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    unique('knowledge_entries_number').on(table.tenantId, table.number),
    ...policies(),
  ],
);

/**
 * The word index: the numbers of the entries that contain each word.
 * A search reads one row per word by primary key. These comparisons are leakproof, so row-level security can use the
 * index. A GIN index over the words of each entry visits every hit and took ten times as long.
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

/** The vectors of entries. A vector is deleted with its entry, and a changed entry has no vector. */
export const knowledgeVectors = pgTable(
  'knowledge_vectors',
  {
    tenantId: tenantId(),
    number: integer('number').notNull(),
    model: text('model').notNull(),
    /** A unit vector of little-endian 32-bit floats; null when the model refused the entry. */
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

/** Unanswered questions. Questions with the same words share one row. */
export const knowledgeUnanswered = pgTable(
  'knowledge_unanswered',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    /** Hash of the normalized words. */
    key: text('key').notNull(),
    /** The text of the last occurrence. */
    question: text('question').notNull(),
    /** The conversation of the last occurrence. The text of a visitor is deleted with the conversation. */
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
