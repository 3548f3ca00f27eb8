import type { ChatAiSettings } from '../../../../shared/contract/chat/ai-settings.ts';
import type { ChatMessage } from '../../../../shared/contract/chat/shapes.ts';
import { addressesIn } from '../../../platform/inference/answer-filter.ts';
import type { InferenceMessage } from '../../../platform/inference/inference.ts';
import { Quotation } from '../../../platform/inference/untrusted-text.ts';
import type { Passage } from './faces.ts';

/** What a model is asked, and what of it may come back. */
export interface Prompt {
  instructions: string;
  messages: InferenceMessage[];
  /** Addresses that an answer may name. */
  addresses: ReadonlySet<string>;
}

/** Of each message a model reads so many characters at most. */
const mostCharacters = 4_000;

const shape =
  'Answer with one JSON object and nothing else, its fields in this order: {"action": "answer" | "clarify" | "handoff" | "ignore", "reason": "why, in a few words, for the staff", "sources": ["ids of the knowledge entries that the reply uses"], "reply": "what the visitor reads"}.';
const actions =
  'answer: what you were given answers it. clarify: greet, or ask back for what is missing. handoff: the visitor wants a person, is upset, or it is not answered by what you were given; never guess. ignore: nothing has to be said, such as after thanks.';

/** The prompt for a reply to a conversation. Whatever others wrote stands in it quoted. */
export function promptOf(
  { businessProfile, tone, language }: ChatAiSettings,
  messages: readonly ChatMessage[],
  passages: readonly Passage[],
  terms: string,
): Prompt {
  const quotation = new Quotation();
  const knowledge = passages.map(({ id, question, answer, url }) =>
    quotation.quote(
      `knowledge entry ${JSON.stringify(id)}`,
      [question, answer, ...(url === null ? [] : [url])].join('\n'),
    ),
  );
  const instructions = [
    'You answer visitors in the chat of a business, in plain text, briefly. Say only what the business profile and the knowledge say; you can do nothing but write.',
    tone === '' ? '' : `Tone: ${tone}.`,
    language === 'auto' ? "Write in the language of the visitor's last message." : `Write in the language ${language}.`,
    shape,
    actions,
    quotation.rule,
    businessProfile === '' ? '' : `The business:\n${quotation.quote('business profile', businessProfile)}`,
    terms === '' ? '' : `Its terms:\n${quotation.quote('terms', terms)}`,
    knowledge.length === 0 ? 'There is no knowledge about this.' : `What is known about this:\n${knowledge.join('\n')}`,
  ];
  return {
    instructions: instructions.filter((part) => part !== '').join('\n\n'),
    messages: turnsOf(messages, quotation),
    addresses: addressesIn([businessProfile, terms, ...passages.flatMap(({ answer, url }) => [answer, url ?? ''])]),
  };
}

/** The talk as turns of a model: it begins and ends with the visitor, and nobody speaks twice in a row. */
function turnsOf(messages: readonly ChatMessage[], quotation: Quotation): InferenceMessage[] {
  const turns: InferenceMessage[] = [];
  for (const { senderType, content, attachments } of messages) {
    if (senderType === 'system') continue;
    const files = attachments.map(({ name }) => `[file ${name}]`);
    const said = [content.slice(0, mostCharacters), ...files].filter((part) => part !== '').join('\n');
    const isVisitor = senderType === 'visitor';
    const turn: InferenceMessage = isVisitor
      ? { role: 'user', content: quotation.quote('the visitor wrote', said) }
      : { role: 'assistant', content: senderType === 'ai' ? said : quotation.quote('the business wrote', said) };
    const before = turns.at(-1);
    if (before?.role === turn.role) before.content += `\n${turn.content}`;
    else if (before !== undefined || isVisitor) turns.push(turn);
  }
  if (turns.at(-1)?.role !== 'user') turns.push({ role: 'user', content: 'Suggest what to write next, if anything.' });
  return turns;
}
