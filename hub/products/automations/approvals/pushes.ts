import { setTimeout } from 'node:timers/promises';
import { maxUnrenewedDays } from '../../../../shared/contract/core/push.ts';
import { runs } from '../../../engine/schema.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, eq, lte, sql } from '../../../platform/db/orm.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { Push, PushOutcome } from '../../../platform/push/push.ts';
import {
  endPushSubscription,
  readPushReceivers,
  recordPushAcceptance,
  recordPushRefusal,
} from '../../core/identity/index.ts';
import { refusalOf } from './contexts.ts';
import { DecisionFacts } from './decision-facts.ts';
import { approvalPushes, approvals } from './schema.ts';
import { isDecidable, listVotesOf } from './store.ts';
import type { ApprovalRow } from './store.ts';

/** A notification that a process attempts to send. */
interface ClaimedPush {
  [column: string]: unknown;
  approvalId: string;
  subscriptionId: string;
  tenantId: string;
  userId: string;
  email: string;
  /** Language that the user chose; null for that of the browser. */
  language: string | null;
  /** Number of attempts, with this one. */
  attempts: number;
  ttlSeconds: number;
  endpoint: string;
  p256dh: Buffer;
  auth: Buffer;
}

/** Maximum approvals per pass whose members are looked up. */
const maxApprovalsPerPass = 50;
/** Concurrent attempts. The workspaces take turns, so that slow push services of one delay the others little. */
const maxConcurrentAttempts = 50;
/** How often further attempts begin while some are running. */
const nextPassMs = 1_000;
/** Time after which an attempt counts as abandoned by a dead process, in seconds. An attempt takes at most 10 s. */
const leaseSeconds = 60;
/** Delay after each failed attempt, in seconds. */
const retrySeconds = [15, 60, 300, 900];
const maxRetryAfterSeconds = 3_600;
const maxTtlSeconds = 86_400;

/** Notifies the members who may decide an approval, in the browsers that they have subscribed. */
export class ApprovalPushes {
  readonly #deps: { db: Database; push: Push; logger: Logger };

  constructor(dependencies: { db: Database; push: Push; logger: Logger }) {
    this.#deps = dependencies;
  }

  /**
   * Enqueues and sends what is due; part of the sweep. Slow push services take places, but do not delay the others:
   * while some attempts run, further ones begin. Returns when no attempt runs and none is due.
   */
  async sendDue(stopping: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>();
    const failures: unknown[] = [];
    const begin = (claimed: ClaimedPush) => {
      const attempt = this.#send(claimed, stopping)
        .catch((error: unknown) => {
          failures.push(error);
        })
        .finally(() => running.delete(attempt));
      running.add(attempt);
    };
    try {
      while (!stopping.aborted && failures.length === 0) {
        await this.#enqueueDue();
        const free = maxConcurrentAttempts - running.size;
        const claimed = free === 0 ? [] : await this.#claim(free);
        for (const each of await this.#keepDecidable(claimed ?? [])) begin(each);
        if (running.size === 0) {
          if (claimed === null) break;
          continue;
        }
        await Promise.race([...running, setTimeout(nextPassMs, undefined, { ref: false })]);
      }
    } finally {
      // The next sweep must not overlap these attempts.
      await Promise.all(running);
    }
    if (failures.length > 0) throw failures[0];
  }

  async #enqueueDue(): Promise<void> {
    const due = await this.#deps.db.system(
      (tx) =>
        tx
          .select({ id: approvals.id, tenantId: approvals.tenantId })
          .from(approvals)
          .where(and(eq(approvals.status, 'pending'), lte(approvals.pushDueAt, sql`now()`)))
          .orderBy(approvals.pushDueAt)
          .limit(maxApprovalsPerPass),
      { durable: false },
    );
    for (const { id, tenantId } of due)
      await this.#enqueue(tenantId, id).catch((error: unknown) =>
        // The members of one approval must not lose the notifications of the others.
        this.#deps.logger.error(
          { err: error, approvalId: id },
          'the notifications of an approval could not be enqueued',
        ),
      );
  }

  /** Adds a notification for each browser of those who may decide now, and stores when to check again. */
  async #enqueue(tenantId: string, id: string): Promise<void> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const [found] = await tx
        .select({ row: approvals, environment: runs.environment })
        .from(approvals)
        .innerJoin(runs, eq(runs.id, approvals.runId))
        .where(and(eq(approvals.id, id), eq(approvals.status, 'pending')))
        .for('update', { of: approvals });
      if (found === undefined) return;
      const { row, environment } = found;
      const receivers = environment === 'test' ? [] : await readPushReceivers(tx, tenantId);
      const deciders = await findDeciders(tx, row, receivers);
      const values = receivers.flatMap(({ subscriptionId, userId }) =>
        deciders.has(userId) ? [{ approvalId: id, subscriptionId, tenantId }] : [],
      );
      if (values.length > 0) await tx.insert(approvalPushes).values(values).onConflictDoNothing();
      await tx
        .update(approvals)
        .set({ pushDueAt: sql`CASE WHEN ${approvals.escalateAt} > now() THEN ${approvals.escalateAt} END` })
        .where(eq(approvals.id, id));
    });
  }

  /** Leases due notifications and deletes those that became pointless. Null when none is due. */
  async #claim(limit: number): Promise<ClaimedPush[] | null> {
    return this.#deps.db.system(async (tx) => {
      const { rows: leased } = await tx.query<{ approvalId: string; subscriptionId: string }>(
        'lease_approval_pushes',
        `UPDATE approval_pushes p SET attempts = attempts + 1, due_at = now() + make_interval(secs => $1)
         FROM (SELECT approval_id, subscription_id FROM (
             SELECT approval_id, subscription_id, due_at, row_number() OVER (PARTITION BY tenant_id ORDER BY due_at) AS turn
             FROM approval_pushes WHERE due_at <= now()) AS queued
           ORDER BY turn, due_at LIMIT $2) AS next
         WHERE p.approval_id = next.approval_id AND p.subscription_id = next.subscription_id AND p.due_at <= now()
         RETURNING p.approval_id AS "approvalId", p.subscription_id AS "subscriptionId"`,
        [leaseSeconds, limit],
      );
      if (leased.length === 0) return null;
      const keys = [leased.map(({ approvalId }) => approvalId), leased.map(({ subscriptionId }) => subscriptionId)];
      const { rows } = await tx.query<ClaimedPush>(
        'read_approval_pushes',
        `SELECT p.approval_id AS "approvalId", p.subscription_id AS "subscriptionId", p.tenant_id AS "tenantId", p.attempts,
           u.id AS "userId", u.email, u.preferences->>'language' AS language,
           ceil(least($3, extract(epoch FROM a.expires_at - now())))::int AS "ttlSeconds", b.endpoint, b.p256dh, b.auth
         FROM unnest($1::uuid[], $2::uuid[]) AS k(approval_id, subscription_id)
         JOIN approval_pushes p USING (approval_id, subscription_id)
         JOIN approvals a ON a.id = p.approval_id
         JOIN push_subscriptions b ON b.id = p.subscription_id
         JOIN users u ON u.id = b.user_id
         WHERE a.status = 'pending' AND (a.expires_at IS NULL OR a.expires_at > now())
           AND b.stopped_at IS NULL AND b.renewed_at > now() - make_interval(days => $4)`,
        [...keys, maxTtlSeconds, maxUnrenewedDays],
      );
      const kept = new Set(rows.map(({ approvalId, subscriptionId }) => approvalId + subscriptionId));
      await deletePushes(
        tx,
        leased.filter(({ approvalId, subscriptionId }) => !kept.has(approvalId + subscriptionId)),
      );
      return rows;
    });
  }

  /**
   * Returns the notifications of those who may still decide, and deletes the others. A notification that cannot be
   * checked is attempted again after its lease.
   */
  async #keepDecidable(claimed: readonly ClaimedPush[]): Promise<ClaimedPush[]> {
    const kept: ClaimedPush[] = [];
    for (const [approvalId, pushes] of Map.groupBy(claimed, (each) => each.approvalId)) {
      const { tenantId } = pushes[0] as ClaimedPush;
      try {
        const deciders = await this.#deps.db.workspace(tenantId, async (tx) => {
          const [row] = await tx.select().from(approvals).where(isDecidable(approvalId));
          const found = row === undefined ? new Set<string>() : await findDeciders(tx, row, pushes);
          await deletePushes(
            tx,
            pushes.filter(({ userId }) => !found.has(userId)),
          );
          return found;
        });
        kept.push(...pushes.filter(({ userId }) => deciders.has(userId)));
      } catch (error) {
        this.#deps.logger.error({ err: error, approvalId }, 'the notifications of an approval could not be checked');
      }
    }
    return kept;
  }

  /** Makes one attempt and records its result. An attempt that the stop of the hub ends is repeated after its lease. */
  async #send(claimed: ClaimedPush, stopping: AbortSignal): Promise<void> {
    const { db, push, logger } = this.#deps;
    const { approvalId, subscriptionId, attempts, language, endpoint, p256dh, auth } = claimed;
    // The user can be signed out of the browser, so the message does not describe the approval.
    const content = { path: `/app/approvals/${approvalId}`, language };
    const message = { content, ttlSeconds: claimed.ttlSeconds, subject: approvalId };
    const outcome = await push
      .send({ endpoint, p256dh, auth }, message, stopping)
      .catch((error: unknown) => (stopping.aborted ? null : Promise.reject(error as Error)));
    if (outcome === null) return;
    if (outcome.result === 'gone') return db.system((tx) => endPushSubscription(tx, claimed));
    const delay = delayOf(outcome, attempts);
    if (outcome.result === 'failed')
      logger.warn(
        { approvalId, subscriptionId, reason: outcome.reason },
        delay === null
          ? 'a notification of an approval cannot be delivered to a browser'
          : 'a notification of an approval could not be delivered to a browser; retrying',
      );
    await db.system(async (tx) => {
      // First the subscription, as when a subscription is deleted, so that the two never wait for each other.
      if (outcome.result === 'accepted') await recordPushAcceptance(tx, claimed);
      else if (outcome.result === 'failed' && !outcome.isTemporary) await recordPushRefusal(tx, claimed);
      await tx.query(
        'settle_approval_push',
        `UPDATE approval_pushes SET due_at = now() + make_interval(secs => $4)
         WHERE approval_id = $1 AND subscription_id = $2 AND attempts = $3`,
        [approvalId, subscriptionId, attempts, delay],
      );
    });
  }
}

/** Those of the users who may decide an approval now, by their ids. */
async function findDeciders(
  tx: Transaction,
  row: ApprovalRow,
  users: readonly { userId: string; email: string }[],
): Promise<Set<string>> {
  const votes = users.length === 0 ? [] : await listVotesOf(tx, [row.id]);
  const voters = votes.map(({ approver }) => approver);
  const facts = new DecisionFacts(tx, row.tenantId, [row]);
  const deciders = new Set<string>();
  for (const [userId, email] of new Map(users.map((user) => [user.userId, user.email]))) {
    const decider = { kind: 'user', actor: `user:${userId}`, userId, email } as const;
    const refusal = await refusalOf(tx, row, voters, { decider, hasPermission: true }, facts);
    if (refusal === null) deciders.add(userId);
  }
  return deciders;
}

async function deletePushes(
  tx: Transaction,
  pushes: readonly { approvalId: string; subscriptionId: string }[],
): Promise<void> {
  if (pushes.length === 0) return;
  await tx.query(
    'delete_ended_approval_pushes',
    `DELETE FROM approval_pushes p USING unnest($1::uuid[], $2::uuid[]) AS k(approval_id, subscription_id)
     WHERE p.approval_id = k.approval_id AND p.subscription_id = k.subscription_id`,
    [pushes.map(({ approvalId }) => approvalId), pushes.map(({ subscriptionId }) => subscriptionId)],
  );
}

/** Seconds until the next attempt; null when none follows. */
function delayOf(outcome: PushOutcome, attempts: number): number | null {
  const planned = retrySeconds[attempts - 1];
  if (outcome.result !== 'failed' || !outcome.isTemporary || planned === undefined) return null;
  return Math.max(planned, Math.min(outcome.retryAfterSeconds, maxRetryAfterSeconds));
}
