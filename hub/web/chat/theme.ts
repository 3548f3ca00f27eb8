import type { defaultChatTitle } from '../../../shared/contract/chat/settings.ts';
import type { ChatPageSettings } from '../../../shared/contract/chat/visitor-page.ts';
import { contrastColor } from '../../../shared/web/color.ts';
import { chooseLocale } from '../../../shared/web/locale.ts';
import type { ChatOptions } from './chat-options.ts';
import { loadLanguage } from './language.ts';
import type { UnreadAlert } from './unread-alert.ts';

const defaultTitle: typeof defaultChatTitle = 'Chat with us';

/** The appearance of the chat, as the workspace configured it. */
export type Theme = Pick<ChatPageSettings, 'title' | 'colour' | 'locale'>;

/** Reads the theme that the hub wrote into the page. It applies until the settings are loaded. */
export function themeFromPage(title: string): Theme {
  const { locale, colour } = document.documentElement.dataset;
  return { title, colour: colour || '#0b5fff', locale: (locale || null) as Theme['locale'] };
}

/** Applies a theme to the page and reports it to the host. */
export async function applyTheme(
  { colour, locale, title: configuredTitle }: Theme,
  { store, postToHost, address }: Pick<ChatOptions, 'store' | 'postToHost' | 'address'>,
  unreadAlert: UnreadAlert,
): Promise<void> {
  const current = store.state.language;
  const preferred = address.languages;
  const chosenLocale = chooseLocale(locale, preferred);
  const language = chosenLocale === current.locale ? current : await loadLanguage(chosenLocale, preferred);
  const title = configuredTitle === defaultTitle ? language.words.title : configuredTitle;
  const textColour = contrastColor(colour);
  const root = document.documentElement;
  root.lang = language.locale;
  root.dir = language.direction;
  root.style.setProperty('--color-accent', colour);
  root.style.setProperty('--color-on-accent', textColour);
  store.set({ language, title });
  unreadAlert.setTitle(title);
  unreadAlert.showCount(store.state.unread);
  postToHost({ type: 'look', colour, ink: textColour, title });
}
