import { normalizeText } from '../../../platform/normalize.ts';
import { wishWords } from './wish-words.ts';

/** Why a message goes to a person before any model is asked. */
export type Wish = { kind: 'keyword'; keyword: string } | { kind: 'person'; language: string };

const words = new Intl.Segmenter('und', { granularity: 'word' });
const sentences = new Intl.Segmenter('und', { granularity: 'sentence' });
/** Longer ones are looked at in their first part. */
const mostUnits = 10_000;
/** One that is so short and names a person asks for one. */
const fewWords = 3;

/** As it is compared: a letter in any case and width is one letter. */
const folded = (text: string) =>
  normalizeText(normalizeText(text, 'NFKC').toUpperCase().toLowerCase().replaceAll('i\u0307', 'i'), 'NFKC')
    .replaceAll('ς', 'σ')
    .replaceAll(/[’ʼ]/g, "'");
const mark = /^\p{Mn}$/u;
const losesMarks = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Arabic}\p{Script=Hebrew}]$/u;

/** Accents are often left out, in scripts whose words they do not make others; in Thai or Hindi marks are letters. */
function unaccented(text: string): string {
  let kept = '';
  let isLost = false;
  // Some signs become eighteen.
  for (const sign of normalizeText(folded(text), 'NFKD').slice(0, 2 * mostUnits)) {
    const isMark = mark.test(sign);
    if (!isMark) isLost = losesMarks.test(sign);
    if (!isMark || !isLost) kept += sign;
  }
  return normalizeText(kept, 'NFKC');
}
const isUnspaced = (text: string) =>
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u.test(
    text,
  );

/** A text with the places at which its words begin and end. */
class Text {
  readonly text: string;
  readonly wordCount: number;
  readonly #edges: ReadonlySet<number>;

  constructor(text: string) {
    this.text = text;
    const segments = [...words.segment(text)];
    this.#edges = new Set([...segments.map(({ index }) => index), text.length]);
    this.wordCount = segments.filter(({ isWordLike }) => isWordLike === true).length;
  }

  /** Whether words of it are these, one after the other. */
  has(phrase: string): boolean {
    if (phrase === '') return false;
    for (let at = this.text.indexOf(phrase); at !== -1; at = this.text.indexOf(phrase, at + 1))
      if (this.#edges.has(at) && this.#edges.has(at + phrase.length)) return true;
    return false;
  }
}

const spaced = (text: string) => text.replaceAll(/\s+/g, ' ').trim();
const known = wishWords.map(({ language, verbs, people, phrases }) => ({
  language,
  verbs: verbs.map(unaccented),
  people: people.map(unaccented),
  phrases: phrases.map((phrase) => ({ phrase: unaccented(phrase), isUnspaced: isUnspaced(phrase) })),
}));

/** The first of some keywords that a text has, as whole words, in whatever case. */
export function keywordIn(given: string, keywords: readonly string[]): string | null {
  const text = new Text(spaced(folded(given.slice(0, mostUnits))));
  return keywords.find((keyword) => text.has(spaced(folded(keyword)))) ?? null;
}

/** The language in which a text asks for a person; null where it does not. */
export function personAskedIn(given: string): string | null {
  const whole = spaced(unaccented(given.slice(0, mostUnits)));
  for (const { segment } of sentences.segment(whole)) {
    const text = new Text(segment.trim());
    for (const { language, verbs, people, phrases } of known) {
      if (phrases.some(({ phrase, isUnspaced: within }) => (within ? text.text.includes(phrase) : text.has(phrase))))
        return language;
      const hasPerson = people.some((person) => text.has(person));
      if (hasPerson && (text.wordCount <= fewWords || verbs.some((verb) => text.has(verb)))) return language;
    }
  }
  return null;
}

/** Why one of some texts goes to a person, if one does. */
export function wishIn(texts: readonly string[], keywords: readonly string[]): Wish | null {
  for (const text of texts) {
    const keyword = keywordIn(text, keywords);
    if (keyword !== null) return { kind: 'keyword', keyword };
    const language = personAskedIn(text);
    if (language !== null) return { kind: 'person', language };
  }
  return null;
}
