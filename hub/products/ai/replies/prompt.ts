import type { ChatAiSettings } from '../../../../shared/contract/chat/ai-settings.ts';
import type { ChatMessage } from '../../../../shared/contract/chat/shapes.ts';
import { addressesIn } from '../../../platform/inference/answer-filter.ts';
import type { InferenceMessage } from '../../../platform/inference/inference.ts';
import { estimateTokens } from '../../../platform/inference/token-estimate.ts';
import { plainText, Quotation } from '../../../platform/inference/untrusted-text.ts';
import { minContextTokens, tokensOfMessage, tokensOfQuoted, TokenBudget, withoutKeys } from '../prompt/index.ts';
import type { Passage } from './ports.ts';
import { resultsTokens } from './tools.ts';

/** A request to a model, and what its answer may contain. */
export interface Prompt {
  instructions: string;
  messages: InferenceMessage[];
  /** Addresses that an answer may contain. Other addresses are filtered. */
  addresses: ReadonlySet<string>;
  /** Marks the text of third parties in the prompt, such as messages and tool results. */
  quotation: Quotation;
}

/** Characters of each message in the prompt. */
const maxMessageCharacters = 4_000;
/**
 * Tokens for the prompt: the smallest supported context minus 1,024 for the answer and 900 for the fixed instructions.
 * The model that will answer is not known yet.
 */
const promptTokens = minContextTokens - 1_024 - 900;
/** Shares of the remaining tokens, applied in this order. The knowledge entries get the rest. */
const shares = { history: 0.5, profile: 0.4, terms: 0.4 };

const shape =
  'Answer with one JSON object and nothing else, its fields in this order: {"action": "answer" | "clarify" | "handoff" | "ignore", "reason": "why, in a few words, for the staff", "sources": ["ids of the knowledge entries that the reply uses"], "reply": "what the visitor reads"}.';
const actions =
  'answer: what you were given answers it. clarify: greet, or ask back for what is missing. handoff: the visitor wants a person, is upset, or it is not answered by what you were given; never guess. ignore: nothing has to be said, such as after thanks.';

/**
 * Builds the prompt for a reply to a conversation. All text of third parties is quoted.
 * @param tools The description of the tools, or an empty text. With tools, tokens are reserved for their results.
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
  const window = new TokenBudget(promptTokens - toolTokens);
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

/** Returns the text and the file names of a message, as the model receives them. */
function messageText({ content, attachments }: ChatMessage): string {
  const files = attachments.map(({ name }) => `[file ${name}]`);
  return withoutKeys([content.slice(0, maxMessageCharacters), ...files].filter((part) => part !== '').join('\n'));
}

/** Returns the newest messages within the token limit, and always at least the last message. */
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

/** Converts messages to alternating roles. The result begins and ends with the role `user`. */
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
