import { createHash, randomBytes } from 'node:crypto';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { VisitorIdentity } from '../../../platform/http/auth/principal.ts';
import { newId } from '../../../platform/ids.ts';

/** Lifetime of a session. A page renews its session while it is open. */
export const sessionMinutes = 60;
/** Sessions of one visitor. Each tab has its own, and a renewal adds one. Beyond the limit, the oldest sessions end. */
const maxSessions = 30;

/** The hash under which a token is stored. */
export const hashOf = (token: string) => createHash('sha256').update(token).digest();

/** The sessions of visitors, each of which opens one conversation. */
export class VisitorSessions {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Resolves a session token to its visitor, in one round trip. @throws AppError `chat_token_invalid`, `chat_token_expired`, `visitor_blocked`, `product_not_entitled`.
   */
  async authenticate(token: string): Promise<VisitorIdentity> {
    const [row] = await this.#db.systemStatement<{
      id: string;
      tenant_id: string;
      visitor_id: string;
      conversation_id: string;
      environment: 'live' | 'test';
      expires_at: Date;
      is_expired: boolean;
      is_blocked: boolean;
      entitlements: Record<Entitlement, boolean>;
    }>(
      'find_visitor_session',
      `SELECT s.id, s.tenant_id, s.visitor_id, s.conversation_id, c.environment, s.expires_at, s.expires_at <= now() AS is_expired,
         v.blocked_at IS NOT NULL AS is_blocked, t.entitlements
       FROM chat_sessions s JOIN chat_conversations c ON c.id = s.conversation_id JOIN chat_visitors v ON v.id = s.visitor_id
         JOIN tenants t ON t.id = s.tenant_id WHERE s.token_hash = $1`,
      [hashOf(token)],
    );
    if (row === undefined) throw tokenInvalid();
    if (row.is_blocked) throw visitorBlocked();
    if (row.is_expired) throw sessionExpired();
    if (!row.entitlements.conversations_suite) throw notEntitled();
    return {
      sessionId: row.id,
      tenantId: row.tenant_id,
      visitorId: row.visitor_id,
      conversationId: row.conversation_id,
      environment: row.environment,
      expiresAt: row.expires_at,
    };
  }

  /** Returns the given sessions that are no longer valid, each with its error. One round trip for all. */
  async refused(sessionIds: readonly string[]): Promise<Map<string, AppError>> {
    const rows = await this.#db.systemStatement<{
      id: string;
      is_missing: boolean;
      is_expired: boolean;
      is_blocked: boolean;
    }>(
      'find_refused_visitor_sessions',
      `SELECT asked.id, s.id IS NULL AS is_missing, s.expires_at <= now() AS is_expired, v.blocked_at IS NOT NULL AS is_blocked
       FROM unnest($1::uuid[]) AS asked (id) LEFT JOIN chat_sessions s ON s.id = asked.id LEFT JOIN chat_visitors v ON v.id = s.visitor_id
         LEFT JOIN tenants t ON t.id = s.tenant_id
       WHERE s.id IS NULL OR s.expires_at <= now() OR v.blocked_at IS NOT NULL OR NOT (t.entitlements->>'conversations_suite')::boolean`,
      [sessionIds],
    );
    return new Map(
      rows.map((row) => [
        row.id,
        row.is_missing
          ? tokenInvalid()
          : row.is_blocked
            ? visitorBlocked()
            : row.is_expired
              ? sessionExpired()
              : notEntitled(),
      ]),
    );
  }

  /** Starts a session of a visitor in a conversation. The token is returned only here. */
  async begin(
    tx: Transaction,
    tenantId: string,
    { visitorId, conversationId }: { visitorId: string; conversationId: string },
  ): Promise<{ token: string; expiresAt: Date }> {
    const token = `cvs_${randomBytes(32).toString('base64url')}`;
    const [{ rows }] = await Promise.all([
      tx.query<{ expires_at: Date }>(
        'begin_visitor_session',
        `INSERT INTO chat_sessions (id, tenant_id, conversation_id, visitor_id, token_hash, expires_at)
         VALUES ($1, $2, $3, $4, $5, now() + make_interval(mins => $6)) RETURNING expires_at`,
        [newId(), tenantId, conversationId, visitorId, hashOf(token), sessionMinutes],
      ),
      tx.query(
        'end_oldest_visitor_sessions',
        `DELETE FROM chat_sessions WHERE id IN (
           SELECT id FROM chat_sessions WHERE visitor_id = $1 ORDER BY created_at DESC, id DESC OFFSET $2 FOR UPDATE SKIP LOCKED)`,
        [visitorId, maxSessions],
      ),
    ]);
    const [row] = rows;
    if (row === undefined) throw new Error('a session was not written');
    return { token, expiresAt: row.expires_at };
  }
}

export const tokenInvalid = () =>
  new AppError('chat_token_invalid', 'This chat link or session counts no more; ask for a new link.');
export const visitorBlocked = () => new AppError('visitor_blocked', 'This chat is closed to you.');
const sessionExpired = () => new AppError('chat_token_expired', 'This visitor session is over; open the chat again.');
const notEntitled = () =>
  new AppError('product_not_entitled', 'This workspace is not entitled to conversations_suite.');
