import { guessLanguage } from '../../../platform/guess-language.ts';
import { characterPairs, clipWord } from '../../../platform/words.ts';
import { languageOfLocale } from './languages.ts';
import { meaningsOfPhrases, meaningsOfWord, meaningsWithin } from './lexicon.ts';
import type { Stemmer } from './stems.ts';
import { stemsOf, unspacedParts, writtenWords } from './words-of-entry.ts';
import type { WrittenWord } from './words-of-entry.ts';

/** One term of a question. It matches by its words or by words with the same meaning. */
export interface SearchTerm {
  words: string[];
  meanings: number[];
  /** The word to match by trigrams when no entry contains it; null to skip this. */
  similarTo: string | null;
  /** Weight relative to the other terms. */
  weight: number;
}

/** The search terms and the language of a question. */
export interface AnalyzedQuestion {
  terms: SearchTerm[];
  language: string | null;
}

/** Maximum number of terms per question. */
const maxTerms = 24;
/** Languages for stemming when the language of a question is unknown. */
const likelyLanguages = ['en', 'de', 'fr', 'es'];
const minSimilarLength = 4;
const hiraganaOnly = /^\p{Script=Hiragana}+$/u;

/** Analyzes a question. @param locale the locale of the question, if known. */
export async function wordsOfQuestion(
  stemmer: Stemmer,
  question: string,
  locale: string | undefined,
): Promise<AnalyzedQuestion> {
  const language = guessLanguage(question) ?? (locale === undefined ? null : languageOfLocale(locale));
  const written = writtenWords(question);
  const candidateLanguages = language === null ? likelyLanguages : [language];
  const forms = new Set(written.flatMap(({ folded, written: original }) => [folded, original]));
  const stems = await stemmer.lookUp(new Map(candidateLanguages.map((each) => [each, forms])));
  const terms: SearchTerm[] = [];
  const seen = new Set<string>();
  for (const word of written) {
    if (seen.has(word.folded)) continue;
    seen.add(word.folded);
    const found = candidateLanguages.map((each) => stemsOf(word, each, stems));
    // A stop word of the only possible language.
    if (found.length === 1 && found[0] === null) continue;
    terms.push(
      termOf(
        word,
        found.flat().filter((stem): stem is string => stem !== null),
        language,
      ),
    );
  }
  for (const { words, meanings } of meaningsOfPhrases(written.map(({ folded }) => folded)))
    if (!seen.has(words)) {
      seen.add(words);
      terms.push({ words: [], meanings: [...meanings], similarTo: null, weight: 1 });
    }
  for (const part of unspacedParts(question)) terms.push(...termsWithin(part));
  return { terms: terms.slice(0, maxTerms), language };
}

function termOf(word: WrittenWord, stems: string[], language: string | null): SearchTerm {
  const umlauts = word.folded.replaceAll(/([aou])e/g, '$1');
  const spellings = [word.folded, ...(/[aou]e/.test(word.folded) ? [umlauts] : [])];
  const meanings = new Set(spellings.flatMap((each) => [...meaningsOfWord(each, language)]));
  const words = new Set([...spellings, ...stems]);
  return {
    words: [...words],
    meanings: [...meanings],
    similarTo: word.folded.length >= minSimilarLength ? word.folded : null,
    weight: 1,
  };
}

/** Returns the terms of a text without spaces: known words, and character pairs of the text in between. */
function termsWithin(part: string): SearchTerm[] {
  const found = meaningsWithin(part);
  const terms = found.map(({ word, meanings }): SearchTerm => {
    const pairs = [...word].length === 1 ? [word] : characterPairs(word);
    return { words: pairs, meanings: [...meanings], similarTo: null, weight: 1 };
  });
  const covered = new Set(found.flatMap(({ word, at }) => Array.from(word, (_, index) => at + index)));
  const pairs = new Set<string>();
  [...part].forEach((_character, index, characters) => {
    const pair = characters.slice(index, index + 2).join('');
    if (index + 1 < characters.length && !(covered.has(index) && covered.has(index + 1))) pairs.add(pair);
  });
  for (const pair of pairs)
    terms.push({
      words: [clipWord(pair)],
      meanings: [],
      similarTo: null,
      // Japanese endings and particles have little meaning.
      weight: hiraganaOnly.test(pair) ? 0.1 : 0.5,
    });
  return terms;
}
