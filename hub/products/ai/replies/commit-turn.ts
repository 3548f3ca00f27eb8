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

/** Why a conversation goes to people, with what was called and would have been done before. */
interface HandOver {
  code: string;
  text: string;
  language?: string;
  tools?: readonly ToolUse[];
  approvalRequests?: readonly ApprovalRequest[];
}

/** What is to come of a turn. */
export type TurnOutcome =
  | { kind: 'reply'; reply: Reply; messageId: string }
  | { kind: 'suggest'; reply: Reply }
  | ({ kind: 'hand-over' } & HandOver)
  /** Nothing is said. */
  | { kind: 'drop' }
  /** Something happened meanwhile: it begins anew where the conversation still is the AI's. */
  | { kind: 'restart' };

/** What came of it; `silent` where nothing had to be said, `overtaken` where a newer message of the visitor, or another process, has the turn. */
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

/** What it would have done can't be put to a person now, such as for want of room. */
class ApprovalRequestRefused extends Error {}

type TurnDecision = { result: TurnResult; afterCommit: (() => void)[] };

const actor = { actor: 'ai', environment: null };

export interface TurnCommitterDependencies {
  db: Database;
  chat: Pick<Chat, 'writers' | 'suggestions'>;
  actions: ReplyActions;
}

/**
 * Ends turns: under the lock of the conversation it is looked again whether nobody wrote, was assigned, came online or closed it, and whether the turn still is
 * whose it was; then all that it leads to is written, or none of it.
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
      // Sent at once: what stands behind the lock sees what was committed before it was ours.
      const [conversation, isLocked, availability] = await Promise.all([
        this.#chat.writers.conversations.lock(tx, conversationId),
        lockTurn(tx, turn),
        readAiAvailability(tx, tenantId),
      ]);
      if (!isLocked) return { result: 'superseded', afterCommit: [] } satisfies TurnDecision;
      const decision = await this.#decide(tx, turn, context, conversation, availability, outcome, usage);
      await Promise.all([
        decision.result === 'requeued' || decision.result === 'silent' ? null : deleteTurn(tx, turn),
        decision.result === 'replied' || usage.inputTokens + usage.outputTokens === 0
          ? null
          : countDay(tx, tenantId, usage),
      ]);
      return decision;
    });
    // It was erased meanwhile, and the turn with it.
    const { result, afterCommit } = await work.catch(async (error: unknown): Promise<TurnDecision> => {
      if (error instanceof AppError && error.code === 'not_found') return { result: 'dropped', afterCommit: [] };
      if (error instanceof ApprovalRequestRefused) {
        const text = `what it would have done could not be put to an approval: ${error.message.replace(/\.$/, '')}`;
        const tools = 'reply' in outcome ? outcome.reply.tools : 'tools' in outcome ? outcome.tools : [];
        const handOver: TurnOutcome = { kind: 'hand-over', code: 'approval_refused', text, tools };
        return { result: await this.commit(turn, context, handOver, usage), afterCommit: [] };
      }
      throw error;
    });
    for (const callback of afterCommit) callback();
    return result;
  }

  async #decide(
    tx: Transaction,
    turn: Turn,
    context: ReplyContext,
    conversation: ConversationRow,
    availability: AiAvailability,
    outcome: TurnOutcome,
    usage: Usage,
  ): Promise<TurnDecision> {
    const hasNewMessages = conversation.last_seq !== context.conversation.last_seq;
    if (outcome.kind === 'suggest') {
      // It had this one before its workspace had it suggest only.
      const released = conversation.owner === 'ai' ? await this.#release(tx, turn, conversation) : null;
      const suggested: TurnDecision = availability.isActive
        ? await this.#suggest(tx, turn, conversation, outcome.reply, hasNewMessages)
        : { result: 'dropped', afterCommit: [] };
      return { ...suggested, afterCommit: [...suggested.afterCommit, ...(released?.afterCommit ?? [])] };
    }
    const isOpen = conversation.status === 'open' || conversation.status === 'pending';
    if (conversation.owner !== 'ai' || !isOpen) return { result: 'dropped', afterCommit: [] };
    if (!mayAiReply(availability)) return this.#release(tx, turn, conversation);
    if (outcome.kind === 'restart' || (hasNewMessages && outcome.kind !== 'hand-over')) {
      await requeueTurn(tx, turn);
      return { result: 'requeued', afterCommit: [] };
    }
    if (outcome.kind === 'drop') {
      await markTurnDone(tx, turn);
      return { result: 'silent', afterCommit: [] };
    }
    if (outcome.kind === 'hand-over') return this.#handOver(tx, turn, conversation, outcome);
    const [, isWithinBudget] = await Promise.all([
      // As a hand-over does, which is what becomes of it where the day is used up, and the day is locked then, too.
      this.#chat.writers.assignment.lock(tx, turn.tenantId, turn.conversationId, 'returning'),
      countDay(tx, turn.tenantId, { replies: 1, ...usage }, availability.settings.dailyReplyBudget),
    ]);
    const { content, sources, tools, approvalRequests } = outcome.reply;
    if (!isWithinBudget) {
      const text = 'the replies of today are used up';
      return this.#handOver(tx, turn, conversation, { code: 'budget', text, tools, approvalRequests });
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
    return {
      result: 'replied',
      afterCommit: [written.committed, ...(await this.#requestApprovals(tx, turn, conversation, approvalRequests))],
    };
  }

  async #suggest(
    tx: Transaction,
    { tenantId, conversationId }: Turn,
    { last_seq: seq, status }: ConversationRow,
    { content, action, reason, sources, tools }: Reply,
    hasNewMessages: boolean,
  ): Promise<TurnDecision> {
    // Somebody has replied, or the visitor will be answered anew.
    if (hasNewMessages || status === 'closed') return { result: 'dropped', afterCommit: [] };
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
    return { result: 'suggested', afterCommit: [written.committed] };
  }

  async #handOver(
    tx: Transaction,
    turn: Turn,
    conversation: ConversationRow,
    { approvalRequests = [], tools = [], text, ...reason }: HandOver,
  ): Promise<TurnDecision> {
    const { tenantId } = turn;
    const why = { ...reason, text: `${text}${describeCalledTools(tools)}` };
    const handedOver = await this.#chat.writers.handOver.write(tx, tenantId, conversation, why, actor);
    await countDay(tx, tenantId, { handOvers: 1 });
    return {
      result: 'handed over',
      afterCommit: [handedOver, ...(await this.#requestApprovals(tx, turn, conversation, approvalRequests))],
    };
  }

  /** Puts what the AI agent would have done to people, and says so to those of the conversation. */
  async #requestApprovals(
    tx: Transaction,
    { tenantId, conversationId }: Turn,
    { environment }: ConversationRow,
    approvalRequests: readonly ApprovalRequest[],
  ): Promise<(() => void)[]> {
    if (approvalRequests.length === 0) return [];
    const afterCommit: (() => void)[] = [];
    const authoredBy = [...(await readAiSettingsAuthors(tx, tenantId)), ...(await readModelAuthors(tx, tenantId))];
    for (const { skillId, input } of approvalRequests) {
      const requested = this.#actions.requestApproval(tx, tenantId, {
        skillId,
        input,
        conversationId,
        environment,
        authoredBy,
      });
      afterCommit.push(
        await requested.catch((error: unknown) => {
          throw error instanceof AppError ? new ApprovalRequestRefused(error.message, { cause: error }) : error;
        }),
      );
    }
    const titles = approvalRequests.map(({ title }) => title).join(', ');
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
    return [...afterCommit, note.committed];
  }

  /** Leaves a conversation to people without a word: one of them is there, or the workspace has taken it from the AI. */
  async #release(tx: Transaction, { tenantId }: Turn, conversation: ConversationRow): Promise<TurnDecision> {
    const { conversations, assignment } = this.#chat.writers;
    const changed = await conversations.change(tx, tenantId, conversation.id, { owner: null }, actor);
    const assigned = await assignment.auto(tx, tenantId, changed.conversation);
    return { result: 'released', afterCommit: [changed.committed, ...(assigned === null ? [] : [assigned.committed])] };
  }
}

/** What was called, for whoever takes over. */
const describeCalledTools = (tools: readonly ToolUse[]) =>
  tools.length === 0
    ? ''
    : `; tools that it called: ${tools.map(({ name, outcome }) => `${name === '' ? 'one that there is not' : name} (${outcome.replaceAll('_', ' ')})`).join(', ')}`;
