import { audienceOf } from '../../../../shared/contract/core/events.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Snapshot } from '../../../platform/db/snapshot.ts';
import { encodePosition } from './position.ts';
import type { Position } from './position.ts';

/** An event for a subscriber. Its ID encodes the position after the event. */
export interface SentEvent {
  id: string;
  type: string;
  data: JsonObject;
  isForAdmins: boolean;
}

/** Some events after a position, and the position after them. */
export interface EventPage {
  events: SentEvent[];
  to: Position;
  /** Number of events read, including those that the workspace may not receive. */
  count: number;
}

interface ReadRow {
  up_to: Snapshot;
  entitlements: Record<string, boolean>;
  is_lost: boolean;
  events: { seq: number; at: string; type: string; data: JsonObject }[];
}

const maxEventsPerPage = 500;

/**
 * Reads, in one snapshot, the visible transactions and the events that are new since a position.
 * An ID with future transactions belongs to another database. A snapshot older than the deleted events may have missed
 * some of them. Both count as lost.
 */
const readStatement = `WITH asked AS MATERIALIZED (
    SELECT $2::pg_snapshot AS seen, coalesce($3::pg_snapshot, pg_current_snapshot()) AS up_to, pg_current_snapshot() AS now
  )
  SELECT a.up_to::text AS up_to, t.entitlements,
    coalesce(pg_snapshot_xmax(a.seen) > pg_snapshot_xmax(a.now) OR pg_snapshot_xmax(a.up_to) > pg_snapshot_xmax(a.now), false) OR coalesce((
      SELECT f.transaction >= pg_snapshot_xmax(a.seen) OR EXISTS (
        SELECT FROM pg_snapshot_xip(a.seen) AS was_open WHERE was_open <= f.transaction AND pg_visible_in_snapshot(was_open, a.now))
      FROM workspace_event_floors f WHERE f.tenant_id = $1 AND f.transaction < pg_snapshot_xmax(a.now)), false) AS is_lost,
    coalesce((SELECT json_agg(e) FROM (
      SELECT seq, at, type, data FROM workspace_events
      WHERE tenant_id = $1 AND transaction >= pg_snapshot_xmin($2::pg_snapshot) AND NOT pg_visible_in_snapshot(transaction, $2::pg_snapshot)
        AND pg_visible_in_snapshot(transaction, a.up_to) AND seq > $4
      ORDER BY seq LIMIT ${maxEventsPerPage}) e), '[]') AS events
  FROM asked a, tenants t WHERE t.id = $1`;

async function read(db: Database, tenantId: string, position: Position | null, target: Snapshot | null) {
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<ReadRow>('read_workspace_events', readStatement, [
      tenantId,
      position?.seen ?? null,
      position?.partial?.upTo ?? target,
      position?.partial?.seq ?? 0,
    ]),
  );
  const row = rows[0];
  if (row === undefined) throw new Error(`no workspace ${tenantId}`);
  return row;
}

/** The position after all events committed so far. */
export async function readNewest(db: Database, tenantId: string): Promise<Position> {
  return { seen: (await read(db, tenantId, null, null)).up_to, partial: null };
}

/** Whether a member is an admin now. The role may have changed since the stream opened. */
export async function isAdmin(db: Database, tenantId: string, userId: string): Promise<boolean> {
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query('is_admin', `SELECT FROM users WHERE tenant_id = $1 AND id = $2 AND role = 'admin'`, [tenantId, userId]),
  );
  return rows.length > 0;
}

/**
 * Reads one page after a position, up to the newest event or the snapshot `target`. Null if events after the position
 * were deleted.
 * The page excludes events of products that the workspace is not entitled to.
 */
export async function readAfter(
  db: Database,
  tenantId: string,
  position: Position,
  target: Snapshot | null,
): Promise<EventPage | null> {
  const { up_to: upTo, entitlements, is_lost: isLost, events } = await read(db, tenantId, position, target);
  if (isLost) return null;
  const { seen } = position;
  const isComplete = events.length < maxEventsPerPage;
  const afterEvent = (index: number): Position =>
    isComplete && index === events.length - 1
      ? { seen: upTo, partial: null }
      : { seen, partial: { upTo, seq: events[index]?.seq as number } };
  return {
    events: events.flatMap(({ at, type, data }, index) => {
      const audience = audienceOf(type, data);
      if (audience === null || (audience.entitlement !== null && entitlements[audience.entitlement] !== true))
        return [];
      return [
        {
          id: encodePosition(afterEvent(index)),
          type,
          data: { type, at: new Date(at).toISOString(), ...data },
          isForAdmins: audience.role === 'admin',
        },
      ];
    }),
    to: isComplete ? { seen: upTo, partial: null } : afterEvent(events.length - 1),
    count: events.length,
  };
}
