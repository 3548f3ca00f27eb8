import type { ChatMessage } from '../../../../shared/contract/chat/shapes.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { guessLanguage } from '../../../platform/guess-language.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { Assignment } from '../assignment/index.ts';
import { messageColumns, presentMessage } from '../conversations/index.ts';
import type {
  ChatActor,
  ConversationRow,
  ConversationWriter,
  MessageWriter,
  PublicMessageRow,
} from '../conversations/index.ts';
import { readAiSettings, readSettings } from '../settings/index.ts';
import { handOverMessage } from './words.ts';

/** The reason of a handover from the AI agent to agents. */
export interface HandOverReason {
  /** Code for the audit log. */
  code: string;
  /** Text for agents: a sentence without its full stop. */
  text: string;
  /** Code of the language of the visitor's question, if known. */
  language?: string | null;
  /** Language of the visitor's page, if the page sends it. */
  pageLanguage?: string | undefined;
}

/** Number of messages in a summary, and characters of each. */
const maxSummaryMessages = 6;
const maxCharactersPerMessage = 300;
/** Characters of a message that language detection reads. */
const languageSampleCharacters = 1_000;

/**
 * Hands conversations of the AI agent over to agents. One transaction writes the message, status, owner, assignment and
 * note.
 */
export class HandOver {
  readonly #conversations: ConversationWriter;
  readonly #messages: MessageWriter;
  readonly #assignment: Assignment;

  constructor({
    conversationWriter,
    messageWriter,
    assignment,
  }: {
    conversationWriter: ConversationWriter;
    messageWriter: MessageWriter;
    assignment: Assignment;
  }) {
    this.#conversations = conversationWriter;
    this.#messages = messageWriter;
    this.#assignment = assignment;
  }

  /**
   * @param conversation locked by this transaction, owned by the AI, and not closed.
   */
  async write(
    tx: Transaction,
    tenantId: string,
    conversation: ConversationRow,
    reason: HandOverReason,
    actor: ChatActor,
  ): Promise<void> {
    const { id } = conversation;
    const [{ settings }, { locale }, { summary, language }] = await Promise.all([
      readAiSettings(tx, tenantId),
      readSettings(tx, tenantId),
      summaryOf(tx, conversation),
      this.#assignment.lock(tx, tenantId, id, 'returning'),
    ]);
    const content =
      settings.handoffMessage === ''
        ? handOverMessage([reason.language, settings.language, locale, reason.pageLanguage, language])
        : settings.handoffMessage;
    await this.#messages.write(tx, tenantId, id, { content, senderType: 'ai', senderId: null }, actor);
    const changed = await this.#conversations.change(
      tx,
      tenantId,
      id,
      { status: 'open', owner: 'person', snoozedUntil: null },
      actor,
    );
    await this.#messages.write(
      tx,
      tenantId,
      id,
      { content: `Handed over: ${reason.text}.\n\n${summary}`, private: true, senderType: 'ai', senderId: null },
      actor,
    );
    await this.#assignment.auto(tx, tenantId, changed.conversation);
    await recordAudit(tx, {
      tenantId,
      actor: actor.actor,
      action: 'conversation.handed_over',
      targetType: 'conversation',
      targetId: id,
      details: { reason: reason.code },
    });
  }
}

/**
 * Summarizes the conversation since it was last opened, for agents. Also detects the language of the visitor's newest
 * message.
 */
async function summaryOf(
  tx: Transaction,
  { id, context_seq: contextSeq }: ConversationRow,
): Promise<{ summary: string; language: string | null }> {
  const [{ rows }, counted] = await Promise.all([
    tx.query<PublicMessageRow>(
      'read_messages_to_summarise',
      `SELECT ${messageColumns} FROM chat_messages WHERE conversation_id = $1 AND seq > $2 ORDER BY seq DESC LIMIT $3`,
      [id, contextSeq, maxSummaryMessages],
    ),
    tx.query<{ of_visitor: number; of_ai: number }>(
      'count_messages_to_summarise',
      `SELECT count(*) FILTER (WHERE sender_type = 'visitor')::int AS of_visitor, count(*) FILTER (WHERE sender_type = 'ai')::int AS of_ai
       FROM chat_messages WHERE conversation_id = $1 AND seq > $2`,
      [id, contextSeq],
    ),
  ]);
  const { of_visitor: ofVisitor = 0, of_ai: ofAi = 0 } = counted.rows[0] ?? {};
  const lines = rows.toReversed().map((row) => `${speakers[row.sender_type]}: ${shortened(presentMessage(row))}`);
  const languages = rows
    .filter(({ sender_type: sender }) => sender === 'visitor')
    .map(({ content }) => guessLanguage(content.slice(0, languageSampleCharacters)));
  return {
    summary: [`Summary: ${ofVisitor} from the visitor, ${ofAi} from the AI agent. At the end:`, ...lines].join('\n'),
    language: languages.find((each) => each !== null) ?? null,
  };
}

const speakers = { visitor: 'Visitor', ai: 'AI agent', agent: 'Agent', api: 'API', system: 'Hub' };

function shortened({ content, attachments }: ChatMessage): string {
  const characters = Array.from(content.replaceAll(/\s+/g, ' ').trim());
  const text =
    characters.slice(0, maxCharactersPerMessage).join('') + (characters.length > maxCharactersPerMessage ? '…' : '');
  return attachments.length === 0 ? text : `${text} [${attachments.length} files]`.trim();
}
