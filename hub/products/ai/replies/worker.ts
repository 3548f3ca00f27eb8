import { AsyncResource } from 'node:async_hooks';
import type { Database } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { chatTopicFamily } from '../../chat/changes/index.ts';
import type { ChatChange } from '../../chat/changes/index.ts';
import { TurnSuperseded } from './answer-turn.ts';
import type { TurnAnswerer, ActiveTurn } from './answer-turn.ts';
import { claimTurns, isOwnedByAi, leaseSeconds, renewTurns, requeueTurn } from './turn-store.ts';
import type { Turn } from './turn-store.ts';

/** Turns that a process has under way: they wait for models, most of the time. */
const defaultMaxConcurrentTurns = 256;
/** How often a process looks for what is due, in milliseconds: what others left, and what it was not told of. */
const pollIntervalMs = 1_000;
/** Wakings within so long are one, in milliseconds. */
const wakeSlotMs = 50;

/** Topic on which the processes that take messages tell those that answer of what will be due. */
export const turnsTopic = 'ai-turns';

export interface ReplyWorkerDependencies {
  db: Database;
  events: Events;
  logger: Logger;
  answerer: Pick<TurnAnswerer, 'answer'>;
  /** Turns that a process has under way at most; for tests. */
  maxConcurrentTurns?: number;
}

interface RunningTurn extends ActiveTurn {
  abort: AbortController;
}

type ChatNotice = (ChatChange & { conversationId: string }) | { kind: 'presence'; presence: string };

/**
 * Answers visitors who wait for the AI agent, until it is disposed. It holds nothing that is not in the database: what it leased and did not end is due
 * again when its lease is over, for whichever process looks.
 */
export class ReplyWorker implements AsyncDisposable {
  readonly #deps: ReplyWorkerDependencies;
  readonly #activeTurns = new Map<string, RunningTurn>();
  readonly #running = new Set<Promise<void>>();
  readonly #wakeTimers = new Map<number, NodeJS.Timeout>();
  readonly #subscriptions: Disposable[];
  readonly #timers: NodeJS.Timeout[];
  #claiming: Promise<void> | null = null;
  #claimAgain = false;
  #isStopping = false;
  /** Whoever wakes it may be in a transaction that others join; what it does is in none of theirs. */
  readonly #context = new AsyncResource('ReplyWorker');

  constructor(dependencies: ReplyWorkerDependencies) {
    this.#deps = dependencies;
    this.#subscriptions = [
      dependencies.events.subscribe(turnsTopic, ({ waitMs }) => this.wake(Number(waitMs))),
      dependencies.events.subscribeFamily(chatTopicFamily, (tenantId, payload) =>
        this.#onChatNotice(tenantId, payload as unknown as ChatNotice),
      ),
    ];
    this.#timers = [
      setInterval(() => this.#claimDue(), pollIntervalMs),
      setInterval(() => void this.#renew(), (leaseSeconds * 1_000) / 4),
    ];
    this.#claimDue();
  }

  /** Takes it that something is due in so many milliseconds. */
  wake(waitMs: number): void {
    if (this.#isStopping || !Number.isFinite(waitMs)) return;
    const slot = Math.ceil((performance.now() + Math.max(0, waitMs)) / wakeSlotMs);
    if (this.#wakeTimers.has(slot)) return;
    this.#context.runInAsyncScope(() => {
      const timer = setTimeout(
        () => {
          this.#wakeTimers.delete(slot);
          this.#claimDue();
        },
        Math.max(0, slot * wakeSlotMs - performance.now()),
      );
      this.#wakeTimers.set(slot, timer);
    });
  }

  /** Gives back what is under way: another process begins it anew. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    for (const timer of [...this.#timers, ...this.#wakeTimers.values()]) clearTimeout(timer);
    for (const subscription of this.#subscriptions) subscription[Symbol.dispose]();
    for (const { abort } of this.#activeTurns.values()) abort.abort(new Error('the hub stops'));
    await this.#claiming;
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #claimDue(): void {
    if (this.#isStopping) return;
    if (this.#claiming !== null) {
      this.#claimAgain = true;
      return;
    }
    this.#claimAgain = false;
    this.#claiming = this.#claim().finally(() => {
      this.#claiming = null;
      if (this.#claimAgain) this.#claimDue();
    });
  }

  async #claim(): Promise<void> {
    const { db, logger } = this.#deps;
    // Whichever turn ends looks again.
    const freeSlots = (this.#deps.maxConcurrentTurns ?? defaultMaxConcurrentTurns) - this.#activeTurns.size;
    if (freeSlots <= 0) return;
    try {
      for (const turn of await claimTurns(db, freeSlots)) this.#start(turn);
      logRecovery(logger, 'look for visitors who wait');
    } catch (error) {
      logger.warn(
        { err: error, part: 'look for visitors who wait' },
        'a look for visitors who wait failed; it comes again',
      );
    }
  }

  #start(turn: Turn): void {
    // A turn of the same conversation, which this one has overtaken.
    this.#activeTurns.get(turn.conversationId)?.abort.abort(new TurnSuperseded());
    const abort = new AbortController();
    const running: RunningTurn = { turn, abort, signal: abort.signal, knownSeq: null, mode: null };
    this.#activeTurns.set(turn.conversationId, running);
    if (this.#isStopping) abort.abort(new Error('the hub stops'));
    const work = this.#answer(running).finally(() => {
      this.#running.delete(work);
      if (this.#activeTurns.get(turn.conversationId) === running) this.#activeTurns.delete(turn.conversationId);
      this.#claimDue();
    });
    this.#running.add(work);
  }

  async #answer(running: RunningTurn): Promise<void> {
    const { db, logger, answerer } = this.#deps;
    const { turn } = running;
    try {
      running.signal.throwIfAborted();
      const result = await answerer.answer(running);
      logger.debug(
        { tenantId: turn.tenantId, conversationId: turn.conversationId, result },
        'a turn of the AI agent ended',
      );
      logRecovery(logger, 'replies of the AI agent');
    } catch (error) {
      if (this.#isStopping) {
        await db.workspace(turn.tenantId, (tx) => requeueTurn(tx, turn)).catch(() => undefined);
        return;
      }
      if (error instanceof TurnSuperseded) return;
      // Its lease ends, and it is begun anew.
      logger.warn(
        { err: error, part: 'replies of the AI agent', tenantId: turn.tenantId, conversationId: turn.conversationId },
        'a visitor could not be answered; it is tried again',
      );
    }
  }

  async #renew(): Promise<void> {
    const active = [...this.#activeTurns.values()];
    if (active.length === 0) return;
    try {
      const renewed = await renewTurns(
        this.#deps.db,
        active.map(({ turn }) => turn),
      );
      for (const { turn, abort } of active) if (!renewed.has(turn.conversationId)) abort.abort(new TurnSuperseded());
    } catch (error) {
      this.#deps.logger.debug({ err: error }, 'leases of the AI agent could not be renewed; the next beat does');
    }
  }

  /** Ends what a person, or a newer message, has overtaken; whether that is so, the end of the turn finds out. */
  #onChatNotice(tenantId: string, notice: ChatNotice): void {
    if (notice.kind === 'presence') {
      if (notice.presence !== 'online') return;
      for (const { turn, abort, mode } of this.#activeTurns.values())
        if (turn.tenantId === tenantId && mode === 'when_no_agent_online') abort.abort(new TurnSuperseded());
      return;
    }
    const running = this.#activeTurns.get(notice.conversationId);
    if (running === undefined || running.turn.tenantId !== tenantId || running.knownSeq === null) return;
    const isSuperseded =
      notice.kind === 'removed' || (notice.kind === 'message' && notice.seq !== null && notice.seq > running.knownSeq);
    if (isSuperseded) running.abort.abort(new TurnSuperseded());
    else if (notice.kind === 'conversation' && running.mode !== 'shadow') void this.#checkOwner(running);
  }

  async #checkOwner({ turn, abort }: RunningTurn): Promise<void> {
    try {
      if (!(await isOwnedByAi(this.#deps.db, turn))) abort.abort(new TurnSuperseded());
    } catch (error) {
      this.#deps.logger.debug({ err: error }, 'a conversation of the AI agent could not be looked at; its end does');
    }
  }
}
