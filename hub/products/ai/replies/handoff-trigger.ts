import { normalizeText } from '../../../platform/normalize.ts';
import { personRequestPhrases } from './person-request-phrases.ts';

/** Why a message is handed over to a person without calling a model. */
export type HandoffTrigger = { kind: 'keyword'; keyword: string } | { kind: 'person'; language: string };

const wordSegmenter = new Intl.Segmenter('und', { granularity: 'word' });
const sentenceSegmenter = new Intl.Segmenter('und', { granularity: 'sentence' });
/** Only this first part of a longer text is searched, in UTF-16 units. */
const maxUnits = 10_000;
/** A sentence of at most so many words asks for a person if it names one. It needs no verb. */
const maxShortWords = 3;

/** Normalizes case, width and apostrophes for comparison. */
const foldCase = (text: string) =>
  normalizeText(normalizeText(text, 'NFKC').toUpperCase().toLowerCase().replaceAll('i\u0307', 'i'), 'NFKC')
    .replaceAll('ς', 'σ')
    .replaceAll(/[’ʼ]/g, "'");
const combiningMark = /^\p{Mn}$/u;
const hasOptionalMarks = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Arabic}\p{Script=Hebrew}]$/u;

/**
 * Removes accents in scripts where people often leave them out. In other scripts, such as Thai or Devanagari, marks are
 * letters and stay.
 */
function stripAccents(text: string): string {
  let result = '';
  let stripsMarks = false;
  // One character can decompose into up to 18, so the text is cut again.
  for (const character of normalizeText(foldCase(text), 'NFKD').slice(0, 2 * maxUnits)) {
    const isMark = combiningMark.test(character);
    if (!isMark) stripsMarks = hasOptionalMarks.test(character);
    if (!isMark || !stripsMarks) result += character;
  }
  return normalizeText(result, 'NFKC');
}
const isUnspaced = (text: string) =>
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u.test(
    text,
  );

/** A text with its word boundaries. */
class SegmentedText {
  readonly text: string;
  readonly wordCount: number;
  readonly #boundaries: ReadonlySet<number>;

  constructor(text: string) {
    this.text = text;
    const segments = [...wordSegmenter.segment(text)];
    this.#boundaries = new Set([...segments.map(({ index }) => index), text.length]);
    this.wordCount = segments.filter(({ isWordLike }) => isWordLike === true).length;
  }

  /** Whether the text contains the phrase as whole, consecutive words. */
  hasWords(phrase: string): boolean {
    if (phrase === '') return false;
    for (let at = this.text.indexOf(phrase); at !== -1; at = this.text.indexOf(phrase, at + 1))
      if (this.#boundaries.has(at) && this.#boundaries.has(at + phrase.length)) return true;
    return false;
  }
}

const collapseSpaces = (text: string) => text.replaceAll(/\s+/g, ' ').trim();
const comparable = personRequestPhrases.map(({ language, verbs, people, phrases }) => ({
  language,
  verbs: verbs.map(stripAccents),
  people: people.map(stripAccents),
  phrases: phrases.map((phrase) => ({ phrase: stripAccents(phrase), isUnspaced: isUnspaced(phrase) })),
}));

/** Returns the first keyword that the text contains as whole words, ignoring case. */
export function findKeyword(input: string, keywords: readonly string[]): string | null {
  const text = new SegmentedText(collapseSpaces(foldCase(input.slice(0, maxUnits))));
  return keywords.find((keyword) => text.hasWords(collapseSpaces(foldCase(keyword)))) ?? null;
}

/** Returns the language in which a text asks for a person, or null if it does not ask. */
export function findPersonRequest(input: string): string | null {
  const whole = collapseSpaces(stripAccents(input.slice(0, maxUnits)));
  for (const { segment } of sentenceSegmenter.segment(whole)) {
    const text = new SegmentedText(segment.trim());
    for (const { language, verbs, people, phrases } of comparable) {
      if (
        phrases.some(({ phrase, isUnspaced: anywhere }) =>
          anywhere ? text.text.includes(phrase) : text.hasWords(phrase),
        )
      )
        return language;
      const hasPerson = people.some((person) => text.hasWords(person));
      if (hasPerson && (text.wordCount <= maxShortWords || verbs.some((verb) => text.hasWords(verb)))) return language;
    }
  }
  return null;
}

/** Returns the first trigger in the texts, or null. */
export function findHandoffTrigger(texts: readonly string[], keywords: readonly string[]): HandoffTrigger | null {
  for (const text of texts) {
    const keyword = findKeyword(text, keywords);
    if (keyword !== null) return { kind: 'keyword', keyword };
    const language = findPersonRequest(text);
    if (language !== null) return { kind: 'person', language };
  }
  return null;
}
