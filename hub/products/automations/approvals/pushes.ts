import { setTimeout } from 'node:timers/promises';
import { visibleLine } from '../../../../shared/visible-text.ts';
import { runs } from '../../../engine/schema.ts';
import { withAsciiHosts } from '../../../platform/ascii-hosts.ts';
import type { Database } from '../../../platform/db/database.ts';
import { and, eq, lte, sql } from '../../../platform/db/orm.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { Push, PushOutcome } from '../../../platform/push/push.ts';
import { endPushSubscription, readPushReceivers } from '../../core/identity/index.ts';
import { refusalOf } from './contexts.ts';
import { DecisionFacts } from './decision-facts.ts';
import { approvalPushes, approvals } from './schema.ts';
import { listVotesOf } from './store.ts';

/** A notification that a process attempts to send. */
interface ClaimedPush {
  [column: string]: unknown;
  approvalId: string;
  subscriptionId: string;
  /** Number of attempts, with this one. */
  attempts: number;
  title: string;
  workflowName: string;
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
const maxShownCharacters = 120;

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
        for (const each of claimed ?? []) begin(each);
        if (running.size === 0) break;
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
      const votes = receivers.length === 0 ? [] : await listVotesOf(tx, [id]);
      const voters = votes.map(({ approver }) => approver);
      const facts = new DecisionFacts(tx, tenantId, [row]);
      const mayDecide = new Map<string, boolean>();
      for (const { userId, email } of receivers) {
        if (mayDecide.has(userId)) continue;
        const decider = { kind: 'user', actor: `user:${userId}`, userId, email } as const;
        const refusal = await refusalOf(tx, row, voters, { decider, hasPermission: true }, facts);
        mayDecide.set(userId, refusal === null);
      }
      const values = receivers.flatMap(({ subscriptionId, userId }) =>
        mayDecide.get(userId) === true ? [{ approvalId: id, subscriptionId, tenantId }] : [],
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
        `SELECT p.approval_id AS "approvalId", p.subscription_id AS "subscriptionId", p.attempts, a.title, w.name AS "workflowName",
           ceil(least($3, extract(epoch FROM a.expires_at - now())))::int AS "ttlSeconds", b.endpoint, b.p256dh, b.auth
         FROM unnest($1::uuid[], $2::uuid[]) AS k(approval_id, subscription_id)
         JOIN approval_pushes p USING (approval_id, subscription_id)
         JOIN approvals a ON a.id = p.approval_id
         JOIN runs r ON r.id = a.run_id
         JOIN workflows w ON w.id = r.workflow_id
         JOIN push_subscriptions b ON b.id = p.subscription_id
         JOIN sessions s ON s.id = b.session_id
         WHERE a.status = 'pending' AND (a.expires_at IS NULL OR a.expires_at > now()) AND s.revoked_at IS NULL AND s.expires_at > now()`,
        [...keys, maxTtlSeconds],
      );
      const kept = new Set(rows.map(({ approvalId, subscriptionId }) => approvalId + subscriptionId));
      const ended = leased.filter(({ approvalId, subscriptionId }) => !kept.has(approvalId + subscriptionId));
      if (ended.length > 0)
        await tx.query(
          'delete_ended_approval_pushes',
          `DELETE FROM approval_pushes p USING unnest($1::uuid[], $2::uuid[]) AS k(approval_id, subscription_id)
           WHERE p.approval_id = k.approval_id AND p.subscription_id = k.subscription_id`,
          [ended.map(({ approvalId }) => approvalId), ended.map(({ subscriptionId }) => subscriptionId)],
        );
      return rows;
    });
  }

  /** Makes one attempt and records its result. An attempt that the stop of the hub ends is repeated after its lease. */
  async #send(claimed: ClaimedPush, stopping: AbortSignal): Promise<void> {
    const { db, push, logger } = this.#deps;
    const { approvalId, subscriptionId, attempts, endpoint, p256dh, auth } = claimed;
    const content = {
      title: shown(claimed.title),
      workflowName: shown(claimed.workflowName),
      path: `/app/approvals/${approvalId}`,
    };
    const message = { content, ttlSeconds: claimed.ttlSeconds, subject: approvalId };
    const outcome = await push
      .send({ endpoint, p256dh, auth }, message, stopping)
      .catch((error: unknown) => (stopping.aborted ? null : Promise.reject(error as Error)));
    if (outcome === null) return;
    if (outcome.result === 'gone') return db.system((tx) => endPushSubscription(tx, subscriptionId));
    const delay = delayOf(outcome, attempts);
    if (outcome.result === 'failed')
      logger.warn(
        { approvalId, subscriptionId, reason: outcome.reason },
        delay === null
          ? 'a notification of an approval cannot be delivered to a browser'
          : 'a notification of an approval could not be delivered to a browser; retrying',
      );
    await db.system((tx) =>
      tx.query(
        'settle_approval_push',
        `UPDATE approval_pushes SET due_at = now() + make_interval(secs => $4)
         WHERE approval_id = $1 AND subscription_id = $2 AND attempts = $3`,
        [approvalId, subscriptionId, attempts, delay],
      ),
    );
  }
}

/** Seconds until the next attempt; null when none follows. */
function delayOf(outcome: PushOutcome, attempts: number): number | null {
  const planned = retrySeconds[attempts - 1];
  if (outcome.result !== 'failed' || !outcome.isTemporary || planned === undefined) return null;
  return Math.max(planned, Math.min(outcome.retryAfterSeconds, maxRetryAfterSeconds));
}

/** A text from outside as the notification shows it: on one line, with misleading characters visible. */
function shown(text: string): string {
  const characters = [...visibleLine(withAsciiHosts(text))];
  return characters.length <= maxShownCharacters
    ? characters.join('')
    : `${characters.slice(0, maxShownCharacters - 1).join('')}…`;
}
