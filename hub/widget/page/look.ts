import type { ChatPageSettings } from '../../../shared/contract/chat/visitor-page.ts';
import { inkOn } from './colour.ts';
import { chooseLocale, loadLanguage } from './language.ts';
import type { Language } from './language.ts';

/** What the workspace chose of how its chat looks. */
export type Look = Pick<ChatPageSettings, 'title' | 'colour' | 'locale'>;

/** As the hub wrote it into the page, for as long as nobody may know more. */
export function lookOf(title: string): Look {
  const { locale, colour } = document.documentElement.dataset;
  return { title, colour: colour || '#0b5fff', locale: (locale || null) as Look['locale'] };
}

/** Puts a look on the page; answers its language. */
export async function wear({ colour, locale }: Look, current: Language): Promise<Language> {
  const wanted = navigator.languages;
  const chosen = chooseLocale(locale, wanted);
  const language = chosen === current.locale ? current : await loadLanguage(chosen, wanted);
  const root = document.documentElement;
  root.lang = language.locale;
  root.dir = language.direction;
  root.style.setProperty('--brand', colour);
  root.style.setProperty('--on-brand', inkOn(colour));
  return language;
}
