import type { ChatLocale } from '../../../shared/contract/chat/settings.ts';
import { directionOf, fillIn, loadWords, variantOf } from '../kit/locale.ts';
import type { OtherWords } from '../kit/locale.ts';
import { english } from './words/english.ts';
import type { Words } from './words/english.ts';

const others: OtherWords<Words> = {
  de: () => import('./words/german.ts').then(({ german }) => german),
  fr: () => import('./words/french.ts').then(({ french }) => french),
  es: () => import('./words/spanish.ts').then(({ spanish }) => spanish),
  ar: () => import('./words/arabic.ts').then(({ arabic }) => arabic),
  ja: () => import('./words/japanese.ts').then(({ japanese }) => japanese),
};

/** Words of a language, and how it writes times, numbers and counts. */
export interface Language {
  locale: ChatLocale;
  direction: 'ltr' | 'rtl';
  words: Words;
  /** Puts values into a text of `words`. */
  say: (text: string, values: Record<string, string | number>) => string;
  unread: (count: number) => string;
  number: (value: number) => string;
  bytes: (bytes: number) => string;
  time: (at: Date) => string;
  /** Of a day as seen from now. */
  day: (at: Date, now: Date) => string;
  moment: (at: Date) => string;
  /** How long until something, such as "in 5 minutes"; at least a minute. */
  inMinutes: (ms: number) => string;
}

export function languageOf(locale: ChatLocale, words: Words, wanted: readonly string[]): Language {
  const variant = variantOf(locale, wanted);
  const numbers = new Intl.NumberFormat(variant);
  const plurals = new Intl.PluralRules(variant);
  const times = new Intl.DateTimeFormat(variant, { hour: 'numeric', minute: '2-digit' });
  const days = new Intl.DateTimeFormat(variant, { weekday: 'long', day: 'numeric', month: 'long' });
  const daysOfOtherYears = new Intl.DateTimeFormat(variant, { day: 'numeric', month: 'long', year: 'numeric' });
  const moments = new Intl.DateTimeFormat(variant, { dateStyle: 'full', timeStyle: 'short' });
  const relative = new Intl.RelativeTimeFormat(variant);
  const unit = (value: number, name: string, digits: number) =>
    new Intl.NumberFormat(variant, {
      style: 'unit',
      unit: name,
      // Bytes have no sign that people know.
      unitDisplay: name === 'byte' ? 'long' : 'short',
      maximumFractionDigits: digits,
    }).format(value);
  const say: Language['say'] = (text, values) => fillIn(text, values, numbers);
  return {
    locale,
    direction: directionOf(locale),
    words,
    say,
    unread: (count) => say(words.unread[plurals.select(count)] ?? words.unread.other, { count }),
    number: (value) => numbers.format(value),
    bytes: (bytes) =>
      bytes < 1024
        ? unit(bytes, 'byte', 0)
        : bytes < 1024 * 1024
          ? unit(Math.round(bytes / 1024), 'kilobyte', 0)
          : unit(bytes / 1024 / 1024, 'megabyte', 1),
    time: (at) => times.format(at),
    day(at, now) {
      const startOf = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
      const daysAgo = Math.round((startOf(now) - startOf(at)) / 86_400_000);
      if (daysAgo === 0) return words.today;
      if (daysAgo === 1) return words.yesterday;
      return (at.getFullYear() === now.getFullYear() ? days : daysOfOtherYears).format(at);
    },
    moment: (at) => moments.format(at),
    inMinutes: (ms) => relative.format(Math.max(1, Math.ceil(ms / 60_000)), 'minute'),
  };
}

export const inEnglish = (wanted: readonly string[]): Language => languageOf('en', english, wanted);

/** Loads a language; English, which is here, where that fails. */
export async function loadLanguage(locale: ChatLocale, wanted: readonly string[]): Promise<Language> {
  return languageOf(...(await loadWords(locale, english, others)), wanted);
}
