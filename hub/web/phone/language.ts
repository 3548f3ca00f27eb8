import { directionOf, fillIn, loadWords, variantOf } from '../kit/locale.ts';
import type { Locale, OtherWords } from '../kit/locale.ts';
import { english } from './words/english.ts';
import type { Words } from './words/english.ts';

const others: OtherWords<Words> = {
  de: () => import('./words/german.ts').then(({ german }) => german),
  fr: () => import('./words/french.ts').then(({ french }) => french),
  es: () => import('./words/spanish.ts').then(({ spanish }) => spanish),
  ar: () => import('./words/arabic.ts').then(({ arabic }) => arabic),
  ja: () => import('./words/japanese.ts').then(({ japanese }) => japanese),
};

/** Words of a language, and how it writes numbers and times. */
export interface Language {
  locale: Locale;
  direction: 'ltr' | 'rtl';
  words: Words;
  /** Puts values into a text of `words`. */
  say: (text: string, values: Record<string, string | number>) => string;
  /** A length of time as clocks show it, such as `1:02` or `1:00:05`. */
  clock: (seconds: number) => string;
  /** Leads from whoever called to whom they called. */
  arrow: '→' | '←';
  /** The time of a day, with the day where it is not today. */
  time: (at: Date) => string;
}

function languageOf(locale: Locale, words: Words, wanted: readonly string[]): Language {
  const variant = variantOf(locale, wanted);
  const numbers = new Intl.NumberFormat(variant);
  const whole = new Intl.NumberFormat(variant, { useGrouping: false });
  const two = new Intl.NumberFormat(variant, { minimumIntegerDigits: 2 });
  const clock = (seconds: number) => {
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    const rest = two.format(Math.floor(seconds) % 60);
    return hours > 0 ? `${whole.format(hours)}:${two.format(minutes)}:${rest}` : `${whole.format(minutes)}:${rest}`;
  };
  const today = new Intl.DateTimeFormat(variant, { hour: 'numeric', minute: '2-digit' });
  const other = new Intl.DateTimeFormat(variant, {
    day: 'numeric',
    month: 'short',
    hour: 'numeric',
    minute: '2-digit',
  });
  return {
    locale,
    direction: directionOf(locale),
    words,
    say: (text, values) => fillIn(text, values, numbers),
    clock,
    arrow: directionOf(locale) === 'rtl' ? '←' : '→',
    time: (at) => (at.toDateString() === new Date().toDateString() ? today : other).format(at),
  };
}

/** Loads a language; English, which is here, where that fails. */
export async function loadLanguage(locale: Locale, wanted: readonly string[]): Promise<Language> {
  return languageOf(...(await loadWords(locale, english, others)), wanted);
}
