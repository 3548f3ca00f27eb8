import { createContext, useContext } from 'react';
import type { Answer } from './api.ts';

export type Session = Answer<'readMe'>;

const SessionContext = createContext<Session | null>(null);
export const SessionProvider = SessionContext.Provider;

/** The signed-in user and the workspace. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('The page has no session.');
  return session;
}

/** Id of the workspace, for operations with it in their path. */
export const useTenantId = () => useSession().tenantId;
export const useIsAdmin = () => useSession().user.role === 'admin';
