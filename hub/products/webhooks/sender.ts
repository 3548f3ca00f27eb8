import { AsyncResource } from 'node:async_hooks';
import { Batches } from '../../platform/db/batches.ts';
import type { Database } from '../../platform/db/database.ts';
import { throughOutages } from '../../platform/db/outage.ts';
import type { Egress } from '../../platform/egress/egress.ts';
import type { Events } from '../../platform/events/events.ts';
import { newId } from '../../platform/ids.ts';
import { logRecovery } from '../../platform/observability/log-throttle.ts';
import type { Logger } from '../../platform/observability/logger.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { recordAudit } from '../core/audit/index.ts';
import { attemptDelivery, attemptTimeoutMs, unmadeAttempt } from './attempt.ts';
import {
  claimDeliveries,
  giveBack,
  lanesOfAddress,
  noteFailure,
  recordAttempt,
  recordSuccesses,
} from './delivery-store.ts';
import type { AttemptOutcome, ClaimedDelivery } from './delivery-store.ts';
import { listDueWebhooks } from './due-deliveries.ts';
import { secretPurpose } from './signature.ts';
import { dueTopic } from './wake.ts';
import type { Woken } from './wake.ts';

/** Concurrent delivery attempts per process. */
const maxUnderWay = 512;
/** Concurrent attempts per workspace and process, so that one slow endpoint cannot starve other workspaces. */
const maxOfWorkspace = 32;
/**
 * A workspace also gets at most this part of the free slots, so that many workspaces with slow endpoints never occupy all slots.
 */
const partOfFreeSlots = 8;
/** How often a process looks for what is due, in milliseconds: retries, and what others left. */
const lookMs = 2_000;
/** Whoever has not recorded an attempt for so long counts as dead: two of them, with the old secret after the new one, and time to write it down. */
const leaseSeconds = (2 * attemptTimeoutMs) / 1000 + 10;
/** What could not be recorded is sent again only after so long: its address has had it, perhaps. */
const unrecordedSeconds = 30;

export interface SenderDependencies {
  db: Database;
  egress: Egress;
  events: Events;
  logger: Logger;
  secrets: Secrets;
  /** Told what came of each attempt that this process recorded. */
  onAttempt: (outcome: string) => void;
}

/**
 * Sends what is due, each webhook in turn, until it is disposed. It holds nothing that is not in the database: what it leased and did not
 * record is due again when its lease is over, for whichever process looks.
 */
export class WebhookSender implements AsyncDisposable {
  readonly #deps: SenderDependencies;
  readonly #stopMs: number;
  /** Webhooks that may have something due, in their turn, with their workspaces. */
  readonly #waiting = new Map<string, string>();
  readonly #claiming = new Set<string>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #places = new Map<string, number>();
  #placesTaken = 0;
  #isStopping = false;
  readonly #stop = new AbortController();
  /** Attempts of one moment that succeeded are written down together. */
  readonly #successes: Batches<{ delivery: ClaimedDelivery; outcome: AttemptOutcome }, boolean>;
  readonly #subscription: Disposable;
  readonly #timer: NodeJS.Timeout;
  #look: Promise<void> | null = null;
  /** Whoever wakes it may be in a transaction that others join; what it does is in none of theirs. */
  readonly #context = new AsyncResource('WebhookSender');

  /** @param stopMs how long attempts under way may go on after the process was asked to end. */
  constructor(dependencies: SenderDependencies, stopMs: number) {
    this.#deps = dependencies;
    this.#stopMs = stopMs;
    this.#successes = new Batches({
      flush: (tenantId, attempts, options) =>
        dependencies.db.workspace(tenantId, (tx) => recordSuccesses(tx, attempts), { durable: false, ...options }),
      bytesOf: ({ outcome }) => outcome.response.length,
    });
    this.#subscription = dependencies.events.subscribe(dueTopic, ({ tenantId, webhookIds }) => {
      if (typeof tenantId === 'string' && Array.isArray(webhookIds))
        this.wake({ tenantId, webhookIds: webhookIds.filter((id) => typeof id === 'string') });
    });
    this.#timer = setInterval(() => this.#lookForDue(), lookMs);
    this.#lookForDue();
  }

  /** Takes it that these webhooks have something due. */
  wake({ tenantId, webhookIds }: Woken): void {
    for (const id of webhookIds) this.#waiting.set(id, tenantId);
    this.#context.runInAsyncScope(() => this.#pump());
  }

  /** Ends attempts under way in time; those that do not end are given back, and made anew elsewhere. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    this.#subscription[Symbol.dispose]();
    const late = setTimeout(() => this.#stop.abort(new Error('the hub stops')), this.#stopMs);
    await this.#look;
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
    clearTimeout(late);
  }

  #lookForDue(): void {
    this.#look ??= (async () => {
      const { db, logger } = this.#deps;
      try {
        for (const { webhookId, tenantId } of await listDueWebhooks(db)) this.#waiting.set(webhookId, tenantId);
        logRecovery(logger, 'look for due webhooks');
        this.#pump();
      } catch (error) {
        logger.warn({ err: error, part: 'look for due webhooks' }, 'a look for due webhooks failed; it comes again');
      } finally {
        this.#look = null;
      }
    })();
  }

  #pump(): void {
    for (const [webhookId, tenantId] of this.#waiting) {
      const free = maxUnderWay - this.#placesTaken;
      if (this.#isStopping || free <= 0) return;
      const share = Math.min(maxOfWorkspace, Math.ceil(free / partOfFreeSlots));
      const room = Math.min(lanesOfAddress, share - (this.#places.get(tenantId) ?? 0));
      if (room <= 0 || this.#claiming.has(webhookId)) continue;
      this.#waiting.delete(webhookId);
      this.#claiming.add(webhookId);
      this.#take(tenantId, room);
      this.#track(this.#serve(tenantId, webhookId, room));
    }
  }

  #track(work: Promise<void>): void {
    this.#underWay.add(work);
    void work.finally(() => this.#underWay.delete(work));
  }

  #take(tenantId: string, count: number): void {
    const places = (this.#places.get(tenantId) ?? 0) + count;
    if (places === 0) this.#places.delete(tenantId);
    else this.#places.set(tenantId, places);
    this.#placesTaken += count;
  }

  async #serve(tenantId: string, webhookId: string, room: number): Promise<void> {
    const { db, logger } = this.#deps;
    let claimed: ClaimedDelivery[] = [];
    try {
      claimed = await claimDeliveries(db, { tenantId, webhookId }, room, { id: newId(), seconds: leaseSeconds });
      logRecovery(logger, 'claim of webhook deliveries');
    } catch (error) {
      // The next look finds it again.
      logger.warn({ err: error, part: 'claim of webhook deliveries', webhookId }, 'deliveries could not be claimed');
    }
    this.#take(tenantId, claimed.length - room);
    this.#claiming.delete(webhookId);
    for (const delivery of claimed)
      this.#track(
        this.#deliver(tenantId, delivery).finally(() => {
          this.#take(tenantId, -1);
          this.#waiting.set(webhookId, tenantId);
          this.#pump();
        }),
      );
    this.#pump();
  }

  async #deliver(tenantId: string, delivery: ClaimedDelivery): Promise<void> {
    const { db, logger } = this.#deps;
    try {
      const outcome = await this.#attempt(delivery);
      const isRecorded = await throughOutages(this.#stop.signal, () => this.#record(tenantId, delivery, outcome));
      if (isRecorded) this.#deps.onAttempt(outcome.status);
      logRecovery(logger, 'webhook deliveries');
    } catch (error) {
      const isStop = this.#stop.signal.aborted;
      if (!isStop)
        logger.warn(
          { err: error, part: 'webhook deliveries', deliveryId: delivery.id },
          'an attempt at a delivery could not be recorded; it is made again',
        );
      // Held to the end of its lease it would keep the others of its address waiting.
      await giveBack(db, tenantId, delivery, isStop ? 0 : unrecordedSeconds).catch(() => undefined);
    }
  }

  /** One that can't be made has failed like any other, so that it neither comes again for ever nor stays unseen. */
  async #attempt(delivery: ClaimedDelivery): Promise<AttemptOutcome> {
    const { egress, logger, secrets } = this.#deps;
    const { sealed_secret: sealed, sealed_previous_secret: sealedPrevious } = delivery;
    const unmade = (err: unknown, error: string) => {
      logger.warn({ err, deliveryId: delivery.id }, 'a delivery could not be attempted');
      return unmadeAttempt(delivery, error);
    };
    let opened;
    try {
      opened = {
        secret: secrets.open(secretPurpose, sealed),
        previous: sealedPrevious === null ? null : secrets.open(secretPurpose, sealedPrevious),
      };
    } catch (error) {
      return unmade(
        error,
        "The secret of this webhook can't be read with the SECRET_KEY of this hub; put the right SECRET_KEY back, or give the webhook a new secret with rotate-secret and overlapHours: 0.",
      );
    }
    try {
      const { url, event_id: eventId, body, attempts } = delivery;
      return await attemptDelivery(egress, { url, eventId, body, attempts, secrets: opened }, this.#stop.signal);
    } catch (error) {
      if (this.#stop.signal.aborted) throw error;
      return unmade(error, 'The hub could not make this attempt; its log says why.');
    }
  }

  /** Writes down what came of an attempt; the disk is not waited for, since what a crash loses is attempted again. */
  #record(tenantId: string, delivery: ClaimedDelivery, outcome: AttemptOutcome): Promise<boolean> {
    if (outcome.status === 'delivered') return this.#successes.add(tenantId, { delivery, outcome });
    const webhookId = delivery.webhook_id;
    return this.#deps.db.workspace(
      tenantId,
      async (tx) => {
        if (!(await recordAttempt(tx, delivery, outcome))) return false;
        const reason = await noteFailure(tx, webhookId, outcome.endsWebhook);
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
