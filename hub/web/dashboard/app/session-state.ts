import { ApiError } from '../../../../shared/client/client.ts';
import { background } from '../../../../shared/web/background.ts';
import { Store } from '../../../../shared/web/store.ts';
import { client } from './api.ts';
import type { Answer } from './api.ts';

/**
 * Why the page can no longer act as its user: the session `expired`, or the browser was signed in as another user.
 */
export type SessionProblem = 'expired' | 'changed';
export const sessionState = new Store<{ problem: SessionProblem | null }>({ problem: null });

const setProblem = (problem: SessionProblem | null) => {
  if (sessionState.state.problem !== problem) sessionState.set({ problem });
};

/** Waits until the session is usable, or `signal` aborts. */
export async function untilSignedIn(signal: AbortSignal): Promise<void> {
  const isOver = () => signal.aborted || sessionState.state.problem === null;
  if (isOver()) return;
  await new Promise<void>((done) => {
    const end = () => {
      if (!isOver()) return;
      unsubscribe();
      signal.removeEventListener('abort', end);
      done();
    };
    const unsubscribe = sessionState.subscribe(end);
    signal.addEventListener('abort', end);
  });
}

let checks = 0;

/**
 * Asks the hub whether the browser is still signed in as the user of this page.
 * @returns the session; null if it ended, if it is the session of another user, or if the hub does not respond.
 */
export async function checkSession(): Promise<Answer<'readMe'> | null> {
  checks += 1;
  const check = checks;
  let problem: SessionProblem | null | undefined = null;
  let session: Answer<'readMe'> | null = null;
  try {
    session = await client.call('readMe');
  } catch (error) {
    const status = error instanceof ApiError ? error.status : 0;
    problem = status === 401 ? 'expired' : status === 409 ? 'changed' : undefined;
  }
  // A later check knows more.
  if (check === checks && problem !== undefined) setProblem(problem);
  return session;
}

/** Opens the sign-in dialog when the hub no longer accepts the session. */
export function noteFailure(error: unknown): void {
  if (!(error instanceof ApiError)) return;
  // A wrong current password is a field of a form, and the session is valid.
  const isRefused = error.code === 'session_changed' || (error.status === 401 && error.code !== 'invalid_credentials');
  // A request that started before a new sign-in can fail after it.
  if (isRefused && sessionState.state.problem === null) background(checkSession());
}
