import type { Events } from './events.ts';

/** Waits for rows of a topic to be written. */
export interface Follower extends Disposable {
  /**
   * Resolves when rows were written since the last call, or since the follower was created. Also resolves after the
   * next poll interval, after `atMostMs`, or when the signal aborts. Never rejects.
   * @returns whether rows were written, or may have been while the connection for events was lost.
   */
  next(signal: AbortSignal, atMostMs?: number): Promise<boolean>;
}

export interface LiveTopicsOptions {
  /** Minimum time between two events of one topic. */
  publishIntervalMs?: number;
  /**
   * Maximum wait of the first, second and further calls of `next`; the last interval repeats. The short first intervals
   * cover the time until all processes know of the interest; the long ones cover lost events.
   */
  pollIntervalsMs?: readonly number[];
  /** Expiry of the interest of another process. Each process renews its interest three times in this time. */
  interestMs?: number;
}

const interestTopic = 'live-interest';
/** Topics that one event names: its size is limited. */
const topicsPerEvent = 50;

/**
 * Wakes the followers of a topic in all processes when rows of the topic are committed. A write without followers
 * publishes nothing: processes announce the topics that they follow, and other processes publish only these topics.
 */
export class LiveTopics implements Disposable {
  readonly #events: Events;
  readonly #options: Required<LiveTopicsOptions>;
  readonly #local = new Map<string, Set<() => void>>();
  /** By topic: the expiry of the interest of other processes. */
  readonly #interest = new Map<string, number>();
  /** Topics that were published within the last interval, and whether rows were written since. */
  readonly #throttled = new Map<string, { again: boolean; timer: NodeJS.Timeout }>();
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
      events.subscribe(interestTopic, ({ topics, asks }) => {
        const until = performance.now() + this.#options.interestMs;
        for (const topic of Array.isArray(topics) ? topics : [])
          if (typeof topic === 'string') this.#interest.set(topic, until);
        if (asks === true) this.#announce([...this.#local.keys()]);
      }),
      events.onReconnect(() => {
        this.#local.forEach((wakes) => wakes.forEach((wake) => wake()));
        // Other processes may have announced theirs meanwhile.
        this.#askOthers();
      }),
    ];
    this.#askOthers();
    this.#renewal = setInterval(() => this.#renew(), this.#options.interestMs / 3);
    this.#renewal.unref();
  }

  /** Called after each commit that changed rows of a topic. */
  changed(topic: string): void {
    if (!this.#local.has(topic) && (this.#interest.get(topic) ?? 0) < performance.now()) return;
    const throttled = this.#throttled.get(topic);
    if (throttled === undefined) this.#publish(topic);
    else throttled.again = true;
  }

  /** Starts to follow a topic. Call it before the first read, so that no row is missed. */
  follow(topic: string): Follower {
    let pending = false;
    let resolve: (() => void) | undefined;
    let calls = 0;
    const wake = () => {
      pending = true;
      resolve?.();
    };
    const wakes = this.#local.get(topic) ?? new Set();
    if (wakes.size === 0) this.#local.set(topic, wakes);
    wakes.add(wake);
    const subscription = this.#events.subscribe(topicOf(topic), wake);
    this.#announce([topic]);
    const { pollIntervalsMs } = this.#options;
    return {
      async next(signal, atMostMs = Number.POSITIVE_INFINITY) {
        const waitMs = Math.min(pollIntervalsMs[Math.min(calls, pollIntervalsMs.length - 1)] as number, atMostMs);
        calls += 1;
        if (!pending && !signal.aborted) {
          const woken = Promise.withResolvers<void>();
          resolve = woken.resolve;
          const timer = setTimeout(woken.resolve, waitMs);
          signal.addEventListener('abort', woken.resolve as () => void, { once: true });
          await woken.promise;
          clearTimeout(timer);
          signal.removeEventListener('abort', woken.resolve as () => void);
          resolve = undefined;
        }
        const wasWoken = pending;
        pending = false;
        return wasWoken;
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
    for (const { timer } of this.#throttled.values()) clearTimeout(timer);
    for (const owned of this.#owned) owned[Symbol.dispose]();
  }

  #publish(topic: string): void {
    const timer = setTimeout(() => {
      const again = this.#throttled.get(topic)?.again === true;
      this.#throttled.delete(topic);
      if (again) this.#publish(topic);
    }, this.#options.publishIntervalMs);
    this.#throttled.set(topic, { again: false, timer });
    this.#events.publish(topicOf(topic), {});
  }

  #renew(): void {
    const now = performance.now();
    for (const [topic, until] of this.#interest) if (until < now) this.#interest.delete(topic);
    this.#announce([...this.#local.keys()]);
  }

  /** Tells other processes which topics this process follows. */
  #announce(topics: string[]): void {
    for (let from = 0; from < topics.length; from += topicsPerEvent)
      this.#events.publish(interestTopic, { topics: topics.slice(from, from + topicsPerEvent) });
  }

  #askOthers(): void {
    this.#events.publish(interestTopic, { asks: true });
  }
}

const topicOf = (topic: string) => `live:${topic}`;
