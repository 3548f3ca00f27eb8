import { useQuery } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import { Menu, Search, X } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { visibleLine } from '../../../../shared/visible-text.ts';
import { background } from '../../../../shared/web/background.ts';
import { IconButton } from '../ui/button.tsx';
import { ErrorNote } from '../ui/error.tsx';
import { Toasts } from '../ui/toasts.tsx';
import { query } from './api.ts';
import { languageNames, loadTexts, useLanguage } from './language.tsx';
import type { DashboardLocale } from './language.tsx';
import { liveState } from './live-events.ts';
import { Navigation } from './navigation.tsx';
import { useChooseLanguage } from './preferences.ts';
import { renewNotificationsOfBrowser, signOutOfBrowser } from './renew-notifications.ts';
import { SearchDialog } from './search-dialog.tsx';
import { useSession } from './session.tsx';
import { SignInDialog } from './sign-in-dialog.tsx';
import { forgetTexts } from './typed-texts.ts';
import { useStore } from './use-store.ts';

const loadShortcuts = () =>
  Promise.all([import('./shortcuts-dialog.tsx'), loadTexts(['shortcuts'])]).then(([module]) => ({
    default: module.ShortcutsDialog,
  }));
const ShortcutsDialog = lazy(loadShortcuts);

function Logo() {
  return (
    <svg viewBox="0 0 22 22" className="size-5.5 shrink-0" aria-hidden>
      <rect width="22" height="22" rx="6" className="fill-accent" />
      <path d="M6 13.5h10M8 9h6M11 9v4.5" className="stroke-on-accent" strokeWidth="1.8" strokeLinecap="round" />
    </svg>
  );
}

function LanguageChoice() {
  const { locale, words } = useLanguage();
  const { choose, error } = useChooseLanguage();
  return (
    <>
      <select
        aria-label={words.common.language}
        className="min-h-6 rounded-(--radius-small) bg-transparent px-1 py-0.5 text-sm text-text-muted"
        value={locale}
        onChange={(event) => choose(event.target.value as DashboardLocale)}
      >
        {Object.entries(languageNames).map(([name, label]) => (
          <option key={name} value={name} className="bg-surface text-text">
            {label}
          </option>
        ))}
      </select>
      <ErrorNote error={error} />
    </>
  );
}

/** The signed-in user, with the links that belong to the user and not to a page. */
function UserMenu() {
  const { words, format } = useLanguage();
  const { common } = words;
  const { user } = useSession();
  const { data: entitlements } = useQuery(query('readEntitlements'));
  // These pages need the microphone, so they are documents of their own.
  const links = [
    ...(entitlements?.business_calling === true ? [{ href: '/phone', label: common.phone }] : []),
    ...(entitlements?.business_phone === true ? [{ href: '/voice', label: common.voice }] : []),
    { href: '/docs', label: common.apiReference },
  ];
  return (
    <div className="flex flex-col gap-1 border-t px-2.5 pt-2.5 text-sm text-text-muted">
      <span className="wrap-anywhere">
        {format(common.you, { name: visibleLine(user.displayName ?? user.email), role: common.roles[user.role] })}
      </span>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        {/* A form sends no `Idempotency-Key`. A session that has ended can be ended again. */}
        <form
          method="post"
          action="/sign-out"
          onSubmit={(event) => {
            forgetTexts();
            signOutOfBrowser(event);
          }}
        >
          <input type="hidden" name="to" value="/sign-in" />
          <button type="submit" className="min-h-6 text-accent hover:underline">
            {common.signOut}
          </button>
        </form>
        <LanguageChoice />
      </div>
      <div className="flex flex-wrap gap-x-3 gap-y-1">
        {links.map(({ href, label }) => (
          <a
            key={href}
            href={href}
            className="inline-flex min-h-6 items-center text-text-muted no-underline hover:underline"
          >
            {label}
          </a>
        ))}
      </div>
    </div>
  );
}

/** Whether a key is text for an element, or another dialog is open. */
const takesText = (target: EventTarget | null) =>
  (target instanceof HTMLElement && (target.isContentEditable || target.closest('input, textarea, select') !== null)) ||
  document.querySelector('dialog[open]') !== null;

const hasOwnShortcuts = (path: string) => path.startsWith('/app/inbox');

/** The frame around every page: navigation, search, user, messages. */
export function Shell() {
  const { words } = useLanguage();
  const { common } = words;
  const { workspaceName, user } = useSession();
  const { isConnected } = useStore(liveState);
  useEffect(() => renewNotificationsOfBrowser(user.id), [user.id]);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isSearching, setSearching] = useState(false);
  const [showsShortcuts, setShowsShortcuts] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === '?' && !takesText(event.target) && !hasOwnShortcuts(location.pathname)) {
        event.preventDefault();
        // Without its script, the key does nothing: the page must stay as it is.
        background(
          loadShortcuts().then(
            () => {
              // Meanwhile the user may have begun to type, opened a dialog, or gone to the inbox.
              const isBusy = takesText(document.activeElement) || document.querySelector('dialog[open]') !== null;
              if (!isBusy && !hasOwnShortcuts(location.pathname)) setShowsShortcuts(true);
            },
            () => undefined,
          ),
        );
        return;
      }
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey)
        return;
      event.preventDefault();
      setSearching(true);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const openSearch = () => {
    setMenuOpen(false);
    setSearching(true);
  };
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[13rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:start-2 focus:top-2 focus:z-30 focus:bg-surface focus:p-2"
      >
        {common.skipToContent}
      </a>
      <header className="sticky top-0 z-10 flex items-center gap-2 border-b bg-sidebar px-3 py-1.5 md:hidden">
        <IconButton
          label={isMenuOpen ? common.closeMenu : common.openMenu}
          aria-expanded={isMenuOpen}
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          {isMenuOpen ? <X size={20} aria-hidden /> : <Menu size={20} aria-hidden />}
        </IconButton>
        <Logo />
        <span className="min-w-0 truncate font-semibold">{visibleLine(workspaceName)}</span>
        <IconButton label={common.search} className="ms-auto" onClick={openSearch}>
          <Search size={18} aria-hidden />
        </IconButton>
      </header>
      <aside
        className={`${isMenuOpen ? 'flex' : 'hidden'} flex-col gap-2 border-b bg-sidebar p-2.5 md:sticky md:top-0 md:flex md:h-dvh md:overflow-y-auto md:border-e md:border-b-0 md:pt-3.5`}
      >
        <Link
          to="/"
          className="hidden items-center gap-2 px-2.5 pb-2 font-semibold text-text no-underline wrap-anywhere md:flex"
        >
          <Logo />
          {visibleLine(workspaceName)}
        </Link>
        <nav aria-label={common.mainMenu}>
          <Navigation onNavigate={() => setMenuOpen(false)} />
        </nav>
        <div className="mt-auto flex flex-col gap-2">
          <button
            type="button"
            onClick={openSearch}
            className="flex items-center gap-2.5 rounded-(--radius-medium) px-2.5 py-1.5 font-medium text-text-muted hover:bg-hover max-md:hidden"
          >
            <Search size={17} aria-hidden />
            {common.search}
            <kbd className="ms-auto text-xs">Ctrl K</kbd>
          </button>
          <UserMenu />
        </div>
      </aside>
      <main id="content" tabIndex={-1} className="min-w-0 px-4 py-4 outline-none md:px-6 md:py-4.5">
        {!isConnected && (
          <p role="status" className="mb-3 rounded-(--radius-medium) bg-warning-muted px-3 py-1.5 text-sm text-warning">
            {common.offline}
          </p>
        )}
        <Outlet />
      </main>
      {isSearching && <SearchDialog onClose={() => setSearching(false)} />}
      <Suspense>{showsShortcuts && <ShortcutsDialog onClose={() => setShowsShortcuts(false)} />}</Suspense>
      <SignInDialog />
      <Toasts />
    </div>
  );
}
