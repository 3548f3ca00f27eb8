import type { ToolUse } from '../../../../shared/contract/chat/ai-settings.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { ConversationRow } from '../../chat/conversations/index.ts';
import type { Chat } from '../../chat/index.ts';
import { readAiSettingsAuthors } from '../../chat/settings/index.ts';
import { readModelAuthors } from '../models/index.ts';
import type { ApprovalRequest, ReplyActions } from './ports.ts';
import { mayAiReply, readAiAvailability } from './reply-context.ts';
import type { ReplyContext, AiAvailability } from './reply-context.ts';
import type { Reply } from './reply.ts';
import { countDay, deleteTurn, lockTurn, markTurnDone, requeueTurn } from './turn-store.ts';
import type { Turn } from './turn-store.ts';

/** The reason for a hand-over to agents, with the tools called and the approvals requested before it. */
interface HandOver {
  code: string;
  text: string;
  language?: string;
  tools?: readonly ToolUse[];
  approvalRequests?: readonly ApprovalRequest[];
}

/** What a turn leads to, before the state of the conversation is checked again. */
export type TurnOutcome =
  | { kind: 'reply'; reply: Reply; messageId: string }
  | { kind: 'suggest'; reply: Reply }
  | ({ kind: 'hand-over' } & HandOver)
  /** No reply. */
  | { kind: 'drop' }
  /** Another event interrupted the turn. The turn is requeued if the conversation still belongs to the AI agent. */
  | { kind: 'restart' };

/**
 * The stored result. `silent`: no reply was needed. `superseded`: the lease is lost to a newer message of the visitor
 * or to another process, so nothing was stored.
 */
export type TurnResult =
  | 'replied'
  | 'suggested'
  | 'handed over'
  | 'released'
  | 'dropped'
  | 'silent'
  | 'requeued'
  | 'superseded';

export interface Usage {
  inputTokens: number;
  outputTokens: number;
}

/** An approval cannot be requested now, for example because a limit of the workspace is reached. */
class ApprovalRequestRefused extends Error {}

const actor = { actor: 'ai', environment: null };

export interface TurnCommitterDependencies {
  db: Database;
  chat: Pick<Chat, 'writers' | 'suggestions'>;
  actions: ReplyActions;
}

/**
 * Stores the outcome of a turn in one transaction. Under the lock of the conversation it first checks the lease, and
 * whether a message, an assignment, an agent or a closed conversation rules out the outcome.
 */
export class TurnCommitter {
  readonly #db: Database;
  readonly #chat: TurnCommitterDependencies['chat'];
  readonly #actions: ReplyActions;

  constructor({ db, chat, actions }: TurnCommitterDependencies) {
    this.#db = db;
    this.#chat = chat;
    this.#actions = actions;
  }

  async commit(turn: Turn, context: ReplyContext, outcome: TurnOutcome, usage: Usage): Promise<TurnResult> {
    const { tenantId, conversationId } = turn;
    const work = this.#db.workspace(tenantId, async (tx) => {
      // The statements are pipelined. Those after the lock see everything committed before the lock was acquired.
      const [conversation, isLocked, availability] = await Promise.all([
        this.#chat.writers.conversations.lock(tx, conversationId),
        lockTurn(tx, turn),
        readAiAvailability(tx, tenantId),
      ]);
      if (!isLocked) return 'superseded';
      const result = await this.#decide(tx, turn, context, conversation, availability, outcome, usage);
      await Promise.all([
        result === 'requeued' || result === 'silent' ? null : deleteTurn(tx, turn),
        result === 'replied' || usage.inputTokens + usage.outputTokens === 0 ? null : countDay(tx, tenantId, usage),
      ]);
      return result;
    });
    // `not_found`: the conversation was erased, and the turn with it.
    return work.catch((error: unknown): TurnResult | Promise<TurnResult> => {
      if (error instanceof AppError && error.code === 'not_found') return 'dropped';
      if (error instanceof ApprovalRequestRefused) {
        const text = `the approval of its action could not be requested: ${error.message.replace(/\.$/, '')}`;
        const tools = 'reply' in outcome ? outcome.reply.tools : 'tools' in outcome ? outcome.tools : [];
        const handOver: TurnOutcome = { kind: 'hand-over', code: 'approval_refused', text, tools };
        return this.commit(turn, context, handOver, usage);
      }
      throw error;
    });
  }

  async #decide(
    tx: Transaction,
    turn: Turn,
    context: ReplyContext,
    conversation: ConversationRow,
    availability: AiAvailability,
    outcome: TurnOutcome,
    usage: Usage,
  ): Promise<TurnResult> {
    const hasNewMessages = conversation.last_seq !== context.conversation.last_seq;
    if (outcome.kind === 'suggest') {
      // The AI agent owned this conversation before the workspace switched it to suggestions only.
      if (conversation.owner === 'ai') await this.#release(tx, turn, conversation);
      if (!availability.isActive) return 'dropped';
      return this.#suggest(tx, turn, conversation, outcome.reply, hasNewMessages);
    }
    const isOpen = conversation.status === 'open' || conversation.status === 'pending';
    if (conversation.owner !== 'ai' || !isOpen) return 'dropped';
    if (!mayAiReply(availability)) return this.#release(tx, turn, conversation);
    if (outcome.kind === 'restart' || (hasNewMessages && outcome.kind !== 'hand-over')) {
      await requeueTurn(tx, turn);
      return 'requeued';
    }
    if (outcome.kind === 'drop') {
      await markTurnDone(tx, turn);
      return 'silent';
    }
    if (outcome.kind === 'hand-over') return this.#handOver(tx, turn, conversation, outcome);
    const [, isWithinBudget] = await Promise.all([
      // A hand-over locks the assignment before the counts of the day. If the budget is used up, this reply becomes
      // one.
      this.#chat.writers.assignment.lock(tx, turn.tenantId, turn.conversationId, 'returning'),
      countDay(tx, turn.tenantId, { replies: 1, ...usage }, availability.settings.dailyReplyBudget),
    ]);
    const { content, sources, tools, approvalRequests } = outcome.reply;
    if (!isWithinBudget) {
      const text = 'the daily reply budget is used up';
      return this.#handOver(tx, turn, conversation, { code: 'budget', text, tools, approvalRequests });
    }
    await this.#chat.writers.messages.write(
      tx,
      turn.tenantId,
      turn.conversationId,
      // The `clientId` allows at most one reply per answered message.
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
    await this.#requestApprovals(tx, turn, conversation, approvalRequests);
    return 'replied';
  }

  async #suggest(
    tx: Transaction,
    { tenantId, conversationId }: Turn,
    { last_seq: seq, status }: ConversationRow,
    { content, action, reason, sources, tools }: Reply,
    hasNewMessages: boolean,
  ): Promise<TurnResult> {
    // An agent has replied, or another turn will answer the newer messages of the visitor.
    if (hasNewMessages || status === 'closed') return 'dropped';
    await Promise.all([
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
    return 'suggested';
  }

  async #handOver(
    tx: Transaction,
    turn: Turn,
    conversation: ConversationRow,
    { approvalRequests = [], tools = [], text, ...reason }: HandOver,
  ): Promise<TurnResult> {
    const { tenantId } = turn;
    const why = { ...reason, text: `${text}${describeCalledTools(tools)}` };
    await this.#chat.writers.handOver.write(tx, tenantId, conversation, why, actor);
    await countDay(tx, tenantId, { handOvers: 1 });
    await this.#requestApprovals(tx, turn, conversation, approvalRequests);
    return 'handed over';
  }

  /** Requests the approvals and adds a private note about them to the conversation. */
  async #requestApprovals(
    tx: Transaction,
    { tenantId, conversationId }: Turn,
    { environment }: ConversationRow,
    approvalRequests: readonly ApprovalRequest[],
  ): Promise<void> {
    if (approvalRequests.length === 0) return;
    const authoredBy = [...(await readAiSettingsAuthors(tx, tenantId)), ...(await readModelAuthors(tx, tenantId))];
    for (const { skillId, input } of approvalRequests) {
      const requested = this.#actions.requestApproval(tx, tenantId, {
        skillId,
        input,
        conversationId,
        environment,
        authoredBy,
      });
      await requested.catch((error: unknown) => {
        throw error instanceof AppError ? new ApprovalRequestRefused(error.message, { cause: error }) : error;
      });
    }
    const titles = approvalRequests.map(({ title }) => title).join(', ');
    await this.#chat.writers.messages.write(
      tx,
      tenantId,
      conversationId,
      {
        content: `The AI agent requests an approval: ${titles}. Nothing happens until a person decides, under approvals; tell the visitor the result.`,
        private: true,
        senderType: 'ai',
        senderId: null,
      },
      actor,
    );
  }

  /** Hands a conversation over to agents without a message: an agent is online, or the AI agent is switched off. */
  async #release(tx: Transaction, { tenantId }: Turn, conversation: ConversationRow): Promise<TurnResult> {
    const { conversations, assignment } = this.#chat.writers;
    const changed = await conversations.change(tx, tenantId, conversation.id, { owner: null }, actor);
    await assignment.auto(tx, tenantId, changed.conversation);
    return 'released';
  }
}

/** Lists the called tools for the person who takes over. */
const describeCalledTools = (tools: readonly ToolUse[]) =>
  tools.length === 0
    ? ''
    : `; tools called: ${tools.map(({ name, outcome }) => `${name === '' ? 'one that does not exist' : name} (${outcome.replaceAll('_', ' ')})`).join(', ')}`;
