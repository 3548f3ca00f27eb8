import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from '../../../shared/client/client.ts';
import { background } from '../../../shared/web/background.ts';
import { actAs, query } from './app/api.ts';
import { LanguageProvider, loadLanguage, storeLocale } from './app/language.tsx';
import { LiveUpdates } from './app/live-updates.tsx';
import { preferences } from './app/preferences.ts';
import { queryClient } from './app/query-client.ts';
import { router } from './app/router.tsx';
import { noteLeaving, storageKey, watchFields } from './app/typed-texts.ts';
import { LoadError } from './ui/error.tsx';
import { showToast } from './ui/toasts.tsx';
// oxlint-disable-next-line import/no-unassigned-import
import './style.css';

/** Whether the user blocks the cookies of this site. Browsers block its storage then, and some still report cookies. */
function blocksCookies(): boolean {
  try {
    localStorage.getItem(storageKey);
    return false;
  } catch {
    return true;
  }
}

async function main(): Promise<void> {
  const [languageOfBrowser, session] = await Promise.all([
    loadLanguage(),
    queryClient.fetchQuery(query('readMe')).catch((error: unknown) => error as Error),
  ]);
  let language = languageOfBrowser;
  if (!(session instanceof Error)) {
    preferences.set(session.user.preferences);
    const chosen = session.user.preferences.language;
    if (chosen !== null && chosen !== language.locale) {
      storeLocale(chosen);
      language = await loadLanguage(chosen);
    }
  }
  const isSignedOut = session instanceof ApiError && session.status === 401;
  // A browser that blocks cookies would come back from the sign-in as it left.
  if (isSignedOut && !blocksCookies()) {
    location.replace(`/sign-in?to=${encodeURIComponent(location.pathname + location.search)}`);
    return;
  }
  const page = createRoot(document.querySelector('#dashboard') as HTMLElement);
  if (session instanceof Error) {
    page.render(
      <LanguageProvider value={language}>
        <main>
          <h1 className="sr-only">{language.words.common.product}</h1>
          <LoadError
            error={isSignedOut ? language.words.common.cookiesBlocked : session}
            onRetry={() => location.reload()}
          />
        </main>
      </LanguageProvider>,
    );
    return;
  }
  actAs(session.user.id);
  watchFields(session.user.id);
  router.subscribe('onBeforeNavigate', ({ pathChanged }) => pathChanged && noteLeaving());
  if (sessionStorage.getItem(storageKey) !== null) {
    const { typedRestored } = language.words.common;
    const { id } = session.user;
    const restoring = import('./app/restore-texts.ts').then(({ restoreTexts }) =>
      restoreTexts(id, () => showToast(typedRestored)),
    );
    background(restoring);
  }
  page.render(
    <StrictMode>
      <LanguageProvider value={language}>
        <QueryClientProvider client={queryClient}>
          <LiveUpdates>
            <RouterProvider router={router} />
          </LiveUpdates>
        </QueryClientProvider>
      </LanguageProvider>
    </StrictMode>,
  );
}

background(main());
