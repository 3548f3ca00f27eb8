import { chooseLocale, createLanguage } from '../../../shared/web/locale.ts';
import type { PageLanguage } from '../../../shared/web/locale.ts';
import { arabic } from './words/arabic.ts';
import { english } from './words/english.ts';
import type { Words } from './words/english.ts';
import { german } from './words/german.ts';

const tables = { en: english, de: german, ar: arabic };
const isTranslated = (name: string): name is keyof typeof tables => name in tables;

/** The language that the dashboard stored in this browser; otherwise that of the browser; otherwise English. */
export function chooseLanguage(): PageLanguage<Words> {
  const stored = localStorage.getItem('outrigger.language');
  const chosen = chooseLocale(stored !== null && isTranslated(stored) ? stored : null, navigator.languages);
  const locale = isTranslated(chosen) ? chosen : 'en';
  return createLanguage(locale, tables[locale], navigator.languages);
}
