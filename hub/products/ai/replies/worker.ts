import { AsyncResource } from 'node:async_hooks';
import type { Database } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { background } from '../../../platform/process/background.ts';
import { chatTopicFamily } from '../../chat/changes/index.ts';
import type { ChatChange } from '../../chat/changes/index.ts';
import { TurnSuperseded } from './answer-turn.ts';
import type { TurnAnswerer, ActiveTurn } from './answer-turn.ts';
import { claimTurns, isOwnedByAi, leaseSeconds, renewTurns, requeueTurn } from './turn-store.ts';
import type { Turn } from './turn-store.ts';

/** Concurrent turns per process. They mostly wait for models. */
const defaultMaxConcurrentTurns = 256;
/** Poll interval for turns that stopped processes left behind and for lost events. */
const pollIntervalMs = 1_000;
/** Wake-ups within this time are merged. */
const wakeSlotMs = 50;

/** Topic on which processes that receive messages notify processes with a worker about future turns. */
export const turnsTopic = 'ai-turns';

export interface ReplyWorkerDependencies {
  db: Database;
  events: Events;
  logger: Logger;
  answerer: Pick<TurnAnswerer, 'answer'>;
  /** Concurrent turns of this process. For tests. */
  maxConcurrentTurns?: number;
}

interface RunningTurn extends ActiveTurn {
  abort: AbortController;
}

type ChatNotice = (ChatChange & { conversationId: string }) | { kind: 'presence'; presence: string };

/**
 * Answers visitors who wait for the AI agent, until disposed.
 * All state is in the database: a turn whose lease expires becomes due again for any process.
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
  /** Runs timers outside the async context of the caller, so that turns do not join the caller's transaction. */
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
      setInterval(
        () => background(this.#renew(), this.#deps.logger, 'renewal of the leases of AI turns'),
        (leaseSeconds * 1_000) / 4,
      ),
    ];
    this.#claimDue();
  }

  /** Claims due turns after `waitMs`. */
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

  /** Releases the turns in progress, so that another process can start them again. */
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
    // Every turn that ends claims again.
    const freeSlots = (this.#deps.maxConcurrentTurns ?? defaultMaxConcurrentTurns) - this.#activeTurns.size;
    if (freeSlots <= 0) return;
    try {
      for (const turn of await claimTurns(db, freeSlots)) this.#start(turn);
      logRecovery(logger, 'claim AI turns');
    } catch (error) {
      logger.warn({ err: error, part: 'claim AI turns' }, 'AI turns could not be claimed; the next poll retries');
    }
  }

  #start(turn: Turn): void {
    // The new turn supersedes an older turn of the same conversation.
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
      logger.debug({ tenantId: turn.tenantId, conversationId: turn.conversationId, result }, 'an AI turn ended');
      logRecovery(logger, 'AI replies');
    } catch (error) {
      if (this.#isStopping) {
        await db.workspace(turn.tenantId, (tx) => requeueTurn(tx, turn)).catch(() => undefined);
        return;
      }
      if (error instanceof TurnSuperseded) return;
      // The lease expires, and the turn becomes due again.
      logger.warn(
        { err: error, part: 'AI replies', tenantId: turn.tenantId, conversationId: turn.conversationId },
        'an AI turn failed; it is retried when its lease expires',
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
      this.#deps.logger.debug({ err: error }, 'leases of AI turns could not be renewed; the next interval retries');
    }
  }

  /** Aborts turns that a person or a newer message may have superseded. The committer makes the final decision. */
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
    else if (notice.kind === 'conversation' && running.mode !== 'shadow')
      background(this.#checkOwner(running), this.#deps.logger, 'check of the owner of a conversation');
  }

  async #checkOwner({ turn, abort }: RunningTurn): Promise<void> {
    try {
      if (!(await isOwnedByAi(this.#deps.db, turn))) abort.abort(new TurnSuperseded());
    } catch (error) {
      this.#deps.logger.debug({ err: error }, 'the owner of a conversation was not checked; the commit checks it');
    }
  }
}
