import { AsyncResource } from 'node:async_hooks';
import { Batcher } from '../../platform/db/batcher.ts';
import type { Database } from '../../platform/db/database.ts';
import { retryOnOutage } from '../../platform/db/outage.ts';
import type { Egress } from '../../platform/egress/egress.ts';
import type { Events } from '../../platform/events/events.ts';
import { newId } from '../../platform/ids.ts';
import { logRecovery } from '../../platform/observability/log-throttle.ts';
import type { Logger } from '../../platform/observability/logger.ts';
import { background } from '../../platform/process/background.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { recordAudit } from '../core/audit/index.ts';
import { attemptDelivery, attemptTimeoutMs, failedWithoutRequest } from './attempt.ts';
import {
  claimDeliveries,
  releaseDelivery,
  maxConcurrentPerAddress,
  recordFailure,
  recordAttempt,
  recordSuccesses,
} from './delivery-store.ts';
import type { AttemptOutcome, ClaimedDelivery } from './delivery-store.ts';
import { listDueWebhooks } from './due-deliveries.ts';
import { secretPurpose } from './signature.ts';
import { dueTopic } from './wake.ts';
import type { DueWebhooks, WebhookOwner } from './wake.ts';

/** Concurrent delivery attempts per process. */
const maxConcurrentAttempts = 512;
/**
 * Concurrent attempts per process for the live and for the test webhooks of a workspace, so that slow endpoints cannot
 * starve other workspaces, and slow test endpoints cannot starve live webhooks.
 */
const maxAttemptsPerOwner = { live: 32, test: 8 };
/**
 * An owner also gets at most 1/8 of the free slots, so that many owners with slow endpoints never occupy all slots.
 */
const freeSlotsDivisor = 8;
/** Poll interval for retries and for deliveries that a stopped process left behind. */
const pollIntervalMs = 2_000;
/** A lease covers two attempts (new secret, then old secret) plus 10 s to record the result. */
const leaseSeconds = (2 * attemptTimeoutMs) / 1000 + 10;
/**
 * Delay before a delivery is retried when its result could not be recorded. The endpoint may already have received it.
 */
const unrecordedRetrySeconds = 30;

export interface SenderDependencies {
  db: Database;
  egress: Egress;
  events: Events;
  logger: Logger;
  secrets: Secrets;
  /** Called with the status of each attempt that this process recorded. */
  onAttempt: (outcome: string) => void;
}

const keyOf = ({ tenantId, environment }: WebhookOwner) => `${tenantId} ${environment}`;

/**
 * Sends due deliveries, round-robin over webhooks, until disposed.
 * All state is in the database: a delivery whose lease expires becomes due again for any process.
 */
export class WebhookSender implements AsyncDisposable {
  readonly #deps: SenderDependencies;
  readonly #shutdownMs: number;
  /** Webhooks that may have due deliveries, in round-robin order, mapped to their owners. */
  readonly #waiting = new Map<string, WebhookOwner>();
  readonly #claiming = new Set<string>();
  readonly #inProgress = new Set<Promise<void>>();
  readonly #slotsByOwner = new Map<string, number>();
  #slotsInUse = 0;
  #isStopping = false;
  readonly #stop = new AbortController();
  /** Successful attempts are recorded in batches. */
  readonly #successes: Batcher<{ delivery: ClaimedDelivery; outcome: AttemptOutcome }, boolean>;
  readonly #subscription: Disposable;
  readonly #timer: NodeJS.Timeout;
  #poll: Promise<void> | null = null;
  /** `wake` can be called inside a transaction context. The work it starts must not join that transaction. */
  readonly #context = new AsyncResource('WebhookSender');

  /** @param shutdownMs how long attempts in progress may continue after disposal starts, in milliseconds. */
  constructor(dependencies: SenderDependencies, shutdownMs: number) {
    this.#deps = dependencies;
    this.#shutdownMs = shutdownMs;
    this.#successes = new Batcher({
      flush: (tenantId, attempts, options) =>
        dependencies.db.workspace(tenantId, (tx) => recordSuccesses(tx, attempts), { durable: false, ...options }),
      bytesOf: ({ outcome }) => outcome.response.length,
    });
    this.#subscription = dependencies.events.subscribe(dueTopic, ({ tenantId, environment, webhookIds }) => {
      if (
        typeof tenantId === 'string' &&
        (environment === 'live' || environment === 'test') &&
        Array.isArray(webhookIds)
      )
        this.wake({ tenantId, environment, webhookIds: webhookIds.filter((id) => typeof id === 'string') });
    });
    this.#timer = setInterval(() => this.#pollDue(), pollIntervalMs);
    this.#pollDue();
  }

  /** Schedules webhooks that have due deliveries. */
  wake({ tenantId, environment, webhookIds }: DueWebhooks): void {
    for (const id of webhookIds) this.#waiting.set(id, { tenantId, environment });
    this.#context.runInAsyncScope(() => this.#pump());
  }

  /**
   * Waits for attempts in progress until the shutdown limit, then aborts them and releases their leases for other
   * processes.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    this.#subscription[Symbol.dispose]();
    const late = setTimeout(() => this.#stop.abort(new Error('the hub is stopping')), this.#shutdownMs);
    await this.#poll;
    while (this.#inProgress.size > 0) await Promise.all(this.#inProgress);
    clearTimeout(late);
  }

  #pollDue(): void {
    this.#poll ??= (async () => {
      const { db, logger } = this.#deps;
      try {
        for (const { webhookId, owner } of await listDueWebhooks(db)) this.#waiting.set(webhookId, owner);
        logRecovery(logger, 'poll for due webhooks');
        this.#pump();
      } catch (error) {
        logger.warn(
          { err: error, part: 'poll for due webhooks' },
          'due webhooks could not be listed; the next poll retries',
        );
      } finally {
        this.#poll = null;
      }
    })();
  }

  #pump(): void {
    for (const [webhookId, owner] of this.#waiting) {
      const free = maxConcurrentAttempts - this.#slotsInUse;
      if (this.#isStopping || free <= 0) return;
      const share = Math.min(maxAttemptsPerOwner[owner.environment], Math.ceil(free / freeSlotsDivisor));
      const slotCount = Math.min(maxConcurrentPerAddress, share - (this.#slotsByOwner.get(keyOf(owner)) ?? 0));
      if (slotCount <= 0 || this.#claiming.has(webhookId)) continue;
      this.#waiting.delete(webhookId);
      this.#claiming.add(webhookId);
      this.#countSlots(owner, slotCount);
      this.#track(this.#claimAndDeliver(owner, webhookId, slotCount));
    }
  }

  #track(work: Promise<void>): void {
    this.#inProgress.add(work);
    const tracked = work.finally(() => this.#inProgress.delete(work));
    background(tracked, this.#deps.logger, 'webhook deliveries');
  }

  #countSlots(owner: WebhookOwner, count: number): void {
    const key = keyOf(owner);
    const slots = (this.#slotsByOwner.get(key) ?? 0) + count;
    if (slots === 0) this.#slotsByOwner.delete(key);
    else this.#slotsByOwner.set(key, slots);
    this.#slotsInUse += count;
  }

  async #claimAndDeliver(owner: WebhookOwner, webhookId: string, slotCount: number): Promise<void> {
    const { db, logger } = this.#deps;
    const { tenantId } = owner;
    let claimed: ClaimedDelivery[] = [];
    try {
      claimed = await claimDeliveries(db, { tenantId, webhookId }, slotCount, { id: newId(), seconds: leaseSeconds });
      logRecovery(logger, 'claim of webhook deliveries');
    } catch (error) {
      // The next poll finds the deliveries again.
      logger.warn(
        { err: error, part: 'claim of webhook deliveries', webhookId },
        'webhook deliveries could not be claimed',
      );
    }
    this.#countSlots(owner, claimed.length - slotCount);
    this.#claiming.delete(webhookId);
    for (const delivery of claimed)
      this.#track(
        this.#deliver(tenantId, delivery).finally(() => {
          this.#countSlots(owner, -1);
          this.#waiting.set(webhookId, owner);
          this.#pump();
        }),
      );
    this.#pump();
  }

  async #deliver(tenantId: string, delivery: ClaimedDelivery): Promise<void> {
    const { db, logger } = this.#deps;
    try {
      const outcome = await this.#attempt(delivery);
      const isRecorded = await retryOnOutage(this.#stop.signal, () => this.#record(tenantId, delivery, outcome));
      if (isRecorded) this.#deps.onAttempt(outcome.status);
      logRecovery(logger, 'webhook deliveries');
    } catch (error) {
      const isStop = this.#stop.signal.aborted;
      if (!isStop)
        logger.warn(
          { err: error, part: 'webhook deliveries', deliveryId: delivery.id },
          'the outcome of a webhook attempt could not be recorded; the delivery is retried',
        );
      // An unreleased lease would occupy a slot of its address until the lease expires.
      await releaseDelivery(db, tenantId, delivery, isStop ? 0 : unrecordedRetrySeconds).catch(() => undefined);
    }
  }

  /**
   * An attempt that cannot be made counts as a failed attempt, so that it is visible and uses up the retry schedule.
   */
  async #attempt(delivery: ClaimedDelivery): Promise<AttemptOutcome> {
    const { egress, logger, secrets } = this.#deps;
    const { sealed_secret: sealed, sealed_previous_secret: sealedPrevious } = delivery;
    const fail = (err: unknown, error: string) => {
      logger.warn({ err, deliveryId: delivery.id }, 'a webhook delivery could not be attempted');
      return failedWithoutRequest(delivery, error);
    };
    let opened;
    try {
      opened = {
        secret: secrets.open(secretPurpose, sealed),
        previous: sealedPrevious === null ? null : secrets.open(secretPurpose, sealedPrevious),
      };
    } catch (error) {
      return fail(
        error,
        "The SECRET_KEY of this hub can't decrypt the secret of this webhook. Restore the right SECRET_KEY, or create a new secret with rotate-secret and overlapHours: 0.",
      );
    }
    try {
      const { url, event_id: eventId, body, attempts } = delivery;
      return await attemptDelivery(egress, { url, eventId, body, attempts, secrets: opened }, this.#stop.signal);
    } catch (error) {
      if (this.#stop.signal.aborted) throw error;
      return fail(error, 'The hub could not make this attempt. See the log of the hub for the cause.');
    }
  }

  /** Records the outcome of an attempt without a durable commit: an outcome that a crash loses is attempted again. */
  #record(tenantId: string, delivery: ClaimedDelivery, outcome: AttemptOutcome): Promise<boolean> {
    if (outcome.status === 'delivered') return this.#successes.add(tenantId, { delivery, outcome });
    const webhookId = delivery.webhook_id;
    return this.#deps.db.workspace(
      tenantId,
      async (tx) => {
        if (!(await recordAttempt(tx, delivery, outcome))) return false;
        const reason = await recordFailure(tx, webhookId, outcome.endsWebhook);
        if (reason !== null)
          await recordAudit(tx, {
            tenantId,
            actor: 'system',
            action: 'webhook.switched_off',
            targetType: 'webhook',
            targetId: webhookId,
            details: { reason },
          });
        return true;
      },
      { durable: false },
    );
  }
}
