import { addressesIn } from '../../../platform/inference/answer-filter.ts';
import type { InferenceMessage } from '../../../platform/inference/inference.ts';
import { estimateTokens } from '../../../platform/inference/token-estimate.ts';
import { plainText, Quotation } from '../../../platform/inference/untrusted-text.ts';
import { withoutKeys } from './keys.ts';
import { tokensOfMessage, tokensOfQuoted, Window } from './window.ts';

/** A part of what a workspace knows. */
export interface Passage {
  id: string;
  question: string;
  answer: string;
  url: string | null;
  score: number;
}

/** Something from outside, with words of ours for what it is. */
export interface Quoted {
  /** Such as `the name of the visitor`; nothing of it may come from outside. */
  what: string;
  text: string;
}

export interface PromptParts {
  /** What the model is to do, in words of ours or of the workspace's own people. */
  task: string;
  /** What is asked: the one text from outside that is not quoted. */
  input: string;
  /** What was said before, oldest first. */
  turns?: readonly InferenceMessage[];
  /** Attributes, names, names of files: each a quotation of its own. */
  facts?: readonly Quoted[];
  /** The terms of the business. */
  terms?: string;
  /** The best first. */
  passages?: readonly Passage[];
  /** What the caller knows of the matter; nobody knows who wrote it. */
  context?: string | undefined;
  /** A language code by BCP 47. */
  locale?: string | undefined;
  /** Whether the answer may name addresses of the context. Of a stranger's text it may not: it would lend them the name of the business. */
  trustsLinksOfContext?: boolean;
  /** How many tokens the model takes in and puts out together. */
  contextTokens: number;
}

export interface Prompt {
  instructions: string;
  messages: InferenceMessage[];
  maxOutputTokens: number;
  /** The passages that had room. */
  passages: readonly Passage[];
  /** What had no room, a sentence each. */
  cut: readonly string[];
  /** The addresses that the answer may name. */
  addresses: ReadonlySet<string>;
}

/** Tokens that an answer may have. */
export const maxOutputTokens = 1_024;
/** What the estimate of tokens may be wrong by. */
const certainty = 0.95;

/**
 * Puts together what goes to a model, so that it fits: after the room for the answer comes what is asked, then the last turns, facts, terms and passages, and last the context,
 * which loses its end. What comes from outside is quoted under a mark of this call alone, without characters that nobody sees; what is secret never comes here, and a key of a hub
 * that somebody pasted is taken out. Whatever a model makes of it goes through `readAnswer`.
 */
export function buildPrompt(parts: PromptParts): Prompt {
  const quotation = new Quotation();
  const instructions = [
    parts.task,
    quotation.rule,
    'Show no pictures and write no HTML. Name an address only as it stands in what you were given.',
    ...(parts.locale === undefined ? [] : [`Answer in ${languageName(parts.locale)}.`]),
  ].join('\n\n');
  const clean = (text: string) => withoutKeys(plainText(text));
  const window = new Window(parts.contextTokens * certainty - maxOutputTokens);
  window.take(Math.min(window.left, estimateTokens(instructions) + instructionsTokens));
  const cut: string[] = [];

  const asked = clean(parts.input);
  const input = window.takeBeginning(asked, tokensOfMessage);
  if (input.length < asked.length) cut.push(`The input was cut after ${count(input)} of ${count(asked)} characters.`);

  const turns = lastTurns(window, parts.turns ?? [], clean);
  if (turns.length < (parts.turns?.length ?? 0))
    cut.push(`Of ${parts.turns?.length} earlier messages the last ${turns.length} had room.`);

  const blocks: string[] = [];
  for (const { what, text } of parts.facts ?? []) {
    const whole = clean(text);
    const taken = whole === '' ? '' : window.takeBeginning(whole, tokensOfQuoted, 0.5);
    if (taken !== '') blocks.push(quotation.quote(what, taken));
    if (taken.length < whole.length) cut.push(`Of ${what}, ${count(taken)} of ${count(whole)} characters had room.`);
  }
  const terms = clean(parts.terms ?? '');
  const takenTerms = terms === '' ? '' : window.takeBeginning(terms, tokensOfQuoted, 0.5);
  if (takenTerms !== '') blocks.push(quotation.quote('the terms of the business', takenTerms));
  if (takenTerms.length < terms.length)
    cut.push(`The terms were cut after ${count(takenTerms)} of ${count(terms)} characters.`);

  const passages: Passage[] = [];
  for (const passage of parts.passages ?? []) {
    const text = clean(
      [passage.question, passage.answer, ...(passage.url === null ? [] : [`Address: ${passage.url}`])].join('\n'),
    );
    if (!window.take(tokensOfQuoted(text))) continue;
    passages.push(passage);
    blocks.push(quotation.quote('from what the business has written for its customers', text));
  }
  const offered = parts.passages?.length ?? 0;
  if (passages.length < offered) cut.push(`Of ${offered} passages of the knowledge ${passages.length} had room.`);

  const context = clean(parts.context ?? '');
  const takenContext = context === '' ? '' : window.takeBeginning(context, tokensOfQuoted);
  if (takenContext.length < context.length)
    cut.push(`The context was cut after ${count(takenContext)} of ${count(context)} characters.`);
  if (takenContext !== '')
    blocks.push(
      quotation.quote(
        takenContext.length < context.length
          ? 'context from the caller; its end is missing'
          : 'context from the caller',
        takenContext,
      ),
    );

  return {
    instructions,
    messages: [...turns, { role: 'user', content: [...blocks, input === '' ? '(nothing)' : input].join('\n\n') }],
    maxOutputTokens,
    passages,
    cut,
    addresses: addressesIn([
      parts.task,
      input,
      takenTerms,
      ...passages.flatMap(({ question, answer, url }) => [question, answer, url ?? '']),
      ...(parts.trustsLinksOfContext === true ? [takenContext] : []),
    ]),
  };
}

const instructionsTokens = 16;

const count = (text: string) => [...text].length.toLocaleString('en');

/** The newest turns that have room, each whole. */
function lastTurns(
  window: Window,
  turns: readonly InferenceMessage[],
  clean: (text: string) => string,
): InferenceMessage[] {
  const taken: InferenceMessage[] = [];
  for (const { role, content } of turns.toReversed()) {
    const text = clean(content);
    // Facts, passages and context are to have room as well.
    if (tokensOfMessage(text) > window.left / 2 || !window.take(tokensOfMessage(text))) break;
    taken.unshift({ role, content: text === '' ? '(nothing)' : text });
  }
  return taken;
}

const languages = new Intl.DisplayNames('en', { type: 'language' });

/** What a language is called: a model knows that better than its code. */
function languageName(locale: string): string {
  const name = languages.of(locale);
  return name === undefined || name === locale ? `the language with the code ${locale}` : `${name} (${locale})`;
}
