import type { ChatLocale } from '../../../shared/contract/chat/settings.ts';

/** A language that the pages speak. */
export type Locale = ChatLocale;

const spoken: readonly Locale[] = ['en', 'de', 'fr', 'es', 'ar', 'ja'];

/** The language that somebody set, else the first of the reader's that the pages speak, else English. */
export function chooseLocale(set: Locale | null, wanted: readonly string[]): Locale {
  if (set !== null) return set;
  const found = wanted.map((name) => name.slice(0, 2).toLowerCase());
  return found.flatMap((name) => spoken.filter((locale) => locale === name))[0] ?? 'en';
}

/** The reader's own way of writing times and numbers where it is of the language of the page. */
export const variantOf = (locale: Locale, wanted: readonly string[]): string =>
  wanted.find((name) => name.toLowerCase().startsWith(locale)) ?? locale;

export const directionOf = (locale: Locale): 'ltr' | 'rtl' => (locale === 'ar' ? 'rtl' : 'ltr');

/** Puts values into the braces of a text. */
export const fillIn = (text: string, values: Record<string, string | number>, numbers: Intl.NumberFormat): string =>
  text.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = values[name];
    return typeof value === 'number' ? numbers.format(value) : (value ?? '');
  });

/** Where the words of a page are in each language; English comes with the page. */
export type OtherWords<Words> = Record<Exclude<Locale, 'en'>, () => Promise<Words>>;

/** Loads the words of a language; English, which is here, where that fails. */
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
