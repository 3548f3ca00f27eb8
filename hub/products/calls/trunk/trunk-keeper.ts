import { AsyncResource } from 'node:async_hooks';
import type { Events } from '../../../platform/events/events.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import { claimTrunks, releaseLeases, renewLeases } from './store.ts';
import { TrunkRegistration } from './trunk-registration.ts';
import type { TrunkRegistrationDependencies } from './trunk-registration.ts';

/** Topic under which every process that registers is told that a trunk changed. */
export const trunksTopic = 'sip-trunks';

/** Has every process that registers look at what changed of trunks, and was committed. */
export const wakeTrunks = (events: Events): void => void events.publish(trunksTopic, {});

export interface TrunkKeeperDependencies extends TrunkRegistrationDependencies {
  events: Events;
}

export interface TrunkKeeperOptions {
  /** How long a lease holds without being renewed, in milliseconds. */
  leaseMs?: number;
  /** How often leases are renewed, and what nobody holds is looked for, in milliseconds. With `leaseMs` it bounds how long a trunk is nobody's. */
  beatMs?: number;
}

/** Trunks that one process holds, and claims at a time. */
const maxLines = 1_000;
const maxClaimed = 50;
/** Between the beginnings of trunks that were claimed together. */
const spreadMs = 20;
const stopTimeoutMs = 2_000;

/**
 * Registers the trunks of all workspaces with their carriers, each in one process at a time: under a lease in the database, which another process
 * takes over within 25 s of this one's last word, and at once when this one ends. It holds nothing that is not in the database.
 */
export class TrunkKeeper implements AsyncDisposable {
  readonly #deps: TrunkKeeperDependencies;
  readonly #leaseMs: number;
  readonly #lines = new Map<string, TrunkRegistration>();
  readonly #subscription: Disposable;
  readonly #timer: NodeJS.Timeout;
  /** Whoever wakes it may be in a transaction that others join; what it does is in none of theirs. */
  readonly #context = new AsyncResource('TrunkKeeper');
  #beat: Promise<void> | null = null;
  #isWoken = false;
  #isStopping = false;

  constructor(dependencies: TrunkKeeperDependencies, { leaseMs = 20_000, beatMs = 5_000 }: TrunkKeeperOptions = {}) {
    this.#deps = dependencies;
    this.#leaseMs = leaseMs;
    this.#subscription = dependencies.events.subscribe(trunksTopic, () => this.wake());
    this.#timer = setInterval(() => this.wake(), beatMs);
    this.wake();
  }

  /** Has it look at what it holds, and for what nobody does. */
  wake(): void {
    if (this.#isStopping) return;
    if (this.#beat !== null) {
      this.#isWoken = true;
      return;
    }
    this.#context.runInAsyncScope(() => {
      this.#beat = this.#look().finally(() => {
        this.#beat = null;
        if (!this.#isWoken) return;
        this.#isWoken = false;
        this.wake();
      });
    });
  }

  /** Ends all, and leaves the registrations to whoever takes over. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    this.#subscription[Symbol.dispose]();
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, stopTimeoutMs);
    const end = async () => {
      await this.#beat;
      const lines = [...this.#lines.values()];
      for (const line of lines) line.end();
      await Promise.allSettled(lines.map(({ ended }) => ended));
      if (lines.length === 0) return;
      await releaseLeases(
        this.#deps.db,
        lines.map(({ trunk }) => trunk),
      ).catch(() => undefined);
      await this.#deps.events.publish(trunksTopic, {});
    };
    await Promise.race([end(), late.promise]);
    clearTimeout(timer);
  }

  async #look(): Promise<void> {
    const { db, logger } = this.#deps;
    const part = 'leases of SIP trunks';
    try {
      const held = [...this.#lines.values()];
      if (held.length > 0) {
        const renewed = new Set(
          (
            await renewLeases(
              db,
              held.map(({ trunk }) => trunk),
              this.#leaseMs,
            )
          ).map(({ id }) => id),
        );
        for (const line of held) if (!renewed.has(line.trunk.id)) this.#end(line);
      }
      const room = Math.min(maxClaimed, maxLines - this.#lines.size);
      const claimed = room > 0 && !this.#isStopping ? await claimTrunks(db, room, this.#leaseMs) : [];
      for (const [index, trunk] of claimed.entries()) {
        const before = this.#lines.get(trunk.id);
        if (before !== undefined) this.#end(before);
        const line = new TrunkRegistration(this.#deps, trunk, index * spreadMs);
        this.#lines.set(trunk.id, line);
        void line.ended
          .catch((error: unknown) =>
            logger.error({ err: error, trunkId: trunk.id }, 'a SIP trunk was left; it is claimed again'),
          )
          .finally(() => this.#end(line));
      }
      if (claimed.length === maxClaimed) this.#isWoken = true;
      logRecovery(logger, part);
    } catch (error) {
      // Whatever was not renewed sends nothing without a number from the database.
      logger.warn({ err: error, part }, 'leases of SIP trunks could not be renewed; they are tried again');
    }
  }

  #end(line: TrunkRegistration): void {
    line.end();
    if (this.#lines.get(line.trunk.id) === line) this.#lines.delete(line.trunk.id);
  }
}
