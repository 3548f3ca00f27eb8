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

/** What people may talk in, by BCP 47; services differ in what they know. */
const spoken = 'ar bn cs da de el en es fa fi fr he hi hu id it ja ko ms nb nl pl pt ro ru sv th tr uk ur vi zh'.split(
  ' ',
);

/** Words of a language, and how it writes names and numbers. */
export interface Language {
  locale: Locale;
  direction: 'ltr' | 'rtl';
  words: Words;
  /** Puts values into a text of `words`. */
  say: (text: string, values: Record<string, string | number>) => string;
  /** Languages to talk in, by their names in this one. */
  languages: readonly { code: string; name: string }[];
}

export function languageOf(locale: Locale, words: Words, wanted: readonly string[]): Language {
  const variant = variantOf(locale, wanted);
  const numbers = new Intl.NumberFormat(variant);
  const names = new Intl.DisplayNames(variant, { type: 'language' });
  const { compare } = new Intl.Collator(variant);
  return {
    locale,
    direction: directionOf(locale),
    words,
    say: (text, values) => fillIn(text, values, numbers),
    languages: spoken
      .map((code) => ({ code, name: names.of(code) ?? code }))
      .toSorted((left, right) => compare(left.name, right.name)),
  };
}

/** Loads a language; English, which is here, where that fails. */
export async function loadLanguage(locale: Locale, wanted: readonly string[]): Promise<Language> {
  return languageOf(...(await loadWords(locale, english, others)), wanted);
}
