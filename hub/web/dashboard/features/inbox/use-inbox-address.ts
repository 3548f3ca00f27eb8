import { useNavigate, useSearch } from '@tanstack/react-router';
import { background } from '../../../../../shared/web/background.ts';
import type { InboxSearch } from './inbox-search.ts';

/** The address of the inbox, and a function that changes parts of it. `undefined` removes a part. */
export function useInboxAddress() {
  const search = useSearch({ from: '/inbox' });
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
