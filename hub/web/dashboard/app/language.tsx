import { createContext, useContext } from 'react';
import type { ReactNode } from 'react';
import { createTimeFormats } from '../../../../shared/web/formats.ts';
import type { TimeFormats } from '../../../../shared/web/formats.ts';
import { chooseLocale, createLanguage } from '../../../../shared/web/locale.ts';
import type { Locale, PageLanguage } from '../../../../shared/web/locale.ts';
import { Store } from '../../../../shared/web/store.ts';
import { arabic } from '../texts/arabic.ts';
import { english } from '../texts/english.ts';
import type { TextLoaders, Words } from '../texts/english.ts';
import { german } from '../texts/german.ts';
import { useStore } from './use-store.ts';

export type { Words };

export interface Language extends PageLanguage<Words>, TimeFormats {
  /** Writes a duration, such as `210 ms`, `1.05 s` or `4 min 2 s`. */
  duration: (ms: number) => string;
}

const storageKey = 'outrigger.language';

/** The languages of the dashboard, each by its own name. */
export const languageNames = { en: 'English', de: 'Deutsch', ar: 'العربية' } as const satisfies Partial<
  Record<Locale, string>
>;
export type DashboardLocale = keyof typeof languageNames;

/** Stores the language of this browser, for the pages that it loads. */
export function storeLocale(locale: DashboardLocale): void {
  try {
    localStorage.setItem(storageKey, locale);
  } catch {
    // The storage of the browser is full or off. The account has the language as well.
  }
}

function readLocale(): string {
  try {
    return localStorage.getItem(storageKey) ?? '';
  } catch {
    return '';
  }
}

/** Languages without texts show English. */
const loaders: Record<DashboardLocale, TextLoaders> = { en: english, de: german, ar: arabic };
const isTranslated = (name: string): name is DashboardLocale => name in languageNames;

/** The language of the page, and the texts that it has so far. */
let current: { locale: DashboardLocale; words: Partial<Words> } = { locale: 'en', words: {} };

/** Loads the language of this browser, or the one of the account, with the texts that every page has. */
export async function loadLanguage(ofAccount?: DashboardLocale): Promise<Language> {
  const stored = ofAccount ?? readLocale();
  const preferred = chooseLocale(isTranslated(stored) ? stored : null, navigator.languages);
  const locale = isTranslated(preferred) ? preferred : 'en';
  current = await loaders[locale].common().then(
    (common) => ({ locale, words: { common } }),
    async () => ({ locale: 'en', words: { common: await english.common() } }),
  );
  return currentLanguage();
}

function currentLanguage(): Language {
  // Pages add their tables before they are shown.
  const words = current.words as Words;
  const language = createLanguage(current.locale, words, navigator.languages);
  document.documentElement.lang = language.locale;
  document.documentElement.dir = language.direction;
  return { ...language, ...createTimeFormats(language.variant), duration: createDurationFormat(language.variant) };
}

const load = ({ locale, words }: typeof current, tables: readonly (keyof Words)[]) =>
  Promise.all(
    tables.map(async (table) => Object.assign(words, { [table]: words[table] ?? (await loaders[locale][table]()) })),
  );

/** Loads tables of texts in the language of the page. */
export async function loadTexts(tables: readonly (keyof Words)[]): Promise<void> {
  const texts = current;
  await load(texts, tables);
  // Meanwhile the user may have chosen another language.
  if (texts !== current) await loadTexts(tables);
}

/** The language that the user has chosen since the page was loaded. */
const chosen = new Store<{ language: Language | null }>({ language: null });

let lastChoice: DashboardLocale | null = null;

/** Shows the page in another language. Its fields keep what the user typed. @throws when the texts cannot be loaded. */
export async function switchLanguage(locale: DashboardLocale): Promise<void> {
  lastChoice = locale;
  const texts: typeof current = { locale, words: {} };
  const tables = () => Object.keys(current.words) as (keyof Words)[];
  // A page that is opened meanwhile adds tables.
  while (tables().some((table) => !texts.words[table])) await load(texts, tables());
  // The user may have chosen another language while the texts were loaded.
  if (lastChoice !== locale) return;
  current = texts;
  chosen.set({ language: currentLanguage() });
}

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

function createDurationFormat(locale: string): (ms: number) => string {
  const unit = (name: string, maximumFractionDigits = 0) => {
    const { format } = new Intl.NumberFormat(locale, {
      style: 'unit',
      unit: name,
      unitDisplay: 'short',
      maximumFractionDigits,
    });
    return format;
  };
  const [milliseconds, minutes, hours, days] = [unit('millisecond'), unit('minute'), unit('hour'), unit('day')];
  const [seconds, tenths, hundredths] = [unit('second'), unit('second', 1), unit('second', 2)];
  const pair = (large: string, small: string, rest: number) => (rest === 0 ? large : `${large} ${small}`);
  return (ms) => {
    if (ms < secondMs) return milliseconds(Math.round(ms));
    if (ms < minuteMs) return (ms < 10 * secondMs ? hundredths : tenths)(ms / secondMs);
    if (ms < hourMs) {
      const rest = Math.floor((ms % minuteMs) / secondMs);
      return pair(minutes(Math.floor(ms / minuteMs)), seconds(rest), rest);
    }
    const [large, small, largeMs, smallMs] =
      ms < dayMs ? [hours, minutes, hourMs, minuteMs] : [days, hours, dayMs, hourMs];
    const rest = Math.floor((ms % largeMs) / smallMs);
    return pair(large(Math.floor(ms / largeMs)), small(rest), rest);
  };
}

const LanguageContext = createContext<Language | null>(null);

/** Gives the page its language: the one that the user has chosen last, else `value`. */
export function LanguageProvider({ value, children }: { value: Language; children: ReactNode }) {
  const { language } = useStore(chosen);
  return <LanguageContext value={language ?? value}>{children}</LanguageContext>;
}

export function useLanguage(): Language {
  const language = useContext(LanguageContext);
  if (language === null) throw new Error('The page has no language.');
  return language;
}

/** The texts of the page. */
export const useWords = () => useLanguage().words;
