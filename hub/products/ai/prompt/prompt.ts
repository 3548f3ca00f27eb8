import { addressesIn } from '../../../platform/inference/answer-filter.ts';
import type { InferenceMessage } from '../../../platform/inference/inference.ts';
import { estimateTokens } from '../../../platform/inference/token-estimate.ts';
import { plainText, Quotation } from '../../../platform/inference/untrusted-text.ts';
import { withoutKeys } from './keys.ts';
import { tokensOfMessage, tokensOfQuoted, TokenBudget } from './token-budget.ts';

/** A passage of the knowledge of a workspace. */
export interface Passage {
  id: string;
  question: string;
  answer: string;
  url: string | null;
  score: number;
}

/** Untrusted text with a trusted description. */
export interface Quoted {
  /** For example `the name of the visitor`. It must not contain untrusted text. */
  what: string;
  text: string;
}

export interface PromptParts {
  /** The task of the model, written by this project or by members of the workspace. */
  task: string;
  /** The question: the only untrusted text that is not quoted. */
  input: string;
  /** Earlier messages, oldest first. */
  turns?: readonly InferenceMessage[];
  /** Attributes, names and file names. Each one is quoted separately. */
  facts?: readonly Quoted[];
  /** The terms of the business. */
  terms?: string;
  /** Best first. */
  passages?: readonly Passage[];
  /** Context from the caller. Its author is unknown. */
  context?: string | undefined;
  /** A BCP 47 language code. */
  locale?: string | undefined;
  /**
   * Whether the answer may contain addresses of the context. False for text of third parties, which may be malicious.
   */
  trustsLinksOfContext?: boolean;
  /** Context size of the model in tokens, input and output together. */
  contextTokens: number;
}

export interface Prompt {
  instructions: string;
  messages: InferenceMessage[];
  maxOutputTokens: number;
  /** The passages in the prompt. */
  passages: readonly Passage[];
  /** One sentence for each part that did not fit. */
  cut: readonly string[];
  /** The addresses that the answer may contain. */
  addresses: ReadonlySet<string>;
}

/** Maximum number of tokens of an answer. */
export const maxOutputTokens = 1_024;
/** Share of the context that is used, because token counts are estimates. */
const safetyFactor = 0.95;

/**
 * Builds a prompt that fits the context of the model. Tokens are reserved for the answer first, then for the question,
 * the last turns, the facts, the terms, the passages and finally the context, which is cut at its end.
 *
 * Untrusted text is quoted with a random mark and without invisible characters. Pasted keys of a hub are removed.
 * Callers must not pass secrets, and must pass the answer of the model through `readAnswer`.
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
  const budget = new TokenBudget(parts.contextTokens * safetyFactor - maxOutputTokens);
  budget.take(Math.min(budget.left, estimateTokens(instructions) + instructionsTokens));
  const cut: string[] = [];

  const cleanInput = clean(parts.input);
  const input = budget.takeBeginning(cleanInput, tokensOfMessage);
  if (input.length < cleanInput.length)
    cut.push(`The input was cut after ${count(input)} of ${count(cleanInput)} characters.`);

  const turns = lastTurns(budget, parts.turns ?? [], clean);
  if (turns.length < (parts.turns?.length ?? 0))
    cut.push(`Only the last ${turns.length} of ${parts.turns?.length} earlier messages fit.`);

  const blocks: string[] = [];
  for (const { what, text } of parts.facts ?? []) {
    const whole = clean(text);
    const included = whole === '' ? '' : budget.takeBeginning(whole, tokensOfQuoted, 0.5);
    if (included !== '') blocks.push(quotation.quote(what, included));
    if (included.length < whole.length) cut.push(`Of ${what}, ${count(included)} of ${count(whole)} characters fit.`);
  }
  const terms = clean(parts.terms ?? '');
  const includedTerms = terms === '' ? '' : budget.takeBeginning(terms, tokensOfQuoted, 0.5);
  if (includedTerms !== '') blocks.push(quotation.quote('the terms of the business', includedTerms));
  if (includedTerms.length < terms.length)
    cut.push(`The terms were cut after ${count(includedTerms)} of ${count(terms)} characters.`);

  const passages: Passage[] = [];
  for (const passage of parts.passages ?? []) {
    const text = clean(
      [passage.question, passage.answer, ...(passage.url === null ? [] : [`Address: ${passage.url}`])].join('\n'),
    );
    if (!budget.take(tokensOfQuoted(text))) continue;
    passages.push(passage);
    blocks.push(quotation.quote('from what the business has written for its customers', text));
  }
  const passageCount = parts.passages?.length ?? 0;
  if (passages.length < passageCount)
    cut.push(`Only ${passages.length} of ${passageCount} passages of the knowledge fit.`);

  const context = clean(parts.context ?? '');
  const includedContext = context === '' ? '' : budget.takeBeginning(context, tokensOfQuoted);
  if (includedContext.length < context.length)
    cut.push(`The context was cut after ${count(includedContext)} of ${count(context)} characters.`);
  if (includedContext !== '')
    blocks.push(
      quotation.quote(
        includedContext.length < context.length
          ? 'context from the caller; its end is missing'
          : 'context from the caller',
        includedContext,
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
      includedTerms,
      ...passages.flatMap(({ question, answer, url }) => [question, answer, url ?? '']),
      ...(parts.trustsLinksOfContext === true ? [includedContext] : []),
    ]),
  };
}

const instructionsTokens = 16;

const count = (text: string) => [...text].length.toLocaleString('en');

/** Returns the newest turns that fit completely. */
function lastTurns(
  budget: TokenBudget,
  turns: readonly InferenceMessage[],
  clean: (text: string) => string,
): InferenceMessage[] {
  const included: InferenceMessage[] = [];
  for (const { role, content } of turns.toReversed()) {
    const text = clean(content);
    // Half of the remaining tokens is kept for facts, passages and context.
    if (tokensOfMessage(text) > budget.left / 2 || !budget.take(tokensOfMessage(text))) break;
    included.unshift({ role, content: text === '' ? '(nothing)' : text });
  }
  return included;
}

const languages = new Intl.DisplayNames('en', { type: 'language' });

/** Returns the English name of a language, which models understand better than its code. */
function languageName(locale: string): string {
  const name = languages.of(locale);
  return name === undefined || name === locale ? `the language with the code ${locale}` : `${name} (${locale})`;
}
