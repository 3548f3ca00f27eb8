import type { AiMode } from '../../../../shared/contract/chat/ai-settings.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import type { ChatWriters } from '../../chat/index.ts';
import { Deltas } from './deltas.ts';
import type { EndedTurn, TurnEnder, TurnOutcome, Usage } from './end-turn.ts';
import type { Reply, ReplyComposer } from './reply.ts';
import { isItsOwn, readSituation, unanswered } from './situation.ts';
import type { Situation } from './situation.ts';
import type { Turn } from './turn-store.ts';
import { wishIn } from './wishes.ts';

/** Why a turn ends before its model has answered: somebody wrote, took the conversation, closed it or came. */
export class TurnOvertaken extends Error {}

/** What is known of a turn that is under way. */
export interface TurnUnderWay {
  turn: Turn;
  signal: AbortSignal;
  /** The newest message that the answer knows; null before it was read. */
  knownSeq: number | null;
  mode: AiMode | null;
}

/** For one turn, with the repair of a model's answer, in milliseconds. */
const turnMs = 65_000;
/** Tries of a turn that ended in the midst of it, such as with their process. */
const mostAttempts = 3;
const typingMs = 4_000;
/** Turns for which a model is asked, whatever becomes of them: of a conversation in an hour, and of a workspace in a day for each reply that it may give. */
const turnsOfConversation = { limit: 60, windowSeconds: 3_600 };
const turnsForReply = 3;
const daySeconds = 86_400;

const nothing = { inputTokens: 0, outputTokens: 0 };

/** Answers a visitor who waits, or gives them to a person; whatever comes of it is one transaction. */
export class TurnAnswerer {
  readonly #db: Database;
  readonly #composer: ReplyComposer;
  readonly #ender: TurnEnder;
  readonly #changes: ChatWriters['changes'];
  readonly #rateLimiter: RateLimiter;

  constructor(deps: {
    db: Database;
    rateLimiter: RateLimiter;
    composer: ReplyComposer;
    ender: TurnEnder;
    changes: ChatWriters['changes'];
  }) {
    this.#db = deps.db;
    this.#rateLimiter = deps.rateLimiter;
    this.#composer = deps.composer;
    this.#ender = deps.ender;
    this.#changes = deps.changes;
  }

  /** @throws the signal's reason where the process stops; whatever keeps it from being done now. */
  async answer(underWay: TurnUnderWay): Promise<EndedTurn> {
    const { turn, signal } = underWay;
    const situation = await this.#db.read(turn.tenantId, (tx) => readSituation(tx, turn.tenantId, turn.conversationId));
    if (situation === null) return 'dropped';
    underWay.knownSeq = situation.conversation.last_seq;
    underWay.mode = situation.settings.mode;
    const decided = decide(situation, turn);
    if (decided !== null) return this.#ender.end(turn, situation, decided, nothing);
    if (!(await this.#mayAsk(turn, situation))) {
      const code = 'budget';
      const text = 'models were asked too often';
      const spent: TurnOutcome =
        situation.settings.mode === 'shadow' ? { kind: 'drop' } : { kind: 'hand-over', code, text };
      return this.#ender.end(turn, situation, spent, nothing);
    }
    return this.#ask(turn, situation, signal);
  }

  /** A call costs, also where a newer message overtakes it or it leads to no reply. */
  async #mayAsk({ tenantId, conversationId }: Turn, { settings }: Situation): Promise<boolean> {
    const limit = Math.max(1, settings.dailyReplyBudget * turnsForReply);
    const states = await Promise.all([
      this.#rateLimiter.take(`ai-turns:${conversationId}`, turnsOfConversation),
      this.#rateLimiter.take(`ai-turns:${tenantId}`, { limit, windowSeconds: daySeconds }),
    ]);
    return states.every(({ allowed }) => allowed);
  }

  async #ask(turn: Turn, situation: Situation, stop: AbortSignal): Promise<EndedTurn> {
    const { tenantId, conversationId } = turn;
    const isShadow = situation.settings.mode === 'shadow';
    let messageId = newId();
    let deltas: Deltas | null = null;
    const begin = () => {
      if (deltas !== null) messageId = newId();
      deltas = new Deltas(this.#changes, tenantId, conversationId, messageId);
      return deltas;
    };
    const typing = isShadow ? null : this.#showTyping(tenantId, conversationId);
    let ended: EndedTurn | null = null;
    try {
      const { reply, usage } = await this.#compose(turn, situation, stop, isShadow ? null : begin);
      (deltas as Deltas | null)?.end();
      const outcome = 'kind' in reply ? reply : outcomeOf(reply, isShadow, messageId);
      ended = await this.#ender.end(turn, situation, outcome, usage);
      return ended;
    } finally {
      if (ended !== 'replied') (deltas as Deltas | null)?.drop();
      typing?.[Symbol.dispose]();
    }
  }

  /** A reply, or what comes of it that there is none. */
  async #compose(
    { tenantId }: Turn,
    situation: Situation,
    stop: AbortSignal,
    begin: (() => Deltas) | null,
  ): Promise<{ reply: Reply | TurnOutcome; usage: Usage }> {
    const tooLong = AbortSignal.timeout(turnMs);
    const failed = (text: string, code = 'model_failed'): TurnOutcome => ({ kind: 'hand-over', code, text });
    try {
      const signal = AbortSignal.any([stop, tooLong]);
      const { reply, usage } = await this.#composer.compose(tenantId, situation, signal, {
        deltas: begin,
        mayAct: situation.settings.mode !== 'shadow',
      });
      return { reply: reply ?? failed('the model gave no usable answer', 'no_usable_answer'), usage };
    } catch (error) {
      if (stop.reason instanceof TurnOvertaken) return { reply: { kind: 'again' }, usage: nothing };
      stop.throwIfAborted();
      const code = error instanceof AppError ? error.code : null;
      if (code === 'ai_budget_used_up') {
        const isShadow = situation.settings.mode === 'shadow';
        const spent = failed("today's budget for models is used up", 'budget');
        return { reply: isShadow ? { kind: 'drop' } : spent, usage: nothing };
      }
      if (code === 'ai_binding_not_configured') return { reply: failed('no model is configured'), usage: nothing };
      if (code !== 'inference_failed' && !tooLong.aborted) throw error;
      return { reply: failed('no model answered'), usage: nothing };
    }
  }

  #showTyping(tenantId: string, conversationId: string): Disposable {
    const say = (typing: boolean) =>
      this.#changes.publish(tenantId, conversationId, { kind: 'typing', who: 'ai', userId: null, name: null, typing });
    say(true);
    const timer = setInterval(() => say(true), typingMs);
    return {
      [Symbol.dispose]: () => {
        clearInterval(timer);
        say(false);
      },
    };
  }
}

function outcomeOf(reply: Reply, isShadow: boolean, messageId: string): TurnOutcome {
  if (isShadow) return { kind: 'suggest', reply };
  if (reply.action === 'ignore') return { kind: 'drop' };
  if (reply.action !== 'handoff') return { kind: 'reply', reply, messageId };
  const text = reply.reason === '' ? 'the AI agent asked for it' : `the AI agent says: ${reply.reason}`;
  const { tools, asks } = reply;
  return { kind: 'hand-over', code: 'model', text, tools, asks };
}

/** What comes of a turn without a model; null where one is to be asked. */
function decide(situation: Situation, turn: Turn): TurnOutcome | null {
  const { settings, conversation, messages, usedToday } = situation;
  const isSpent = usedToday >= settings.dailyReplyBudget;
  if (settings.mode === 'shadow') {
    const isOver = !situation.isActive || isSpent || turn.attempts > mostAttempts || unanswered(messages).length === 0;
    return isOver ? { kind: 'drop' } : null;
  }
  // What is not its own by now is found out as it ends.
  if (conversation.owner !== 'ai' || !isItsOwn(situation)) return { kind: 'drop' };
  const waiting = unanswered(messages).map(({ content }) => content);
  if (waiting.length === 0) return { kind: 'drop' };
  if (turn.attempts > mostAttempts)
    return { kind: 'hand-over', code: 'failed', text: 'answering failed again and again' };
  const wish = wishIn(waiting, settings.handoffKeywords);
  if (wish?.kind === 'person')
    return {
      kind: 'hand-over',
      code: 'asked_for_person',
      text: 'the visitor asked for a person',
      language: wish.language,
    };
  if (wish?.kind === 'keyword')
    return { kind: 'hand-over', code: 'keyword', text: `the visitor wrote the keyword "${wish.keyword}"` };
  if (conversation.ai_replies >= settings.maxRepliesPerConversation)
    return {
      kind: 'hand-over',
      code: 'most_replies',
      text: `${conversation.ai_replies} replies were given, and no more are allowed`,
    };
  if (isSpent) return { kind: 'hand-over', code: 'budget', text: 'the replies of today are used up' };
  return null;
}
