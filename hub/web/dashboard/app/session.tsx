import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { background } from '../../../../shared/web/background.ts';
import { keyOf, query } from './api.ts';
import type { Answer } from './api.ts';
import { checkSession } from './session-state.ts';

export type Session = Answer<'readMe'>;

const sessionQuery = { ...query('readMe'), staleTime: Infinity };

/** The signed-in user and the workspace. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (data === undefined) throw new Error('The page has no session.');
  return data;
}

/** Id of the workspace, for operations with it in their path. */
export const useTenantId = () => useSession().tenantId;
export const useIsAdmin = () => useSession().user.role === 'admin';

const channelName = 'outrigger-session';

/** Tells other pages of this browser that the user signed in. */
export function announceSession(): void {
  const channel = new BroadcastChannel(channelName);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A channel reaches only its own origin.
  channel.postMessage(null);
  channel.close();
}

/**
 * Reads the session again when the user returns to the page, and when another page of the browser was signed in: the
 * user, or the role of the user, may be another one.
 */
export function useSessionWatch(): void {
  const cache = useQueryClient();
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const check = async () => {
      const session = await checkSession();
      if (session !== null) cache.setQueryData(keyOf('readMe'), session);
    };
    const onSign = () => background(check());
    const onVisible = () => document.hidden || onSign();
    addEventListener('focus', onSign, { signal });
    document.addEventListener('visibilitychange', onVisible, { signal });
    const channel = new BroadcastChannel(channelName);
    channel.addEventListener('message', onSign);
    announceSession();
    return () => {
      stop.abort();
      channel.close();
    };
  }, [cache]);
}
