import { guessLanguage } from '../../../platform/guess-language.ts';
import { characterPairs, clipWord } from '../../../platform/words.ts';
import { languageOfLocale } from './languages.ts';
import { meaningsOfPhrases, meaningsOfWord, meaningsWithin } from './lexicon.ts';
import type { Stemmer } from './stems.ts';
import { stemsOf, unspacedParts, writtenWords } from './words-of-entry.ts';
import type { WrittenWord } from './words-of-entry.ts';

/** What a question asks for in one place: found by its words, or by others that mean the same. */
export interface Asked {
  words: string[];
  meanings: number[];
  /** A word that may be written a little otherwise where it is in no entry; null for what is none. */
  similarTo: string | null;
  /** What it counts beside the others. */
  weight: number;
}

/** A question as far as it is looked for. */
export interface AskedQuestion {
  asked: Asked[];
  language: string | null;
}

/** More of one question is left out. */
const maxAsked = 24;
/** Under which languages words are looked up where nothing tells which it is. */
const likelyLanguages = ['en', 'de', 'fr', 'es'];
const shortestSimilar = 4;
const hiraganaOnly = /^\p{Script=Hiragana}+$/u;

/** Takes a question apart. @param locale in which it was asked, where that is known. */
export async function wordsOfQuestion(
  stemmer: Stemmer,
  question: string,
  locale: string | undefined,
): Promise<AskedQuestion> {
  const language = guessLanguage(question) ?? (locale === undefined ? null : languageOfLocale(locale));
  const written = writtenWords(question);
  const tried = language === null ? likelyLanguages : [language];
  const forms = new Set(written.flatMap(({ folded, written: as }) => [folded, as]));
  const stems = await stemmer.look(new Map(tried.map((each) => [each, forms])));
  const asked: Asked[] = [];
  const known = new Set<string>();
  for (const word of written) {
    if (known.has(word.folded)) continue;
    known.add(word.folded);
    const found = tried.map((each) => stemsOf(word, each, stems));
    // A little word of the one language that it can be.
    if (found.length === 1 && found[0] === null) continue;
    asked.push(
      askedOf(
        word,
        found.flat().filter((stem): stem is string => stem !== null),
        language,
      ),
    );
  }
  for (const { words, meanings } of meaningsOfPhrases(written.map(({ folded }) => folded)))
    if (!known.has(words)) {
      known.add(words);
      asked.push({ words: [], meanings: [...meanings], similarTo: null, weight: 1 });
    }
  for (const part of unspacedParts(question)) asked.push(...askedWithin(part));
  return { asked: asked.slice(0, maxAsked), language };
}

function askedOf(word: WrittenWord, stems: string[], language: string | null): Asked {
  const umlauts = word.folded.replaceAll(/([aou])e/g, '$1');
  const spellings = [word.folded, ...(/[aou]e/.test(word.folded) ? [umlauts] : [])];
  const meanings = new Set(spellings.flatMap((each) => [...meaningsOfWord(each, language)]));
  const words = new Set([...spellings, ...stems]);
  return {
    words: [...words],
    meanings: [...meanings],
    similarTo: word.folded.length >= shortestSimilar ? word.folded : null,
    weight: 1,
  };
}

/** Of a text without spaces: words that are known, and pairs of what is between them. */
function askedWithin(part: string): Asked[] {
  const found = meaningsWithin(part);
  const asked = found.map(({ word, meanings }): Asked => {
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
    asked.push({
      words: [clipWord(pair)],
      meanings: [],
      similarTo: null,
      // Endings and particles say little.
      weight: hiraganaOnly.test(pair) ? 0.1 : 0.5,
    });
  return asked;
}
