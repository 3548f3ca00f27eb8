import type { z } from 'zod';
import { maxPushSubscriptions, push as resource } from '../../../../shared/contract/core/push.ts';
import { AppError, invalidBody } from '../../../../shared/errors.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, gt, isNull, sql } from '../../../platform/db/orm.ts';
import { EgressRefused } from '../../../platform/egress/egress.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import type { SessionIdentity } from '../../../platform/http/auth/principal.ts';
import { newId } from '../../../platform/ids.ts';
import { isCurvePoint } from '../../../platform/push/encrypt.ts';
import type { Push } from '../../../platform/push/push.ts';
import { recordAudit } from '../audit/index.ts';
import { clientOf } from './client.ts';
import { pushSubscriptions, sessions, users } from './schema.ts';

export interface PushSubscriptionsDependencies {
  db: Database;
  egress: Egress;
  push: Push;
}

type CreateBody = z.output<typeof resource.createPushSubscription.body>;

interface SubscriptionRow {
  [column: string]: unknown;
  id: string;
  client: string | null;
  createdAt: Date;
}

const maxEndpointLength = 2_000;

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
          })
          .from(pushSubscriptions)
          .innerJoin(sessions, eq(sessions.id, pushSubscriptions.sessionId))
          .where(and(eq(pushSubscriptions.userId, user.id), isOpen))
          .orderBy(desc(pushSubscriptions.createdAt), desc(pushSubscriptions.id)),
      ),
    ]);
    return { publicKey, subscriptions: rows.map(present) };
  }

  /** @throws AppError `validation_failed`; `conflict` for too many subscriptions. */
  async create({ tenantId, sessionId, user }: SessionIdentity, body: CreateBody, userAgent: string | undefined) {
    const endpoint = this.#normalizeEndpoint(body.endpoint);
    const p256dh = Buffer.from(body.keys.p256dh, 'base64url');
    if (!isCurvePoint(p256dh)) throw invalidBody('keys.p256dh', 'must be an uncompressed point on the curve P-256');
    const auth = Buffer.from(body.keys.auth, 'base64url');
    // The endpoint may belong to a user of another workspace, who used the same browser before.
    const created = await this.#deps.db.system(async (tx) => {
      await tx.query('lock_push_subscriber', 'SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [user.id]);
      await tx.query(
        'end_other_push_subscriptions',
        `DELETE FROM push_subscriptions p WHERE (p.endpoint = $1 AND p.user_id <> $2)
           OR (p.user_id = $2 AND NOT EXISTS (
             SELECT FROM sessions s WHERE s.id = p.session_id AND s.revoked_at IS NULL AND s.expires_at > now()))`,
        [endpoint, user.id],
      );
      const { rows } = await tx.query<SubscriptionRow>(
        'insert_push_subscription',
        `INSERT INTO push_subscriptions (id, tenant_id, user_id, session_id, endpoint, p256dh, auth, client)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (endpoint) DO UPDATE SET session_id = excluded.session_id, p256dh = excluded.p256dh,
           auth = excluded.auth, client = excluded.client, created_at = excluded.created_at
         WHERE push_subscriptions.user_id = excluded.user_id
         RETURNING id, client, created_at AS "createdAt"`,
        [newId(), tenantId, user.id, sessionId, endpoint, p256dh, auth, clientOf(userAgent)],
      );
      const [row] = rows;
      if (row === undefined)
        throw new AppError('conflict', 'Another user subscribed this browser at the same time. Try again.');
      const [counted] = await tx
        .select({ count: sql<number>`count(*)::int` })
        .from(pushSubscriptions)
        .where(eq(pushSubscriptions.userId, user.id));
      if ((counted?.count ?? 0) > maxPushSubscriptions)
        throw new AppError(
          'conflict',
          `You can have notifications in ${maxPushSubscriptions} browsers. Remove one of them first.`,
        );
      await recordSubscription(tx, { tenantId, userId: user.id, id: row.id, action: 'member.push_subscribed' });
      return row;
    });
    return present(created);
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
  #normalizeEndpoint(address: string): string {
    const url = URL.parse(address);
    if (url === null) throw invalidBody('endpoint', 'must be an https URL');
    if (url.href.length > maxEndpointLength)
      throw invalidBody('endpoint', `must have at most ${maxEndpointLength.toLocaleString('en')} characters`);
    try {
      this.#deps.egress.check(url.href);
    } catch (error) {
      if (error instanceof EgressRefused)
        throw invalidBody('endpoint', `can't be reached from here: ${error.message.replace(/\.$/, '')}`);
      throw error;
    }
    return url.href;
  }
}

const isOpen = and(isNull(sessions.revokedAt), gt(sessions.expiresAt, sql`now()`));

const present = ({ id, client, createdAt }: SubscriptionRow) => ({ id, client, createdAt: createdAt.toISOString() });

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

/** The subscriptions of a workspace whose sessions have not ended, each with its user. */
export const readPushReceivers = (tx: Transaction, tenantId: string) =>
  tx
    .select({ subscriptionId: pushSubscriptions.id, userId: users.id, email: users.email })
    .from(pushSubscriptions)
    .innerJoin(sessions, eq(sessions.id, pushSubscriptions.sessionId))
    .innerJoin(users, eq(users.id, pushSubscriptions.userId))
    .where(and(eq(pushSubscriptions.tenantId, tenantId), isOpen));

/** Removes a subscription that its push service does not know any more. */
export async function endPushSubscription(tx: Transaction, id: string): Promise<void> {
  await tx.delete(pushSubscriptions).where(eq(pushSubscriptions.id, id));
}
