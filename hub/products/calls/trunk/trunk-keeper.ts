import { AsyncResource } from 'node:async_hooks';
import type { Events, Publisher } from '../../../platform/events/events.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import { claimTrunks, releaseLeases, renewLeases } from './store.ts';
import { TrunkRegistration } from './trunk-registration.ts';
import type { TrunkRegistrationDependencies } from './trunk-registration.ts';

/** Topic on which the processes that register trunks learn about changes. */
export const trunksTopic = 'sip-trunks';

/** Notifies every process that registers trunks about a change, on the commit of the transaction that makes it. */
export const wakeTrunks = (tx: Publisher): void => tx.publish(trunksTopic, {});

export interface TrunkKeeperDependencies extends TrunkRegistrationDependencies {
  events: Events;
}

export interface TrunkKeeperOptions {
  /** Lifetime of a lease without renewal, in milliseconds. */
  leaseMs?: number;
  /** Interval between passes, in ms. After a crash, another process claims a trunk within `leaseMs` + `passMs`. */
  passMs?: number;
}

/** Trunks per process, and per claim. */
const maxTrunks = 1_000;
const maxTrunksPerClaim = 50;
/** Delay between the first attempts of trunks that were claimed together. */
const spreadMs = 20;
const stopTimeoutMs = 2_000;

/**
 * Registers the trunks of all workspaces at their carriers, each trunk in one process at a time under a lease in the
 * database.
 * Another process takes over within 25 s after a crash, and immediately after a regular stop. All state is in the database.
 */
export class TrunkKeeper implements AsyncDisposable {
  readonly #deps: TrunkKeeperDependencies;
  readonly #leaseMs: number;
  readonly #registrations = new Map<string, TrunkRegistration>();
  readonly #subscription: Disposable;
  readonly #timer: NodeJS.Timeout;
  /** The caller of `wake` can be inside a transaction. This context keeps the pass outside of it. */
  readonly #context = new AsyncResource('TrunkKeeper');
  #pass: Promise<void> | null = null;
  #isWoken = false;
  #isStopping = false;

  constructor(dependencies: TrunkKeeperDependencies, { leaseMs = 20_000, passMs = 5_000 }: TrunkKeeperOptions = {}) {
    this.#deps = dependencies;
    this.#leaseMs = leaseMs;
    this.#subscription = dependencies.events.subscribe(trunksTopic, () => this.wake());
    this.#timer = setInterval(() => this.wake(), passMs);
    this.wake();
  }

  /** Starts a pass that renews leases and claims trunks, or schedules one after the current pass. */
  wake(): void {
    if (this.#isStopping) return;
    if (this.#pass !== null) {
      this.#isWoken = true;
      return;
    }
    this.#context.runInAsyncScope(() => {
      this.#pass = this.#renewAndClaim().finally(() => {
        this.#pass = null;
        if (!this.#isWoken) return;
        this.#isWoken = false;
        this.wake();
      });
    });
  }

  /**
   * Ends all registrations in this process and releases their leases. The bindings at the carriers stay for the next
   * process.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    this.#subscription[Symbol.dispose]();
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, stopTimeoutMs);
    const end = async () => {
      await this.#pass;
      const registrations = [...this.#registrations.values()];
      for (const registration of registrations) registration.end();
      await Promise.allSettled(registrations.map(({ ended }) => ended));
      if (registrations.length === 0) return;
      await releaseLeases(
        this.#deps.db,
        registrations.map(({ trunk }) => trunk),
      ).catch(() => undefined);
      this.#deps.events.publish(trunksTopic, {});
    };
    await Promise.race([end(), late.promise]);
    clearTimeout(timer);
  }

  async #renewAndClaim(): Promise<void> {
    const { db, logger } = this.#deps;
    const part = 'leases of SIP trunks';
    try {
      const registrations = [...this.#registrations.values()];
      if (registrations.length > 0) {
        const renewed = new Set(
          (
            await renewLeases(
              db,
              registrations.map(({ trunk }) => trunk),
              this.#leaseMs,
            )
          ).map(({ id }) => id),
        );
        for (const registration of registrations) if (!renewed.has(registration.trunk.id)) this.#end(registration);
      }
      const capacity = Math.min(maxTrunksPerClaim, maxTrunks - this.#registrations.size);
      const claimed = capacity > 0 && !this.#isStopping ? await claimTrunks(db, capacity, this.#leaseMs) : [];
      for (const [index, trunk] of claimed.entries()) {
        const before = this.#registrations.get(trunk.id);
        if (before !== undefined) this.#end(before);
        const registration = new TrunkRegistration(this.#deps, trunk, index * spreadMs);
        this.#registrations.set(trunk.id, registration);
        registration.ended
          .catch((error: unknown) =>
            logger.error({ err: error, trunkId: trunk.id }, 'registering a SIP trunk failed; the hub claims it again'),
          )
          .finally(() => this.#end(registration));
      }
      if (claimed.length === maxTrunksPerClaim) this.#isWoken = true;
      logRecovery(logger, part);
    } catch (error) {
      // A registration without renewed lease cannot reserve CSeq numbers, so it sends nothing.
      logger.warn({ err: error, part }, 'renewing the leases of SIP trunks failed; the hub retries it');
    }
  }

  #end(registration: TrunkRegistration): void {
    registration.end();
    const { id } = registration.trunk;
    if (this.#registrations.get(id) === registration) this.#registrations.delete(id);
  }
}
