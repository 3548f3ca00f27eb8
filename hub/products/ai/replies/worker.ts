import { AsyncResource } from 'node:async_hooks';
import type { Database } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { chatTopicFamily } from '../../chat/changes/index.ts';
import type { ChatChange } from '../../chat/changes/index.ts';
import { TurnOvertaken } from './answer-turn.ts';
import type { TurnAnswerer, TurnUnderWay } from './answer-turn.ts';
import { claimTurns, isStillOfAi, leaseSeconds, renewTurns, returnTurn } from './turn-store.ts';
import type { Turn } from './turn-store.ts';

/** Turns that a process has under way: they wait for models, most of the time. */
const mostUnderWay = 256;
/** How often a process looks for what is due, in milliseconds: what others left, and what it was not told of. */
const lookMs = 1_000;
/** Wakings within so long are one, in milliseconds. */
const slotMs = 50;

/** Topic on which the processes that take messages tell those that answer of what will be due. */
export const turnsTopic = 'ai-turns';

export interface ReplyWorkerDependencies {
  db: Database;
  events: Events;
  logger: Logger;
  answerer: Pick<TurnAnswerer, 'answer'>;
  /** Turns that a process has under way at most; for tests. */
  places?: number;
}

interface Entry extends TurnUnderWay {
  abort: AbortController;
}

type Told = (ChatChange & { conversationId: string }) | { kind: 'presence'; presence: string };

/**
 * Answers visitors who wait for the AI agent, until it is disposed. It holds nothing that is not in the database: what it leased and did not end is due
 * again when its lease is over, for whichever process looks.
 */
export class ReplyWorker implements AsyncDisposable {
  readonly #deps: ReplyWorkerDependencies;
  readonly #entries = new Map<string, Entry>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #wakings = new Map<number, NodeJS.Timeout>();
  readonly #subscriptions: Disposable[];
  readonly #timers: NodeJS.Timeout[];
  #look: Promise<void> | null = null;
  #looksAgain = false;
  #isStopping = false;
  /** Whoever wakes it may be in a transaction that others join; what it does is in none of theirs. */
  readonly #context = new AsyncResource('ReplyWorker');

  constructor(dependencies: ReplyWorkerDependencies) {
    this.#deps = dependencies;
    this.#subscriptions = [
      dependencies.events.subscribe(turnsTopic, ({ waitMs }) => this.wake(Number(waitMs))),
      dependencies.events.subscribeFamily(chatTopicFamily, (tenantId, payload) =>
        this.#hear(tenantId, payload as unknown as Told),
      ),
    ];
    this.#timers = [
      setInterval(() => this.#lookForDue(), lookMs),
      setInterval(() => void this.#renew(), (leaseSeconds * 1_000) / 4),
    ];
    this.#lookForDue();
  }

  /** Takes it that something is due in so many milliseconds. */
  wake(waitMs: number): void {
    if (this.#isStopping || !Number.isFinite(waitMs)) return;
    const slot = Math.ceil((performance.now() + Math.max(0, waitMs)) / slotMs);
    if (this.#wakings.has(slot)) return;
    this.#context.runInAsyncScope(() => {
      const timer = setTimeout(
        () => {
          this.#wakings.delete(slot);
          this.#lookForDue();
        },
        Math.max(0, slot * slotMs - performance.now()),
      );
      this.#wakings.set(slot, timer);
    });
  }

  /** Gives back what is under way: another process begins it anew. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    for (const timer of [...this.#timers, ...this.#wakings.values()]) clearTimeout(timer);
    for (const subscription of this.#subscriptions) subscription[Symbol.dispose]();
    for (const { abort } of this.#entries.values()) abort.abort(new Error('the hub stops'));
    await this.#look;
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #lookForDue(): void {
    if (this.#isStopping) return;
    if (this.#look !== null) {
      this.#looksAgain = true;
      return;
    }
    this.#looksAgain = false;
    this.#look = this.#claim().finally(() => {
      this.#look = null;
      if (this.#looksAgain) this.#lookForDue();
    });
  }

  async #claim(): Promise<void> {
    const { db, logger } = this.#deps;
    // Whichever turn ends looks again.
    const room = (this.#deps.places ?? mostUnderWay) - this.#entries.size;
    if (room <= 0) return;
    try {
      for (const turn of await claimTurns(db, room)) this.#begin(turn);
      logRecovery(logger, 'look for visitors who wait');
    } catch (error) {
      logger.warn(
        { err: error, part: 'look for visitors who wait' },
        'a look for visitors who wait failed; it comes again',
      );
    }
  }

  #begin(turn: Turn): void {
    // A turn of the same conversation, which this one has overtaken.
    this.#entries.get(turn.conversationId)?.abort.abort(new TurnOvertaken());
    const abort = new AbortController();
    const entry: Entry = { turn, abort, signal: abort.signal, knownSeq: null, mode: null };
    this.#entries.set(turn.conversationId, entry);
    if (this.#isStopping) abort.abort(new Error('the hub stops'));
    const work = this.#answer(entry).finally(() => {
      this.#underWay.delete(work);
      if (this.#entries.get(turn.conversationId) === entry) this.#entries.delete(turn.conversationId);
      this.#lookForDue();
    });
    this.#underWay.add(work);
  }

  async #answer(entry: Entry): Promise<void> {
    const { db, logger, answerer } = this.#deps;
    const { turn } = entry;
    try {
      entry.signal.throwIfAborted();
      const ended = await answerer.answer(entry);
      logger.debug(
        { tenantId: turn.tenantId, conversationId: turn.conversationId, ended },
        'a turn of the AI agent ended',
      );
      logRecovery(logger, 'replies of the AI agent');
    } catch (error) {
      if (this.#isStopping) {
        await db.workspace(turn.tenantId, (tx) => returnTurn(tx, turn)).catch(() => undefined);
        return;
      }
      if (error instanceof TurnOvertaken) return;
      // Its lease ends, and it is begun anew.
      logger.warn(
        { err: error, part: 'replies of the AI agent', tenantId: turn.tenantId, conversationId: turn.conversationId },
        'a visitor could not be answered; it is tried again',
      );
    }
  }

  async #renew(): Promise<void> {
    const entries = [...this.#entries.values()];
    if (entries.length === 0) return;
    try {
      const held = await renewTurns(
        this.#deps.db,
        entries.map(({ turn }) => turn),
      );
      for (const { turn, abort } of entries) if (!held.has(turn.conversationId)) abort.abort(new TurnOvertaken());
    } catch (error) {
      this.#deps.logger.debug({ err: error }, 'leases of the AI agent could not be renewed; the next beat does');
    }
  }

  /** Ends what a person, or a newer message, has overtaken; whether that is so, the end of the turn finds out. */
  #hear(tenantId: string, told: Told): void {
    if (told.kind === 'presence') {
      if (told.presence !== 'online') return;
      for (const { turn, abort, mode } of this.#entries.values())
        if (turn.tenantId === tenantId && mode === 'when_no_agent_online') abort.abort(new TurnOvertaken());
      return;
    }
    const entry = this.#entries.get(told.conversationId);
    if (entry === undefined || entry.turn.tenantId !== tenantId || entry.knownSeq === null) return;
    const isNews =
      told.kind === 'removed' || (told.kind === 'message' && told.seq !== null && told.seq > entry.knownSeq);
    if (isNews) entry.abort.abort(new TurnOvertaken());
    else if (told.kind === 'conversation' && entry.mode !== 'shadow') void this.#lookAt(entry);
  }

  async #lookAt({ turn, abort }: Entry): Promise<void> {
    try {
      if (!(await isStillOfAi(this.#deps.db, turn))) abort.abort(new TurnOvertaken());
    } catch (error) {
      this.#deps.logger.debug({ err: error }, 'a conversation of the AI agent could not be looked at; its end does');
    }
  }
}
