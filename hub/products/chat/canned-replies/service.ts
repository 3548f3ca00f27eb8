import type { z } from 'zod';
import type { CannedReply } from '../../../../shared/contract/chat/agent-shapes.ts';
import type { cannedReplies as resource } from '../../../../shared/contract/chat/canned-replies.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import { violatedConstraint } from '../../../platform/db/database.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import { assertVariables, fillIn } from './variables.ts';
import type { Variables } from './variables.ts';

interface ReplyRow {
  id: string;
  shortcut: string;
  content: string;
  created_at: Date;
  updated_at: Date;
}

const columns = 'id, shortcut, content, created_at, updated_at';

export interface CannedRepliesDependencies {
  db: Database;
  cursors: Cursors;
  limits: WorkspaceLimits;
}

/** Prepared replies of agents. */
export class CannedReplies {
  readonly #deps: CannedRepliesDependencies;

  constructor(dependencies: CannedRepliesDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Lists replies, newest first. With a conversation, the variables are filled in from it.
   * @throws AppError `invalid_cursor`, `not_found` if the conversation does not exist.
   */
  async list(
    tenantId: string,
    { q, conversationId, ...query }: z.output<typeof resource.listCannedReplies.query>,
    agent: Variables['agent'],
  ) {
    const { db, cursors } = this.#deps;
    let variables: Variables | null = null;
    const read = (limit: number, before: string | undefined) =>
      db.read(tenantId, async (tx) => {
        const [{ rows }, known] = await Promise.all([
          tx.query<ReplyRow>(
            'list_canned_replies',
            `SELECT ${columns} FROM chat_canned_replies WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id < $2)
               AND ($3::text IS NULL OR strpos(shortcut, lower($3)) > 0 OR strpos(lower(content), lower($3)) > 0) ORDER BY id DESC LIMIT $4`,
            [tenantId, before ?? null, q ?? null, limit],
          ),
          conversationId === undefined ? null : readVariables(tx, tenantId, conversationId, agent),
        ]);
        variables = known;
        return rows;
      });
    return readPage(cursors, `canned-replies:${tenantId}:${q ?? ''}`, query, read, (row) => {
      const reply = present(row);
      return variables === null ? reply : { ...reply, content: fillIn(reply.content, variables) };
    });
  }

  /** @throws AppError `conflict` if the shortcut exists, `workspace_limit_reached`. */
  async create(tenantId: string, body: z.output<typeof resource.createCannedReply.body>): Promise<CannedReply> {
    const { db, limits } = this.#deps;
    assertVariables(body.content);
    const row = await uniquely(body.shortcut, () =>
      db.workspace(tenantId, async (tx) => {
        const { rows } = await tx.query<ReplyRow>(
          'create_canned_reply',
          `INSERT INTO chat_canned_replies (id, tenant_id, shortcut, content) VALUES ($1, $2, $3, $4) RETURNING ${columns}`,
          [newId(), tenantId, body.shortcut, body.content],
        );
        await limits.assertWithin(tx, tenantId, 'cannedReply');
        return rows[0] as ReplyRow;
      }),
    );
    return present(row);
  }

  /** @throws AppError `conflict` if the shortcut exists, `not_found`. */
  async update(
    tenantId: string,
    id: string,
    body: z.output<typeof resource.updateCannedReply.body>,
  ): Promise<CannedReply> {
    if (body.content !== undefined) assertVariables(body.content);
    const row = await uniquely(body.shortcut, () =>
      this.#deps.db.workspace(tenantId, async (tx) => {
        const { rows } = await tx.query<ReplyRow>(
          'update_canned_reply',
          `UPDATE chat_canned_replies SET shortcut = coalesce($3, shortcut), content = coalesce($4, content), updated_at = now()
           WHERE tenant_id = $1 AND id = $2 RETURNING ${columns}`,
          [tenantId, id, body.shortcut ?? null, body.content ?? null],
        );
        return rows[0];
      }),
    );
    if (row === undefined) throw notFound('canned reply', id);
    return present(row);
  }

  /** @throws AppError `not_found`. */
  async delete(tenantId: string, id: string): Promise<{ id: string; deleted: true }> {
    const { rowCount } = await this.#deps.db.workspace(tenantId, (tx) =>
      tx.query('delete_canned_reply', 'DELETE FROM chat_canned_replies WHERE tenant_id = $1 AND id = $2', [
        tenantId,
        id,
      ]),
    );
    if (rowCount === 0) throw notFound('canned reply', id);
    return { id, deleted: true };
  }
}

/** @throws AppError `conflict` if another reply has the shortcut. */
async function uniquely<Result>(shortcut: string | undefined, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (violatedConstraint(error) !== 'chat_canned_replies_shortcut') throw error;
    const message = `is the shortcut of another canned reply; choose another, or change that one`;
    throw new AppError('conflict', `body.shortcut "${shortcut ?? ''}" ${message}.`, {
      cause: error,
      details: [{ path: 'body.shortcut', message }],
    });
  }
}

async function readVariables(
  tx: Transaction,
  tenantId: string,
  conversationId: string,
  agent: Variables['agent'],
): Promise<Variables> {
  const { rows } = await tx.query<{
    name: string;
    display_name: string | null;
    email: string | null;
    attributes: JsonObject | null;
  }>(
    'read_reply_variables',
    `SELECT c.name, v.display_name, v.email, v.attributes FROM chat_conversations c LEFT JOIN chat_visitors v ON v.id = c.visitor_id
     WHERE c.tenant_id = $1 AND c.id = $2`,
    [tenantId, conversationId],
  );
  const [row] = rows;
  if (row === undefined) throw notFound('conversation', conversationId);
  return {
    visitor: { name: row.display_name, email: row.email, attributes: row.attributes ?? {} },
    agent,
    conversation: { name: row.name },
  };
}

const present = (row: ReplyRow): CannedReply => ({
  id: row.id,
  shortcut: row.shortcut,
  content: row.content,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
});
