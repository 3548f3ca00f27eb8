import type { ChatAiSettings } from '../../../../shared/contract/chat/ai-settings.ts';
import type { ChatMessage } from '../../../../shared/contract/chat/shapes.ts';
import { addressesIn } from '../../../platform/inference/answer-filter.ts';
import type { InferenceMessage } from '../../../platform/inference/inference.ts';
import { estimateTokens } from '../../../platform/inference/token-estimate.ts';
import { plainText, Quotation } from '../../../platform/inference/untrusted-text.ts';
import { leastContextTokens, tokensOfMessage, tokensOfQuoted, Window, withoutKeys } from '../prompt/index.ts';
import type { Passage } from './ports.ts';
import { resultsTokens } from './tools.ts';

/** What a model is asked, and what of it may come back. */
export interface Prompt {
  instructions: string;
  messages: InferenceMessage[];
  /** Addresses that an answer may name. */
  addresses: ReadonlySet<string>;
  /** Under whose mark it quotes what others wrote. */
  quotation: Quotation;
}

/** Of each message a model reads so many characters at most. */
const maxMessageCharacters = 4_000;
/** What the smallest window has room for beside an answer and what is asked for: none is known of the model that will answer. */
const promptTokens = leastContextTokens - 1_024 - 900;
/** Of what is left, for the newest messages, then for the business, its terms, and what is known. */
const shares = { history: 0.5, profile: 0.4, terms: 0.4 };

const shape =
  'Answer with one JSON object and nothing else, its fields in this order: {"action": "answer" | "clarify" | "handoff" | "ignore", "reason": "why, in a few words, for the staff", "sources": ["ids of the knowledge entries that the reply uses"], "reply": "what the visitor reads"}.';
const actions =
  'answer: what you were given answers it. clarify: greet, or ask back for what is missing. handoff: the visitor wants a person, is upset, or it is not answered by what you were given; never guess. ignore: nothing has to be said, such as after thanks.';

/**
 * The prompt for a reply to a conversation. Whatever others wrote stands in it quoted.
 * @param tools what it says of tools; empty without any. For what they say room is left.
 */
export function buildPrompt(
  { businessProfile, tone, language }: ChatAiSettings,
  messages: readonly ChatMessage[],
  passages: readonly Passage[],
  terms: string,
  tools = '',
): Prompt {
  const quotation = new Quotation();
  const toolTokens = tools === '' ? 0 : estimateTokens(tools) + resultsTokens;
  const window = new Window(promptTokens - toolTokens);
  const history = newestMessages(messages, Math.floor(window.left * shares.history));
  window.take(history.tokens);
  const business = window.takeBeginning(withoutKeys(businessProfile), tokensOfQuoted, shares.profile);
  const knownTerms = window.takeBeginning(withoutKeys(terms), tokensOfQuoted, shares.terms);
  const knowledge = passages.flatMap(({ id, question, answer, url }) => {
    const text = window.takeBeginning(
      withoutKeys([question, ...(url === null ? [] : [url]), answer].join('\n')),
      tokensOfQuoted,
    );
    return text === '' ? [] : [quotation.quote(`knowledge entry ${JSON.stringify(id)}`, text)];
  });
  const instructions = [
    tools === ''
      ? 'You answer visitors in the chat of a business, in plain text, briefly. Say only what the business profile and the knowledge say; you can do nothing but write.'
      : 'You answer visitors in the chat of a business, in plain text, briefly. Say only what the business profile, the knowledge and your tools say; you can do nothing but write and call those.',
    tone === '' ? '' : `Tone: ${tone}.`,
    language === 'auto' ? "Write in the language of the visitor's last message." : `Write in the language ${language}.`,
    shape,
    actions,
    tools,
    quotation.rule,
    business === '' ? '' : `The business:\n${quotation.quote('business profile', business)}`,
    knownTerms === '' ? '' : `Its terms:\n${quotation.quote('terms', knownTerms)}`,
    knowledge.length === 0 ? 'There is no knowledge about this.' : `What is known about this:\n${knowledge.join('\n')}`,
  ];
  return {
    instructions: instructions.filter((part) => part !== '').join('\n\n'),
    messages: toModelMessages(history.messages, quotation),
    quotation,
    addresses: addressesIn([businessProfile, terms, ...passages.flatMap(({ answer, url }) => [answer, url ?? ''])]),
  };
}

/** What a model reads of a message. */
function messageText({ content, attachments }: ChatMessage): string {
  const files = attachments.map(({ name }) => `[file ${name}]`);
  return withoutKeys([content.slice(0, maxMessageCharacters), ...files].filter((part) => part !== '').join('\n'));
}

/** The newest messages for which there is room; the last one whatever it takes. */
function newestMessages(
  messages: readonly ChatMessage[],
  tokenLimit: number,
): { messages: ChatMessage[]; tokens: number } {
  const included: ChatMessage[] = [];
  let tokens = 0;
  for (const message of messages.toReversed()) {
    const messageTokens = tokensOfMessage(messageText(message)) + tokensOfQuoted('');
    if (included.length > 0 && tokens + messageTokens > tokenLimit) break;
    included.push(message);
    tokens += messageTokens;
  }
  return { messages: included.toReversed(), tokens };
}

/** The talk as turns of a model: it begins and ends with the visitor, and nobody speaks twice in a row. */
function toModelMessages(messages: readonly ChatMessage[], quotation: Quotation): InferenceMessage[] {
  const turns: InferenceMessage[] = [];
  for (const message of messages) {
    const { senderType } = message;
    if (senderType === 'system') continue;
    const text = messageText(message);
    const isVisitor = senderType === 'visitor';
    const turn: InferenceMessage = isVisitor
      ? { role: 'user', content: quotation.quote('the visitor wrote', text) }
      : {
          role: 'assistant',
          content: senderType === 'ai' ? plainText(text) : quotation.quote('the business wrote', text),
        };
    const before = turns.at(-1);
    if (before?.role === turn.role) before.content += `\n${turn.content}`;
    else if (before !== undefined || isVisitor) turns.push(turn);
  }
  if (turns.at(-1)?.role !== 'user') turns.push({ role: 'user', content: 'Suggest what to write next, if anything.' });
  return turns;
}
