import { eventEntitlements } from '../../../../shared/contract/core/events.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Snapshot } from '../../../platform/db/snapshot.ts';
import { encodePosition } from './position.ts';
import type { Position } from './position.ts';

/** An event as it is sent; its id is where a reader stands once it was. */
export interface SentEvent {
  id: string;
  type: string;
  data: JsonObject;
}

/** What comes after a position: a part of it, and where that leads. */
export interface Stretch {
  events: SentEvent[];
  to: Position;
  /** How many it had, those that were left out included. */
  count: number;
}

interface ReadRow {
  up_to: Snapshot;
  entitlements: Record<string, boolean>;
  is_lost: boolean;
  events: { seq: number; at: string; type: string; data: JsonObject }[];
}

const eventsAtOnce = 500;

/**
 * In one snapshot: which transactions there are, and the events of those that are new since. An id whose transactions are yet to come is of
 * another database; of one whose snapshot is older than what was removed, a transaction that it did not see may have been among that.
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
      ORDER BY seq LIMIT ${eventsAtOnce}) e), '[]') AS events
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

/** The position of who has seen all that there is now. */
export async function readNewest(db: Database, tenantId: string): Promise<Position> {
  return { seen: (await read(db, tenantId, null, null)).up_to, partial: null };
}

/**
 * Reads on from a position, to the newest or as far as `target` sees, in portions; null when events after it were removed already. What
 * the workspace is not entitled to hear of is left out.
 */
export async function readAfter(
  db: Database,
  tenantId: string,
  position: Position,
  target: Snapshot | null,
): Promise<Stretch | null> {
  const { up_to: upTo, entitlements, is_lost: isLost, events } = await read(db, tenantId, position, target);
  if (isLost) return null;
  const { seen } = position;
  const isComplete = events.length < eventsAtOnce;
  const afterEvent = (index: number): Position =>
    isComplete && index === events.length - 1
      ? { seen: upTo, partial: null }
      : { seen, partial: { upTo, seq: events[index]?.seq as number } };
  return {
    events: events.flatMap(({ at, type, data }, index) => {
      // One that a newer version of the hub wrote, which this one does not know.
      const entitlement = eventEntitlements[type];
      if (entitlement === undefined || entitlements[entitlement] !== true) return [];
      return [
        {
          id: encodePosition(afterEvent(index)),
          type,
          data: { type, at: new Date(at).toISOString(), ...data },
        },
      ];
    }),
    to: isComplete ? { seen: upTo, partial: null } : afterEvent(events.length - 1),
    count: events.length,
  };
}
