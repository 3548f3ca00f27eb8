import type { ToolUse } from '../../../../shared/contract/chat/ai-settings.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { ConversationRow } from '../../chat/conversations/index.ts';
import type { Chat } from '../../chat/index.ts';
import { readAiSettingsAuthors } from '../../chat/settings/index.ts';
import { readModelAuthors } from '../models/index.ts';
import type { Ask, ReplyActions } from './faces.ts';
import type { Reply } from './reply.ts';
import { isItsOwn, readStanding } from './situation.ts';
import type { Situation, Standing } from './situation.ts';
import { countDay, endTurn, holdTurn, keepTurn, returnTurn } from './turn-store.ts';
import type { Turn } from './turn-store.ts';

/** Why a conversation goes to people, with what was called and would have been done before. */
interface HandOver {
  code: string;
  text: string;
  language?: string;
  tools?: readonly ToolUse[];
  asks?: readonly Ask[];
}

/** What is to come of a turn. */
export type TurnOutcome =
  | { kind: 'reply'; reply: Reply; messageId: string }
  | { kind: 'suggest'; reply: Reply }
  | ({ kind: 'hand-over' } & HandOver)
  /** Nothing is said. */
  | { kind: 'drop' }
  /** Something happened meanwhile: it begins anew where the conversation still is the AI's. */
  | { kind: 'again' };

/** What came of it; `silent` where nothing had to be said, `overtaken` where a newer message of the visitor, or another process, has the turn. */
export type EndedTurn =
  | 'replied'
  | 'suggested'
  | 'handed over'
  | 'released'
  | 'dropped'
  | 'silent'
  | 'again'
  | 'overtaken';

export interface Usage {
  inputTokens: number;
  outputTokens: number;
}

/** What it would have done can't be put to a person now, such as for want of room. */
class AskRefused extends Error {}

type Ended = { ended: EndedTurn; committed: (() => void)[] };

const actor = { actor: 'ai', environment: null };

export interface TurnEnderDependencies {
  db: Database;
  chat: Pick<Chat, 'writers' | 'suggestions'>;
  actions: ReplyActions;
}

/**
 * Ends turns: under the lock of the conversation it is looked again whether nobody wrote, was assigned, came online or closed it, and whether the turn still is
 * whose it was; then all that it leads to is written, or none of it.
 */
export class TurnEnder {
  readonly #db: Database;
  readonly #chat: TurnEnderDependencies['chat'];
  readonly #actions: ReplyActions;

  constructor({ db, chat, actions }: TurnEnderDependencies) {
    this.#db = db;
    this.#chat = chat;
    this.#actions = actions;
  }

  async end(turn: Turn, situation: Situation, outcome: TurnOutcome, usage: Usage): Promise<EndedTurn> {
    const { tenantId, conversationId } = turn;
    const work = this.#db.workspace(tenantId, async (tx) => {
      // Sent at once: what stands behind the lock sees what was committed before it was ours.
      const [conversation, isHeld, standing] = await Promise.all([
        this.#chat.writers.conversations.lock(tx, conversationId),
        holdTurn(tx, turn),
        readStanding(tx, tenantId),
      ]);
      if (!isHeld) return { ended: 'overtaken', committed: [] } satisfies Ended;
      const done = await this.#decide(tx, turn, situation, conversation, standing, outcome, usage);
      await Promise.all([
        done.ended === 'again' || done.ended === 'silent' ? null : endTurn(tx, turn),
        done.ended === 'replied' || usage.inputTokens + usage.outputTokens === 0 ? null : countDay(tx, tenantId, usage),
      ]);
      return done;
    });
    // It was erased meanwhile, and the turn with it.
    const { ended, committed } = await work.catch(async (error: unknown): Promise<Ended> => {
      if (error instanceof AppError && error.code === 'not_found') return { ended: 'dropped', committed: [] };
      if (error instanceof AskRefused) {
        const text = `what it would have done could not be put to an approval: ${error.message.replace(/\.$/, '')}`;
        const tools = 'reply' in outcome ? outcome.reply.tools : 'tools' in outcome ? outcome.tools : [];
        const handOver: TurnOutcome = { kind: 'hand-over', code: 'approval_refused', text, tools };
        return { ended: await this.end(turn, situation, handOver, usage), committed: [] };
      }
      throw error;
    });
    for (const tell of committed) tell();
    return ended;
  }

  async #decide(
    tx: Transaction,
    turn: Turn,
    situation: Situation,
    conversation: ConversationRow,
    standing: Standing,
    outcome: TurnOutcome,
    usage: Usage,
  ): Promise<Ended> {
    const hasMore = conversation.last_seq !== situation.conversation.last_seq;
    if (outcome.kind === 'suggest') {
      // It had this one before its workspace had it suggest only.
      const left = conversation.owner === 'ai' ? await this.#release(tx, turn, conversation) : null;
      const suggested: Ended = standing.isActive
        ? await this.#suggest(tx, turn, conversation, outcome.reply, hasMore)
        : { ended: 'dropped', committed: [] };
      return { ...suggested, committed: [...suggested.committed, ...(left?.committed ?? [])] };
    }
    const isOpen = conversation.status === 'open' || conversation.status === 'pending';
    if (conversation.owner !== 'ai' || !isOpen) return { ended: 'dropped', committed: [] };
    if (!isItsOwn(standing)) return this.#release(tx, turn, conversation);
    if (outcome.kind === 'again' || (hasMore && outcome.kind !== 'hand-over')) {
      await returnTurn(tx, turn);
      return { ended: 'again', committed: [] };
    }
    if (outcome.kind === 'drop') {
      await keepTurn(tx, turn);
      return { ended: 'silent', committed: [] };
    }
    if (outcome.kind === 'hand-over') return this.#handOver(tx, turn, conversation, outcome);
    const [, isWithin] = await Promise.all([
      // As a hand-over does, which is what becomes of it where the day is used up, and the day is locked then, too.
      this.#chat.writers.assignment.lock(tx, turn.tenantId, turn.conversationId, 'returning'),
      countDay(tx, turn.tenantId, { replies: 1, ...usage }, standing.settings.dailyReplyBudget),
    ]);
    const { content, sources, tools, asks } = outcome.reply;
    if (!isWithin) {
      const text = 'the replies of today are used up';
      return this.#handOver(tx, turn, conversation, { code: 'budget', text, tools, asks });
    }
    const written = await this.#chat.writers.messages.write(
      tx,
      turn.tenantId,
      turn.conversationId,
      // One for each message that it answers, whatever else goes wrong.
      {
        id: outcome.messageId,
        content,
        sources,
        tools,
        senderType: 'ai',
        senderId: null,
        clientId: `ai:${turn.seq}:${conversation.last_seq}`,
      },
      actor,
    );
    return { ended: 'replied', committed: [written.committed, ...(await this.#ask(tx, turn, conversation, asks))] };
  }

  async #suggest(
    tx: Transaction,
    { tenantId, conversationId }: Turn,
    { last_seq: seq, status }: ConversationRow,
    { content, action, reason, sources, tools }: Reply,
    hasMore: boolean,
  ): Promise<Ended> {
    // Somebody has replied, or the visitor will be answered anew.
    if (hasMore || status === 'closed') return { ended: 'dropped', committed: [] };
    const [written] = await Promise.all([
      this.#chat.suggestions.write(tx, tenantId, {
        conversationId,
        content,
        action,
        reason,
        sources,
        tools,
        seq,
        origin: 'shadow',
      }),
      countDay(tx, tenantId, { suggestions: 1 }),
    ]);
    return { ended: 'suggested', committed: [written.committed] };
  }

  async #handOver(
    tx: Transaction,
    turn: Turn,
    conversation: ConversationRow,
    { asks = [], tools = [], text, ...reason }: HandOver,
  ): Promise<Ended> {
    const { tenantId } = turn;
    const why = { ...reason, text: `${text}${toolsIn(tools)}` };
    const told = await this.#chat.writers.handOver.write(tx, tenantId, conversation, why, actor);
    await countDay(tx, tenantId, { handOvers: 1 });
    return { ended: 'handed over', committed: [told, ...(await this.#ask(tx, turn, conversation, asks))] };
  }

  /** Puts what the AI agent would have done to people, and says so to those of the conversation. */
  async #ask(
    tx: Transaction,
    { tenantId, conversationId }: Turn,
    { environment }: ConversationRow,
    asks: readonly Ask[],
  ): Promise<(() => void)[]> {
    if (asks.length === 0) return [];
    const committed: (() => void)[] = [];
    const authoredBy = [...(await readAiSettingsAuthors(tx, tenantId)), ...(await readModelAuthors(tx, tenantId))];
    for (const { skillId, input } of asks) {
      const asked = this.#actions.ask(tx, tenantId, {
        skillId,
        input,
        conversationId,
        environment,
        authoredBy,
      });
      committed.push(
        await asked.catch((error: unknown) => {
          throw error instanceof AppError ? new AskRefused(error.message, { cause: error }) : error;
        }),
      );
    }
    const titles = asks.map(({ title }) => title).join(', ');
    const note = await this.#chat.writers.messages.write(
      tx,
      tenantId,
      conversationId,
      {
        content: `The AI agent asks for an approval: ${titles}. Nothing is done before a person decides, under approvals; tell the visitor what comes of it.`,
        private: true,
        senderType: 'ai',
        senderId: null,
      },
      actor,
    );
    return [...committed, note.committed];
  }

  /** Leaves a conversation to people without a word: one of them is there, or the workspace has taken it from the AI. */
  async #release(tx: Transaction, { tenantId }: Turn, conversation: ConversationRow): Promise<Ended> {
    const { conversations, assignment } = this.#chat.writers;
    const changed = await conversations.change(tx, tenantId, conversation.id, { owner: null }, actor);
    const assigned = await assignment.auto(tx, tenantId, changed.conversation);
    return { ended: 'released', committed: [changed.committed, ...(assigned === null ? [] : [assigned.committed])] };
  }
}

/** What was called, for whoever takes over. */
const toolsIn = (tools: readonly ToolUse[]) =>
  tools.length === 0
    ? ''
    : `; tools that it called: ${tools.map(({ name, outcome }) => `${name === '' ? 'one that there is not' : name} (${outcome.replaceAll('_', ' ')})`).join(', ')}`;
