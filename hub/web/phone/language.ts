import { createTimeFormats } from '../../../shared/web/formats.ts';
import { createLanguage, loadWords } from '../../../shared/web/locale.ts';
import type { Locale, OtherWords, PageLanguage } from '../../../shared/web/locale.ts';
import { english } from './words/english.ts';
import type { Words } from './words/english.ts';

const others: OtherWords<Words> = {
  de: () => import('./words/german.ts').then(({ german }) => german),
  fr: () => import('./words/french.ts').then(({ french }) => french),
  es: () => import('./words/spanish.ts').then(({ spanish }) => spanish),
  ar: () => import('./words/arabic.ts').then(({ arabic }) => arabic),
  ja: () => import('./words/japanese.ts').then(({ japanese }) => japanese),
};

/** The texts of the phone page in one language, with the number and time formats of that language. */
export interface Language extends PageLanguage<Words> {
  /** Points from the caller to the called party. */
  arrow: '→' | '←';
  /** The time of day. Includes the date if it is not today. */
  time: (at: Date) => string;
}

function languageOf(locale: Locale, words: Words, preferred: readonly string[]): Language {
  const language = createLanguage(locale, words, preferred);
  const { shortDateTime } = createTimeFormats(language.variant);
  return {
    ...language,
    arrow: language.direction === 'rtl' ? '←' : '→',
    time: (at) => shortDateTime(at, new Date()),
  };
}

/** Loads a language. Falls back to the bundled English texts if loading fails. */
export async function loadLanguage(locale: Locale, preferred: readonly string[]): Promise<Language> {
  return languageOf(...(await loadWords(locale, english, others)), preferred);
}
