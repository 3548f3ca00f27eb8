import type { defaultChatTitle } from '../../../shared/contract/chat/settings.ts';
import type { ChatPageSettings } from '../../../shared/contract/chat/visitor-page.ts';
import { contrastColor } from '../../../shared/web/color.ts';
import { chooseLocale } from '../../../shared/web/locale.ts';
import type { Attention } from './attention.ts';
import type { ChatOptions } from './chat-options.ts';
import { loadLanguage } from './language.ts';

const defaultTitle: typeof defaultChatTitle = 'Chat with us';

/** What the workspace chose of how its chat looks. */
export type Look = Pick<ChatPageSettings, 'title' | 'colour' | 'locale'>;

/** As the hub wrote it into the page, for as long as nobody may know more. */
export function lookOf(title: string): Look {
  const { locale, colour } = document.documentElement.dataset;
  return { title, colour: colour || '#0b5fff', locale: (locale || null) as Look['locale'] };
}

/** Puts a look on the page, and tells the page around it. */
export async function wear(
  { colour, locale, title: set }: Look,
  { store, tellHost, address }: Pick<ChatOptions, 'store' | 'tellHost' | 'address'>,
  attention: Attention,
): Promise<void> {
  const current = store.state.language;
  const wanted = address.languages;
  const chosen = chooseLocale(locale, wanted);
  const language = chosen === current.locale ? current : await loadLanguage(chosen, wanted);
  const title = set === defaultTitle ? language.words.title : set;
  const textColour = contrastColor(colour);
  const root = document.documentElement;
  root.lang = language.locale;
  root.dir = language.direction;
  root.style.setProperty('--color-accent', colour);
  root.style.setProperty('--color-on-accent', textColour);
  store.set({ language, title });
  attention.setTitle(title);
  attention.show(store.state.unread);
  tellHost({ type: 'look', colour, ink: textColour, title });
}
