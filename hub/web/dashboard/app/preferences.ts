import { Store } from '../../../../shared/web/store.ts';
import { useAction } from './api.ts';
import type { Answer } from './api.ts';
import { storeLocale, switchLanguage } from './language.tsx';
import type { DashboardLocale } from './language.tsx';
import { keepTypedTexts } from './typed-texts.ts';

export type Preferences = Answer<'readMe'>['user']['preferences'];

/** What the signed-in user chose. Set before the page is rendered. */
export const preferences = new Store<Preferences>({ language: null, enterSends: false });

/** Stores choices with the account. If the hub does not accept them, they last until the page is closed. */
export function useStorePreferences() {
  const { start, error } = useAction('updateMe');
  const store = (changes: Partial<Preferences>) => {
    preferences.set(changes);
    start({ body: { preferences: changes } });
  };
  return { store, error };
}

/** Stores the language with the account and in this browser, and shows the page in it. */
export function useChooseLanguage() {
  const { start, error } = useAction('updateMe', {
    onDone: async ({ user }) => {
      const { language } = user.preferences;
      preferences.set({ language });
      if (language === null) return;
      storeLocale(language);
      await switchLanguage(language).catch(() => {
        // The hub was upgraded and no longer has the scripts of this page.
        keepTypedTexts();
        location.reload();
      });
    },
  });
  return { choose: (language: DashboardLocale) => start({ body: { preferences: { language } } }), error };
}
