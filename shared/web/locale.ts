import type { ChatLocale } from '../contract/chat/settings.ts';
import { createNumberFormats } from './formats.ts';
import type { NumberFormats } from './formats.ts';

/** A language into which the pages are translated. */
export type Locale = ChatLocale;

const supportedLocales: readonly Locale[] = ['en', 'de', 'fr', 'es', 'ar', 'ja'];
const isSupported = (name: string): name is Locale => supportedLocales.some((locale) => locale === name);

/** The configured language; without one, the first supported language of the reader's preferred ones; else English. */
export function chooseLocale(configured: Locale | null, preferred: readonly string[]): Locale {
  if (configured !== null) return configured;
  const languages = preferred.map((name) => name.slice(0, 2).toLowerCase());
  return languages.find(isSupported) ?? 'en';
}

/** The reader's regional variant of a language, such as `en-GB` for `en`, so that times and numbers follow its conventions. */
export const variantOf = (locale: Locale, preferred: readonly string[]): string =>
  preferred.find((name) => name.toLowerCase().startsWith(locale)) ?? locale;

export const directionOf = (locale: Locale): 'ltr' | 'rtl' => (locale === 'ar' ? 'rtl' : 'ltr');

/** Replaces each `{name}` in a text by its value; numbers are formatted by `formatNumber`. */
export const fillIn = (
  text: string,
  values: Record<string, string | number>,
  formatNumber: (value: number) => string,
): string =>
  text.replaceAll(/\{(\w+)\}/g, (_placeholder, name: string) => {
    const value = values[name];
    return typeof value === 'number' ? formatNumber(value) : (value ?? '');
  });

/** Loads the texts of a page for each language but English, which is part of the page. */
export type OtherWords<Words> = Record<Exclude<Locale, 'en'>, () => Promise<Words>>;

/** Loads the texts of a language; returns the English ones when loading fails. */
export async function loadWords<Words>(
  locale: Locale,
  english: Words,
  others: OtherWords<Words>,
): Promise<[Locale, Words]> {
  if (locale === 'en') return ['en', english];
  return others[locale]().then(
    (words) => [locale, words],
    () => ['en', english],
  );
}

/** The texts of a page in a language, and how that language is written. */
export interface PageLanguage<Words> extends NumberFormats {
  locale: Locale;
  /** The locale whose conventions times and numbers follow. */
  variant: string;
  direction: 'ltr' | 'rtl';
  words: Words;
  /** Fills the placeholders of a text of `words`. */
  format: (text: string, values: Record<string, string | number>) => string;
}

export function createLanguage<Words>(locale: Locale, words: Words, preferred: readonly string[]): PageLanguage<Words> {
  const variant = variantOf(locale, preferred);
  const numbers = createNumberFormats(variant);
  return {
    ...numbers,
    locale,
    variant,
    direction: directionOf(locale),
    words,
    format: (text, values) => fillIn(text, values, numbers.number),
  };
}
