import { createTimeFormats } from '../../../shared/web/formats.ts';
import type { TimeFormats } from '../../../shared/web/formats.ts';
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

/** The texts of the chat in a language, and how that language writes times, numbers and counts. */
export interface Language extends PageLanguage<Words>, Pick<TimeFormats, 'time' | 'dateTime'> {
  unread: (count: number) => string;
  /** A day as seen from `now`. */
  day: (at: Date, now: Date) => string;
  /** How long until something, such as "in 5 minutes"; at least a minute. */
  timeUntil: (ms: number) => string;
}

export function languageOf(locale: Locale, words: Words, preferred: readonly string[]): Language {
  const language = createLanguage(locale, words, preferred);
  const { time, dateTime, day, relative } = createTimeFormats(language.variant);
  const plurals = new Intl.PluralRules(language.variant);
  return {
    ...language,
    time,
    dateTime,
    unread: (count) => language.format(words.unread[plurals.select(count)] ?? words.unread.other, { count }),
    day: (at, now) => day(at, now, words),
    timeUntil: (ms) => relative(Math.max(ms, 60_000)),
  };
}

export const inEnglish = (preferred: readonly string[]): Language => languageOf('en', english, preferred);

/** Loads a language. Returns English, which is part of the page, when loading fails. */
export async function loadLanguage(locale: Locale, preferred: readonly string[]): Promise<Language> {
  return languageOf(...(await loadWords(locale, english, others)), preferred);
}
