/** The stemming dictionaries of PostgreSQL by language. Version 14 and later include all of them. */
export const dictionaries: Readonly<Record<string, string>> = {
  ar: 'arabic_stem',
  da: 'danish_stem',
  de: 'german_stem',
  el: 'greek_stem',
  en: 'english_stem',
  es: 'spanish_stem',
  fi: 'finnish_stem',
  fr: 'french_stem',
  hi: 'hindi_stem',
  hu: 'hungarian_stem',
  it: 'italian_stem',
  nl: 'dutch_stem',
  no: 'norwegian_stem',
  pt: 'portuguese_stem',
  ro: 'romanian_stem',
  ru: 'russian_stem',
  sv: 'swedish_stem',
  tr: 'turkish_stem',
};

/** Returns the language of a locale: `pt` for `pt-BR`. */
export const languageOfLocale = (locale: string): string => locale.split('-')[0]?.toLowerCase() ?? '';
