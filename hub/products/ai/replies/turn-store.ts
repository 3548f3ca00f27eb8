import type { Database, Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { ChatEvent } from '../../chat/events/index.ts';

/** A leased conversation whose visitor waits for a reply. */
export interface Turn {
  conversationId: string;
  tenantId: string;
  /** Sequence number of the visitor's newest message. */
  seq: number;
  lease: number;
  /** 1 for the first attempt. */
  attempts: number;
}

/** A lease that is not renewed for this time expires. */
export const leaseSeconds = 20;
/** Concurrent turns per workspace, over all processes. */
const maxTurnsPerWorkspace = 8;

/**
 * SQL of the next lease of a turn `t`: a random other value below 2^30. Claims commit asynchronously, so after a crash
 * of PostgreSQL that loses a claim, a counter could give two processes the same lease. The `integer` column is too
 * small for a timestamp.
 */
const nextLease = '((t.lease::bigint + 1 + floor(random() * 1000000000)::bigint) % 1073741824)::int';

interface MessageEvent {
  conversation: { id: string };
  message: { senderType: string; seq: number };
}

/**
 * Schedules a turn in the transaction of the visitor's message, if the AI agent owns the conversation or suggests
 * replies. The turn is due when no further message arrives within the `debounceMs` of the workspace. A turn already in
 * progress loses its lease, because its answer would ignore this message.
 * @returns the milliseconds until the turn is due, or null if no turn is needed.
 */
export async function scheduleTurn(tx: Transaction, { tenantId, type, payload }: ChatEvent): Promise<number | null> {
  if (type !== 'message.created') return null;
  const { conversation, message } = payload as unknown as MessageEvent;
  if (message.senderType !== 'visitor') return null;
  const { rows } = await tx.query<{ wait_ms: number }>('schedule_ai_turn', scheduleSql('$3', ''), [
    tenantId,
    conversation.id,
    message.seq,
  ]);
  return rows[0]?.wait_ms ?? null;
}

/**
 * Schedules a turn like `scheduleTurn`, for messages that moved into a conversation. No turn is needed if a reply
 * followed them.
 */
export async function scheduleTurnOfMoved(
  tx: Transaction,
  tenantId: string,
  conversationId: string,
): Promise<number | null> {
  const { rows } = await tx.query<{ wait_ms: number }>(
    'schedule_ai_turn_of_moved',
    scheduleSql('c.last_seq', 'AND c.last_seq > c.last_reply_seq'),
    [tenantId, conversationId],
  );
  return rows[0]?.wait_ms ?? null;
}

const scheduleSql = (seq: string, condition: string) =>
  `INSERT INTO chat_ai_turns AS t (conversation_id, tenant_id, seq, due_at)
     SELECT c.id, c.tenant_id, ${seq}, clock_timestamp() + make_interval(secs => coalesce((w.ai_settings->>'debounceMs')::float8, 1500) / 1000)
     FROM chat_conversations c JOIN chat_widgets w ON w.tenant_id = c.tenant_id
     WHERE c.tenant_id = $1 AND c.id = $2 AND (c.owner = 'ai' OR w.ai_settings->>'mode' = 'shadow' AND (w.ai_settings->>'enabled')::boolean) ${condition}
     ON CONFLICT (conversation_id) DO UPDATE SET seq = excluded.seq, due_at = excluded.due_at, lease = ${nextLease}, leased_until = NULL, attempts = 0
     RETURNING greatest(0, extract(epoch FROM due_at - clock_timestamp()) * 1000)::float8 AS wait_ms`;

/** Minimum and maximum age of an unanswered message without a turn. */
const missedAfterSeconds = 30;
const missedMaxAgeSeconds = 86_400;
const maxMissedPerBatch = 500;

/** Schedules turns for waiting visitors who have none, for example because an older version stored the message. */
export async function scheduleMissedTurns(db: Database): Promise<void> {
  await db.systemStatement(
    'schedule_missed_ai_turns',
    `INSERT INTO chat_ai_turns (conversation_id, tenant_id, seq, due_at)
     SELECT c.id, c.tenant_id, c.last_seq, now() FROM chat_widgets w CROSS JOIN LATERAL (
       SELECT f.id, f.tenant_id, f.last_seq FROM chat_conversations f
       WHERE f.tenant_id = w.tenant_id AND f.status = 'open' AND f.assigned_user_id IS NULL AND f.owner = 'ai' AND f.last_seq > f.last_reply_seq
         AND f.moved_at BETWEEN now() - make_interval(secs => $2) AND now() - make_interval(secs => $1)
         AND EXISTS (SELECT FROM chat_messages m WHERE m.conversation_id = f.id AND m.seq = f.last_seq AND m.sender_type = 'visitor')
         AND NOT EXISTS (SELECT FROM chat_ai_turns t WHERE t.conversation_id = f.id)) c
     WHERE w.ai_settings->>'enabled' IS NOT NULL LIMIT $3 ON CONFLICT DO NOTHING`,
    [missedAfterSeconds, missedMaxAgeSeconds, maxMissedPerBatch],
  );
}

/**
 * Leases due turns, up to `maxTurnsPerWorkspace` per workspace. If more turns are due than `limit`, workspaces with the
 * fewest turns in progress come first.
 */
export async function claimTurns(db: Database, limit: number): Promise<Turn[]> {
  const rows = await db.systemStatement<{
    conversation_id: string;
    tenant_id: string;
    seq: number;
    lease: number;
    attempts: number;
  }>(
    'claim_ai_turns',
    `WITH waiting AS (SELECT DISTINCT tenant_id FROM chat_ai_turns WHERE due_at <= now()
     ), ranked AS (
       SELECT d.conversation_id, d.due_at, u.under_way + row_number() OVER (PARTITION BY w.tenant_id ORDER BY d.due_at) AS place FROM waiting w
       CROSS JOIN LATERAL (SELECT count(*) AS under_way FROM chat_ai_turns b WHERE b.tenant_id = w.tenant_id AND b.leased_until > now()) u
       CROSS JOIN LATERAL (
         SELECT t.conversation_id, t.due_at FROM chat_ai_turns t
         WHERE t.tenant_id = w.tenant_id AND t.due_at <= now() AND (t.leased_until IS NULL OR t.leased_until <= now()) ORDER BY t.due_at
         LIMIT greatest(0, $1 - u.under_way)) d
     ), due AS (
       SELECT t.conversation_id FROM ranked r JOIN chat_ai_turns t ON t.conversation_id = r.conversation_id
       WHERE t.due_at <= now() AND (t.leased_until IS NULL OR t.leased_until <= now())
       ORDER BY r.place, r.due_at LIMIT $2 FOR UPDATE OF t SKIP LOCKED)
     UPDATE chat_ai_turns t SET lease = ${nextLease}, attempts = t.attempts + 1, leased_until = now() + make_interval(secs => $3)
     FROM due WHERE t.conversation_id = due.conversation_id RETURNING t.conversation_id, t.tenant_id, t.seq, t.lease, t.attempts`,
    [maxTurnsPerWorkspace, limit, leaseSeconds],
  );
  return rows.map((row) => ({
    conversationId: row.conversation_id,
    tenantId: row.tenant_id,
    seq: row.seq,
    lease: row.lease,
    attempts: row.attempts,
  }));
}

/** Renews leases. Returns the conversation ids of the turns whose lease is still valid. */
export async function renewTurns(db: Database, turns: readonly Turn[]): Promise<Set<string>> {
  const rows = await db.systemStatement<{ conversation_id: string }>(
    'renew_ai_turns',
    `UPDATE chat_ai_turns t SET leased_until = now() + make_interval(secs => $3)
     FROM unnest($1::uuid[], $2::int[]) AS held (conversation_id, lease)
     WHERE t.conversation_id = held.conversation_id AND t.lease = held.lease RETURNING t.conversation_id`,
    [turns.map(({ conversationId }) => conversationId), turns.map(({ lease }) => lease), leaseSeconds],
  );
  return new Set(rows.map(({ conversation_id: id }) => id));
}

/** Whether the AI agent still owns an unfinished conversation. */
export async function isOwnedByAi(db: Database, { tenantId, conversationId }: Turn): Promise<boolean> {
  const rows = await db.systemStatement(
    'is_conversation_of_ai',
    `SELECT id FROM chat_conversations WHERE tenant_id = $1 AND id = $2 AND owner = 'ai' AND status IN ('open', 'pending')`,
    [tenantId, conversationId],
  );
  return rows.length > 0;
}

/** Locks a turn for the rest of the transaction. Returns false if its lease is no longer valid. */
export async function lockTurn(tx: Transaction, { conversationId, lease }: Turn): Promise<boolean> {
  const { rowCount } = await tx.query(
    'lock_ai_turn',
    'SELECT FROM chat_ai_turns WHERE conversation_id = $1 AND lease = $2 FOR UPDATE',
    [conversationId, lease],
  );
  return rowCount === 1;
}

export async function deleteTurn(tx: Transaction, { conversationId }: Turn): Promise<void> {
  await tx.query('delete_ai_turn', 'DELETE FROM chat_ai_turns WHERE conversation_id = $1', [conversationId]);
}

/**
 * Ends a turn that needed no reply. The row stays and is never due, so that `scheduleMissedTurns` does not schedule the
 * message again.
 */
export async function markTurnDone(tx: Transaction, { conversationId }: Turn): Promise<void> {
  await tx.query(
    'mark_ai_turn_done',
    `UPDATE chat_ai_turns SET due_at = 'infinity', leased_until = NULL WHERE conversation_id = $1`,
    [conversationId],
  );
}

/** Releases a turn and makes it due now, for any process. */
export async function requeueTurn(tx: Transaction, { conversationId, lease }: Turn): Promise<void> {
  await tx.query(
    'requeue_ai_turn',
    `UPDATE chat_ai_turns SET leased_until = NULL, due_at = clock_timestamp(), attempts = greatest(0, attempts - 1)
     WHERE conversation_id = $1 AND lease = $2`,
    [conversationId, lease],
  );
}

export interface DayCounts {
  replies?: number;
  suggestions?: number;
  handOvers?: number;
  inputTokens?: number;
  outputTokens?: number;
}

const today = `(now() AT TIME ZONE 'UTC')::date`;

/**
 * Adds to today's counts. With a budget, nothing is added if replies plus suggestions have reached it.
 * @returns whether the counts were added.
 */
export async function countDay(
  tx: Transaction,
  tenantId: string,
  { replies = 0, suggestions = 0, handOvers = 0, inputTokens = 0, outputTokens = 0 }: DayCounts,
  budget: number | null = null,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    'count_ai_day',
    `INSERT INTO chat_ai_days AS d (id, tenant_id, day, replies, suggestions, hand_overs, input_tokens, output_tokens)
     SELECT $1, $2, ${today}, $3, $4, $5, $6, $7 WHERE $8::int IS NULL OR $8 > 0
     ON CONFLICT (tenant_id, day) DO UPDATE SET replies = d.replies + excluded.replies, suggestions = d.suggestions + excluded.suggestions,
       hand_overs = d.hand_overs + excluded.hand_overs, input_tokens = d.input_tokens + excluded.input_tokens, output_tokens = d.output_tokens + excluded.output_tokens
     WHERE $8::int IS NULL OR d.replies + d.suggestions < $8`,
    [newId(), tenantId, replies, suggestions, handOvers, inputTokens, outputTokens, budget],
  );
  return rowCount === 1;
}

export interface DayRow {
  day: string;
  replies: number;
  suggestions: number;
  hand_overs: number;
  input_tokens: string;
  output_tokens: string;
}

/** Reads today's counts (UTC). */
export async function readDay(tx: Transaction, tenantId: string): Promise<DayRow> {
  const { rows } = await tx.query<DayRow>(
    'read_ai_day',
    `SELECT t.day::text, coalesce(d.replies, 0) AS replies, coalesce(d.suggestions, 0) AS suggestions, coalesce(d.hand_overs, 0) AS hand_overs,
       coalesce(d.input_tokens, 0) AS input_tokens, coalesce(d.output_tokens, 0) AS output_tokens
     FROM (SELECT ${today} AS day) t LEFT JOIN chat_ai_days d ON d.tenant_id = $1 AND d.day = t.day`,
    [tenantId],
  );
  return rows[0] as DayRow;
}
