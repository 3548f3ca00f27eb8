import type { Events } from './events.ts';

/** Who waits for rows of a topic to be written. */
export interface Follower extends Disposable {
  /**
   * Resolves when rows were written since it was called last, or it began to follow; at the latest after a time that grows to
   * the slow look of the backstop, or after `atMostMs`, or when the signal aborts. Never rejects.
   */
  next(signal: AbortSignal, atMostMs?: number): Promise<void>;
}

export interface LiveTopicsOptions {
  /** One topic is told at most so often, in milliseconds. */
  publishIntervalMs?: number;
  /** How long a follower waits at first and, step by step, at most, in milliseconds: until its interest has reached all processes, and for what was lost. */
  pollIntervalsMs?: readonly number[];
  /** How long the interest of another process counts; it is renewed three times as often, in milliseconds. */
  interestMs?: number;
}

const interestTopic = 'live-interest';

/**
 * Tells those who follow a topic, in any process, that rows of it were committed. Where nobody follows, a write costs nothing: a
 * process tells others of a topic only while one of them said that it is followed there.
 */
export class LiveTopics implements Disposable {
  readonly #events: Events;
  readonly #options: Required<LiveTopicsOptions>;
  readonly #local = new Map<string, Set<() => void>>();
  /** Until when a topic is followed elsewhere. */
  readonly #interest = new Map<string, number>();
  /** Topics that were told a moment ago, and whether rows were written since. */
  readonly #told = new Map<string, { again: boolean; timer: NodeJS.Timeout }>();
  readonly #owned: Disposable[];
  readonly #renewal: NodeJS.Timeout;

  constructor(events: Events, options: LiveTopicsOptions = {}) {
    this.#events = events;
    this.#options = {
      publishIntervalMs: 150,
      pollIntervalsMs: [500, 1_000, 2_000, 5_000, 10_000],
      interestMs: 60_000,
      ...options,
    };
    this.#owned = [
      events.subscribe(
        interestTopic,
        ({ topic }) =>
          void (typeof topic === 'string' && this.#interest.set(topic, performance.now() + this.#options.interestMs)),
      ),
      events.onReconnect(() => this.#local.forEach((wakes) => wakes.forEach((wake) => wake()))),
    ];
    this.#renewal = setInterval(() => this.#renew(), this.#options.interestMs / 3);
    this.#renewal.unref();
  }

  /** To be told after each commit that wrote rows of a topic. */
  written(topic: string): void {
    if (!this.#local.has(topic) && (this.#interest.get(topic) ?? 0) < performance.now()) return;
    const told = this.#told.get(topic);
    if (told === undefined) this.#tell(topic);
    else told.again = true;
  }

  /** Begins to follow a topic; to be done before the first look, so that nothing between the two is missed. */
  follow(topic: string): Follower {
    let pending = false;
    let resolve: (() => void) | undefined;
    let looks = 0;
    const wake = () => {
      pending = true;
      resolve?.();
    };
    const wakes = this.#local.get(topic) ?? new Set();
    if (wakes.size === 0) this.#local.set(topic, wakes);
    wakes.add(wake);
    const subscription = this.#events.subscribe(topicOf(topic), wake);
    void this.#events.publish(interestTopic, { topic });
    const { pollIntervalsMs } = this.#options;
    return {
      async next(signal, atMostMs = Number.POSITIVE_INFINITY) {
        const most = Math.min(pollIntervalsMs[Math.min(looks, pollIntervalsMs.length - 1)] as number, atMostMs);
        looks += 1;
        if (!pending && !signal.aborted) {
          const woken = Promise.withResolvers<void>();
          resolve = woken.resolve;
          const timer = setTimeout(woken.resolve, most);
          signal.addEventListener('abort', woken.resolve as () => void, { once: true });
          await woken.promise;
          clearTimeout(timer);
          signal.removeEventListener('abort', woken.resolve as () => void);
          resolve = undefined;
        }
        pending = false;
      },
      [Symbol.dispose]: () => {
        subscription[Symbol.dispose]();
        wakes.delete(wake);
        if (wakes.size === 0 && this.#local.get(topic) === wakes) this.#local.delete(topic);
      },
    };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#renewal);
    for (const { timer } of this.#told.values()) clearTimeout(timer);
    for (const owned of this.#owned) owned[Symbol.dispose]();
  }

  #tell(topic: string): void {
    const timer = setTimeout(() => {
      const again = this.#told.get(topic)?.again === true;
      this.#told.delete(topic);
      if (again) this.#tell(topic);
    }, this.#options.publishIntervalMs);
    this.#told.set(topic, { again: false, timer });
    void this.#events.publish(topicOf(topic), {});
  }

  #renew(): void {
    const now = performance.now();
    for (const [topic, until] of this.#interest) if (until < now) this.#interest.delete(topic);
    for (const topic of this.#local.keys()) void this.#events.publish(interestTopic, { topic });
  }
}

const topicOf = (topic: string) => `live:${topic}`;
