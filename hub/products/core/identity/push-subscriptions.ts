import type { z } from 'zod';
import {
  maxPushSubscriptions,
  maxRefusedDays,
  maxUnrenewedDays,
  push as resource,
} from '../../../../shared/contract/core/push.ts';
import { AppError, invalidBody } from '../../../../shared/errors.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, isNull, sql } from '../../../platform/db/orm.ts';
import { EgressRefused } from '../../../platform/egress/egress.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import type { SessionIdentity } from '../../../platform/http/auth/principal.ts';
import { newId } from '../../../platform/ids.ts';
import { isCurvePoint } from '../../../platform/push/encrypt.ts';
import type { Push } from '../../../platform/push/push.ts';
import { recordAudit } from '../audit/index.ts';
import { clientOf } from './client.ts';
import { pushSubscriptions, users } from './schema.ts';

export interface PushSubscriptionsDependencies {
  db: Database;
  egress: Egress;
  push: Push;
}

type CreateBody = z.output<typeof resource.createPushSubscription.body>;
/** The address of a browser at its push service, and the keys of its messages. */
interface BrowserAddress {
  endpoint: string;
  p256dh: Buffer;
  auth: Buffer;
}

type RenewBody = z.output<typeof resource.renewPushSubscription.body>;

interface SubscriptionRow {
  [column: string]: unknown;
  id: string;
  client: string | null;
  createdAt: Date;
  renewedAt: Date;
  refusedSince: Date | null;
  stoppedAt: Date | null;
}

const maxEndpointLength = 2_000;

const returnedColumns = `id, client, created_at AS "createdAt", renewed_at AS "renewedAt", refused_since AS "refusedSince", stopped_at AS "stoppedAt"`;

/** The browsers of a user that get notifications, as the user sees and changes them. */
export class PushSubscriptions {
  readonly #deps: PushSubscriptionsDependencies;

  constructor(dependencies: PushSubscriptionsDependencies) {
    this.#deps = dependencies;
  }

  async read({ tenantId, user }: SessionIdentity) {
    const { db, push } = this.#deps;
    const [publicKey, rows] = await Promise.all([
      push.publicKey(),
      db.read(tenantId, (tx) =>
        tx
          .select({
            id: pushSubscriptions.id,
            client: pushSubscriptions.client,
            createdAt: pushSubscriptions.createdAt,
            renewedAt: pushSubscriptions.renewedAt,
            refusedSince: pushSubscriptions.refusedSince,
            stoppedAt: pushSubscriptions.stoppedAt,
          })
          .from(pushSubscriptions)
          .where(and(eq(pushSubscriptions.userId, user.id), isRenewed))
          .orderBy(desc(pushSubscriptions.createdAt), desc(pushSubscriptions.id)),
      ),
    ]);
    return { publicKey, subscriptions: rows.map(present) };
  }

  /** @throws AppError `validation_failed`; `conflict`; `unauthenticated` when the session has just ended. */
  async create(identity: SessionIdentity, body: CreateBody, userAgent: string | undefined) {
    const { tenantId, sessionId, user } = identity;
    const subscription = this.#parse(body);
    const { endpoint, p256dh, auth } = subscription;
    // The endpoint may belong to a user of another workspace, who used the same browser before.
    const created = await this.#deps.db.system(async (tx) => {
      await lockSubscriber(tx, identity);
      await takeEndpointOver(tx, user.id, subscription);
      const { rows } = await tx.query<SubscriptionRow>(
        'insert_push_subscription',
        `INSERT INTO push_subscriptions (id, tenant_id, user_id, session_id, endpoint, p256dh, auth, client)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (endpoint) DO UPDATE SET session_id = excluded.session_id, p256dh = excluded.p256dh,
           auth = excluded.auth, client = excluded.client, created_at = excluded.created_at,
           renewed_at = excluded.renewed_at, refused_since = NULL, stopped_at = NULL
         RETURNING ${returnedColumns}`,
        [newId(), tenantId, user.id, sessionId, endpoint, p256dh, auth, clientOf(userAgent)],
      );
      const row = rows[0] as SubscriptionRow;
      await tx.query(
        'replace_unused_push_subscriptions',
        `DELETE FROM push_subscriptions WHERE id IN (SELECT id FROM push_subscriptions
           WHERE user_id = $1 AND id <> $2 ORDER BY renewed_at DESC, id DESC OFFSET $3)`,
        [user.id, row.id, maxPushSubscriptions - 1],
      );
      await recordSubscription(tx, { tenantId, userId: user.id, id: row.id, action: 'member.push_subscribed' });
      return row;
    });
    return present(created);
  }

  /**
   * Records that the browser of a subscription was used in the session, with its endpoint of now.
   * @throws AppError `validation_failed`; `not_found`; `conflict`; `unauthenticated` when the session has just ended.
   */
  async renew(identity: SessionIdentity, body: RenewBody, userAgent: string | undefined) {
    const { sessionId, user } = identity;
    const subscription = this.#parse(body);
    const { endpoint, p256dh, auth } = subscription;
    const known = [endpoint, URL.parse(body.previousEndpoint ?? '')?.href ?? endpoint];
    const renewed = await this.#deps.db.system(async (tx) => {
      await lockSubscriber(tx, identity);
      const found = await tx.query<{ id: string }>(
        'find_push_subscription',
        `SELECT id FROM push_subscriptions WHERE user_id = $1 AND endpoint = ANY($2::text[])
           AND renewed_at > now() - make_interval(days => $3) ORDER BY endpoint = $4 DESC LIMIT 1`,
        [user.id, known, maxUnrenewedDays, endpoint],
      );
      const id = found.rows[0]?.id;
      if (id === undefined)
        throw new AppError('not_found', 'The notifications of this browser have ended. Turn them on again.');
      await takeEndpointOver(tx, user.id, subscription);
      // The browser has one endpoint: an earlier one of this user ends.
      await tx.query(
        'end_earlier_push_subscriptions',
        'DELETE FROM push_subscriptions WHERE id <> $1 AND user_id = $2 AND endpoint = ANY($3::text[])',
        [id, user.id, known],
      );
      const { rows } = await tx.query<SubscriptionRow>(
        'renew_push_subscription',
        `UPDATE push_subscriptions SET session_id = $2, endpoint = $3, p256dh = $4, auth = $5, client = $6,
           renewed_at = now(), refused_since = CASE WHEN endpoint = $3 THEN refused_since END,
           stopped_at = CASE WHEN endpoint = $3 THEN stopped_at END
         WHERE id = $1 RETURNING ${returnedColumns}`,
        [id, sessionId, endpoint, p256dh, auth, clientOf(userAgent)],
      );
      return rows[0] as SubscriptionRow;
    });
    return present(renewed);
  }

  /** @throws AppError `not_found`. */
  async remove({ tenantId, user }: SessionIdentity, id: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const removed = await tx
        .delete(pushSubscriptions)
        .where(and(eq(pushSubscriptions.userId, user.id), eq(pushSubscriptions.id, id)))
        .returning({ id: pushSubscriptions.id });
      if (removed.length === 0) throw new AppError('not_found', `You have no push subscription ${id}.`);
      await recordSubscription(tx, { tenantId, userId: user.id, id, action: 'member.push_unsubscribed' });
    });
    return { id, deleted: true };
  }

  /** @throws AppError `validation_failed`. */
  #parse(body: CreateBody): BrowserAddress {
    const endpoint = this.#normalizeEndpoint(body.endpoint);
    const p256dh = Buffer.from(body.keys.p256dh, 'base64url');
    if (!isCurvePoint(p256dh)) throw invalidBody('keys.p256dh', 'must be an uncompressed point on the curve P-256');
    return { endpoint, p256dh, auth: Buffer.from(body.keys.auth, 'base64url') };
  }

  /** @throws AppError `validation_failed`. */
  #normalizeEndpoint(address: string): string {
    const url = URL.parse(address);
    if (url === null) throw invalidBody('endpoint', 'must be an https URL');
    if (url.href.length > maxEndpointLength)
      throw invalidBody('endpoint', `must have at most ${maxEndpointLength.toLocaleString('en')} characters`);
    try {
      this.#deps.egress.checkPublic(url.href);
    } catch (error) {
      if (error instanceof EgressRefused)
        throw invalidBody('endpoint', `can't be reached from here: ${error.message.replace(/\.$/, '')}`);
      throw error;
    }
    return url.href;
  }
}

/**
 * Locks the user and the session, so that a password change or a sign-out at the same time ends the subscription.
 * @throws AppError `unauthenticated` when the session has ended.
 */
async function lockSubscriber(tx: Transaction, { sessionId, user }: SessionIdentity): Promise<void> {
  await tx.query('lock_push_subscriber', 'SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [user.id]);
  const { rowCount } = await tx.query(
    'lock_push_session',
    'SELECT FROM sessions WHERE id = $1 AND revoked_at IS NULL AND expires_at > now() FOR SHARE',
    [sessionId],
  );
  if (rowCount === 0) throw new AppError('unauthenticated', 'Your session has ended; sign in again.');
}

/**
 * Ends the subscription of another user with the same endpoint. The keys prove that it is the same browser: who only
 * learned the endpoint must not end the notifications of its user.
 * @throws AppError `conflict` when the endpoint belongs to another user with other keys.
 */
async function takeEndpointOver(
  tx: Transaction,
  userId: string,
  { endpoint, p256dh, auth }: BrowserAddress,
): Promise<void> {
  // Two users who name the same endpoint at the same time wait for each other.
  await tx.query('lock_push_endpoint', 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [endpoint]);
  await tx.query(
    'end_push_subscriptions_of_others',
    'DELETE FROM push_subscriptions WHERE endpoint = $1 AND user_id <> $2 AND p256dh = $3 AND auth = $4',
    [endpoint, userId, p256dh, auth],
  );
  const { rowCount } = await tx.query(
    'find_push_subscription_of_others',
    'SELECT FROM push_subscriptions WHERE endpoint = $1 AND user_id <> $2',
    [endpoint, userId],
  );
  if (rowCount !== 0)
    throw new AppError(
      'conflict',
      'The endpoint belongs to another user. Unsubscribe the browser at its push service, then subscribe it again.',
    );
}

const isRenewed = sql`${pushSubscriptions.renewedAt} > now() - make_interval(days => ${maxUnrenewedDays})`;

const present = ({ id, client, createdAt, renewedAt, refusedSince, stoppedAt }: SubscriptionRow) => ({
  id,
  client,
  createdAt: createdAt.toISOString(),
  renewedAt: renewedAt.toISOString(),
  refusedSince: refusedSince?.toISOString() ?? null,
  isStopped: stoppedAt !== null,
});

const recordSubscription = (
  tx: Transaction,
  { tenantId, userId, id, action }: { tenantId: string; userId: string; id: string; action: string },
) =>
  recordAudit(tx, {
    tenantId,
    actor: `user:${userId}`,
    action,
    targetType: 'user',
    targetId: userId,
    details: { subscriptionId: id },
  });

/** The subscriptions of a workspace to which the hub sends, each with its user. */
export const readPushReceivers = (tx: Transaction, tenantId: string) =>
  tx
    .select({ subscriptionId: pushSubscriptions.id, userId: users.id, email: users.email })
    .from(pushSubscriptions)
    .innerJoin(users, eq(users.id, pushSubscriptions.userId))
    .where(and(eq(pushSubscriptions.tenantId, tenantId), isNull(pushSubscriptions.stoppedAt), isRenewed));

/**
 * Ends the subscriptions of a user, except those of one session.
 * Call it after the sessions have ended: a subscription that is created at the same time waits for them.
 */
export async function endPushSubscriptionsOfUser(
  tx: Transaction,
  userId: string,
  exceptSessionId: string | null = null,
): Promise<void> {
  await tx
    .delete(pushSubscriptions)
    .where(
      and(
        eq(pushSubscriptions.userId, userId),
        exceptSessionId === null ? undefined : sql`${pushSubscriptions.sessionId} IS DISTINCT FROM ${exceptSessionId}`,
      ),
    );
}

/** Ends the subscriptions of a session. The caller must have locked it. */
export async function endPushSubscriptionsOfSession(tx: Transaction, sessionId: string): Promise<void> {
  await tx.delete(pushSubscriptions).where(eq(pushSubscriptions.sessionId, sessionId));
}

/** An attempt to send to a browser. The browser may have another endpoint now. */
export interface PushAttempt {
  subscriptionId: string;
  endpoint: string;
}

/** Removes a subscription that its push service does not know any more. */
export async function endPushSubscription(tx: Transaction, attempt: PushAttempt): Promise<void> {
  await tx.delete(pushSubscriptions).where(isOfAttempt(attempt));
}

/** Records that the push service accepted a message. */
export async function recordPushAcceptance(tx: Transaction, attempt: PushAttempt): Promise<void> {
  await tx
    .update(pushSubscriptions)
    .set({ refusedSince: null, stoppedAt: null })
    .where(and(isOfAttempt(attempt), sql`${pushSubscriptions.refusedSince} IS NOT NULL`));
}

/** Records that the push service refused a message. After days of refusals only, nothing more is sent. */
export async function recordPushRefusal(tx: Transaction, attempt: PushAttempt): Promise<void> {
  await tx
    .update(pushSubscriptions)
    .set({
      refusedSince: sql`coalesce(${pushSubscriptions.refusedSince}, now())`,
      stoppedAt: sql`CASE WHEN ${pushSubscriptions.refusedSince} <= now() - make_interval(days => ${maxRefusedDays}) THEN coalesce(${pushSubscriptions.stoppedAt}, now()) END`,
    })
    .where(isOfAttempt(attempt));
}

const isOfAttempt = ({ subscriptionId, endpoint }: PushAttempt) =>
  and(eq(pushSubscriptions.id, subscriptionId), eq(pushSubscriptions.endpoint, endpoint));
