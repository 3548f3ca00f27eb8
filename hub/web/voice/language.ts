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

/** Languages offered for speaking, as BCP 47 codes. Speech services differ in the languages that they support. */
const spokenLanguageCodes =
  'ar bn cs da de el en es fa fi fr he hi hu id it ja ko ms nb nl pl pt ro ru sv th tr uk ur vi zh'.split(' ');

/** The texts of the voice page in a language, and how that language writes names and numbers. */
export interface Language extends PageLanguage<Words> {
  /** Languages offered for speaking, with their names in this language. */
  languages: readonly { code: string; name: string }[];
}

export function languageOf(locale: Locale, words: Words, preferred: readonly string[]): Language {
  const language = createLanguage(locale, words, preferred);
  const names = new Intl.DisplayNames(language.variant, { type: 'language' });
  const { compare } = new Intl.Collator(language.variant);
  return {
    ...language,
    languages: spokenLanguageCodes
      .map((code) => ({ code, name: names.of(code) ?? code }))
      .toSorted((left, right) => compare(left.name, right.name)),
  };
}

/** Loads a language. Returns English, which is part of the page, when loading fails. */
export async function loadLanguage(locale: Locale, preferred: readonly string[]): Promise<Language> {
  return languageOf(...(await loadWords(locale, english, others)), preferred);
}
