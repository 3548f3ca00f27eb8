import type { z } from 'zod';
import { maxSessionMessages, sessions as resource } from '../../../../shared/contract/automations/sessions.ts';
import type { SessionScope } from '../../../../shared/contract/automations/sessions.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { ConversationMessage, ConversationPort } from '../../../engine/index.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, asc, desc, eq, getTableColumns, gt, lt, sql } from '../../../platform/db/orm.ts';
import { newId } from '../../../platform/ids.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import { testKeyNotAllowed } from '../test-keys/index.ts';
import { automationSessions, sessionMessages } from './schema.ts';

type ListQuery = z.output<typeof resource.listAutomationSessions.query>;
type CreateBody = z.output<typeof resource.createAutomationSession.body>;
type AppendBody = z.output<typeof resource.appendAutomationSessionMessage.body>;
type GetQuery = z.output<typeof resource.getAutomationSession.query>;
type SessionRow = typeof automationSessions.$inferSelect;
type SessionMessageRow = typeof sessionMessages.$inferSelect;

/** Finds or creates the session of a scope, key and environment. @throws AppError `workspace_limit_reached`. */
export async function ensureSession(
  tx: Transaction,
  limits: WorkspaceLimits,
  tenantId: string,
  wanted: { scope: SessionScope; key: string; environment: 'live' | 'test'; title?: string | undefined },
): Promise<SessionRow> {
  const [row] = await tx
    .insert(automationSessions)
    .values({
      id: newId(),
      tenantId,
      scope: wanted.scope,
      key: wanted.key,
      environment: wanted.environment,
      title: wanted.title ?? wanted.key,
      memorySummary: '',
    })
    .onConflictDoUpdate({
      target: [
        automationSessions.tenantId,
        automationSessions.scope,
        automationSessions.key,
        automationSessions.environment,
      ],
      set: { updatedAt: sql`now()` },
    })
    .returning({ ...getTableColumns(automationSessions), isNew: sql<boolean>`xmax = 0` });
  const { isNew, ...session } = row as SessionRow & { isNew: boolean };
  if (isNew) await limits.assertWithin(tx, tenantId, 'session');
  return session;
}

export async function findSession(tx: Transaction, tenantId: string, id: string): Promise<SessionRow | null> {
  const [row] = await tx
    .select()
    .from(automationSessions)
    .where(and(eq(automationSessions.tenantId, tenantId), eq(automationSessions.id, id)));
  return row ?? null;
}

/**
 * Maximum excess messages that one append deletes. A session that is older than the limit shrinks by this number per
 * append.
 */
const maxPruned = 100;

/** Appends a message to a transcript, and deletes the oldest messages beyond `maxMessages`. */
export async function appendMessage(
  tx: Transaction,
  tenantId: string,
  sessionId: string,
  message: { role: 'user' | 'assistant' | 'system'; content: string; runId: string | null },
  maxMessages = maxSessionMessages,
): Promise<SessionMessageRow> {
  const [row] = await tx
    .insert(sessionMessages)
    .values({ id: newId(), tenantId, sessionId, ...message })
    .returning();
  await tx.query(
    'prune_session',
    `DELETE FROM session_messages WHERE id IN (
       SELECT id FROM session_messages WHERE session_id = $1
         AND id <= (SELECT id FROM session_messages WHERE session_id = $1 ORDER BY id DESC OFFSET $2 LIMIT 1)
       ORDER BY id LIMIT $3)`,
    [sessionId, maxMessages, maxPruned],
  );
  await tx
    .update(automationSessions)
    .set({ updatedAt: sql`now()` })
    .where(eq(automationSessions.id, sessionId));
  return row as SessionMessageRow;
}

/** Maximum messages of a session that one statement reads for an agent. */
const maxMessagesOfAgent = 500;

interface AgentMessageRow extends ConversationMessage {
  [column: string]: unknown;
}

/** The statement limits the content in the database, because a message has up to 50,000 characters. */
const readNewest: ConversationPort['readNewest'] = async (tx, session, { exceptRunId, maxCharacters }) => {
  const { rows } = await tx.query<AgentMessageRow>(
    'read_newest_session_messages',
    `SELECT id, role, content, run_id AS "runId" FROM (
       SELECT id, role, content, run_id, sum(length(content)) OVER (ORDER BY id DESC) AS characters FROM (
         SELECT id, role, content, run_id FROM session_messages
         WHERE session_id = $1 AND ($2::uuid IS NULL OR id > $2) AND role <> 'system' AND run_id IS DISTINCT FROM $3
         ORDER BY id DESC LIMIT $4
       ) newest
     ) counted WHERE characters <= $5 ORDER BY id`,
    [session.id, session.summarisedThrough, exceptRunId, maxMessagesOfAgent, maxCharacters],
  );
  return rows;
};

const readOldest: ConversationPort['readOldest'] = async (tx, session, { maxCharacters }) => {
  const { rows } = await tx.query<AgentMessageRow>(
    'read_oldest_session_messages',
    `SELECT id, role, left(content, $3) AS content, run_id AS "runId" FROM session_messages
     WHERE session_id = $1 AND ($2::uuid IS NULL OR id > $2) ORDER BY id LIMIT $4`,
    [session.id, session.summarisedThrough, maxCharacters, maxMessagesOfAgent],
  );
  return rows;
};

/**
 * Replaces the summary by one that covers the messages up to `throughId`; does nothing when another run already stored
 * one.
 */
async function writeSummary(
  tx: Transaction,
  session: Pick<SessionRow, 'id' | 'summarisedThrough'>,
  summary: string,
  throughId: string,
): Promise<void> {
  await tx
    .update(automationSessions)
    .set({ memorySummary: summary, summarisedThrough: throughId })
    .where(
      and(
        eq(automationSessions.id, session.id),
        sql`${automationSessions.summarisedThrough} is not distinct from ${session.summarisedThrough}`,
      ),
    );
}

/** Sessions of automations and their transcripts. */
export class Sessions {
  readonly #deps: { db: Database; cursors: Cursors; limits: WorkspaceLimits };

  constructor(dependencies: { db: Database; cursors: Cursors; limits: WorkspaceLimits }) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) =>
        tx
          .select()
          .from(automationSessions)
          .where(
            and(
              eq(automationSessions.tenantId, tenantId),
              query.scope === undefined ? undefined : eq(automationSessions.scope, query.scope),
              query.key === undefined ? undefined : eq(automationSessions.key, query.key),
              before === undefined ? undefined : lt(automationSessions.id, before),
            ),
          )
          .orderBy(desc(automationSessions.id))
          .limit(limit),
      );
    return readPage(this.#deps.cursors, `sessions:${tenantId}`, query, read, present);
  }

  /** @throws AppError `workspace_limit_reached`. */
  async create(tenantId: string, body: CreateBody, environment: 'live' | 'test') {
    return present(
      await this.#deps.db.workspace(tenantId, (tx) =>
        ensureSession(tx, this.#deps.limits, tenantId, { ...body, environment }),
      ),
    );
  }

  /** @throws AppError `not_found`, `invalid_cursor`. */
  async get(tenantId: string, id: string, query: GetQuery) {
    return this.#deps.db.read(tenantId, async (tx) => {
      const session = await findSession(tx, tenantId, id);
      if (session === null) throw notFound('session', id);
      const read = (limit: number, after: string | undefined) =>
        tx
          .select()
          .from(sessionMessages)
          .where(
            and(eq(sessionMessages.sessionId, id), after === undefined ? undefined : gt(sessionMessages.id, after)),
          )
          .orderBy(asc(sessionMessages.id))
          .limit(limit);
      const page = { limit: query.limit, ...(query.after === undefined ? {} : { cursor: query.after }) };
      const transcript = await readPage(this.#deps.cursors, `session:${id}`, page, read, presentMessage);
      return { ...present(session), transcript };
    });
  }

  /** @throws AppError `not_found`, `conflict` for a full session, `test_key_not_allowed`. */
  append(tenantId: string, id: string, message: AppendBody, environment: 'live' | 'test') {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const session = await findSession(tx, tenantId, id);
      if (session === null) throw notFound('session', id);
      if (environment === 'test' && session.environment === 'live') throw testKeyNotAllowed('live sessions');
      const [last] = await tx
        .select({ id: sessionMessages.id })
        .from(sessionMessages)
        .where(eq(sessionMessages.sessionId, id))
        .orderBy(asc(sessionMessages.id))
        .offset(maxSessionMessages - 1)
        .limit(1);
      if (last !== undefined)
        throw new AppError(
          'conflict',
          `The session ${id} holds ${maxSessionMessages} messages, which is the limit. Create a session with another key.`,
        );
      return presentMessage(await appendMessage(tx, tenantId, id, { ...message, runId: null }));
    });
  }

  /** @throws AppError `not_found`. */
  rename(tenantId: string, id: string, title: string, actor: string) {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const [row] = await tx
        .update(automationSessions)
        .set({ title, updatedAt: sql`now()` })
        .where(and(eq(automationSessions.tenantId, tenantId), eq(automationSessions.id, id)))
        .returning();
      if (row === undefined) throw notFound('session', id);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'session.updated',
        targetType: 'session',
        targetId: id,
        details: { title },
      });
      return present(row);
    });
  }

  /** Deletes a session with its transcript. @throws AppError `not_found`. */
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const rows = await tx
        .delete(automationSessions)
        .where(and(eq(automationSessions.tenantId, tenantId), eq(automationSessions.id, id)))
        .returning({ id: automationSessions.id });
      if (rows.length === 0) throw notFound('session', id);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'session.deleted',
        targetType: 'session',
        targetId: id,
        details: {},
      });
    });
    return { id, deleted: true };
  }
}

const presentMessage = ({ id, role, content, runId, createdAt }: SessionMessageRow) => ({
  id,
  role,
  content,
  runId,
  createdAt: createdAt.toISOString(),
});

function present(row: SessionRow) {
  return {
    id: row.id,
    scope: row.scope,
    key: row.key,
    environment: row.environment,
    title: row.title,
    memorySummary: row.memorySummary,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** The conversation port of the agents. */
export const conversationPort: ConversationPort = {
  find: findSession,
  readNewest,
  readOldest,
  async append(tx, tenantId, sessionId, message) {
    await appendMessage(tx, tenantId, sessionId, message);
  },
  writeSummary,
};
