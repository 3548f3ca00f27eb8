import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { background } from '../../../../../shared/web/background.ts';
import { readInboxSearch } from './inbox-search.ts';
import type { InboxSearch } from './inbox-search.ts';

/**
 * The address of the inbox. It changes before the next key, which means the new address: the router renders an address
 * only when the browser has time.
 */
function useCurrentSearch(): InboxSearch {
  const router = useRouter();
  const rendered = useSearch({ from: '/inbox' });
  const { pathname, search } = useSyncExternalStore(router.history.subscribe, () => router.latestLocation);
  // The page stays until the next one is rendered.
  return pathname.endsWith('/inbox') ? readInboxSearch(search as Record<string, unknown>) : rendered;
}

/** The address of the inbox, and a function that changes parts of it. `undefined` removes a part. */
export function useInboxAddress() {
  const search = useCurrentSearch();
  const navigate = useNavigate({ from: '/inbox' });
  const go = (change: { [Name in keyof InboxSearch]: InboxSearch[Name] | undefined }, replace = false) =>
    background(
      navigate({
        to: '/inbox',
        search: (now) =>
          Object.fromEntries(
            Object.entries({ ...now, ...change }).filter(([, value]) => value !== undefined),
          ) as InboxSearch,
        replace,
      }),
    );
  return { search, go };
}

/** A change of the address that opens a conversation. */
export const opening = (conversation: string | undefined, at?: number) => ({ conversation, at, panel: undefined });
