/** Who is signed in. */
export interface SignedInUser {
  email: string;
  workspaceName: string;
}

/** Why there is no talk, as the page says it. */
export type Problem =
  | 'signedOut'
  | 'ended'
  | 'notEntitled'
  | 'notConfigured'
  | 'busyHub'
  | 'unreachable'
  | 'unsupported';

/** An answer that took longer is none, in milliseconds. */
const answerTimeoutMs = 10_000;

// The browser adds the cookie of the session, which no script can read: the page has nothing that could be taken from it.
export const ask = (path: string) =>
  fetch(new URL(path, document.baseURI), {
    cache: 'no-store',
    credentials: 'same-origin',
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(answerTimeoutMs),
  });

/** Who is signed in at this browser, or why that is not known. */
export async function readSignedInUser(): Promise<SignedInUser | Problem> {
  try {
    const response = await ask('auth/me');
    if (response.status === 401) return 'signedOut';
    if (!response.ok) return 'unreachable';
    const { user, workspaceName } = (await response.json()) as { user: { email: string }; workspaceName: string };
    return { email: user.email, workspaceName };
  } catch {
    return 'unreachable';
  }
}

/** Why a WebSocket was refused, which browsers do not tell: the same is asked for without one. */
export async function readRefusal(path: string): Promise<Problem> {
  try {
    const response = await ask(path);
    const { code = '' } = (await response.json().catch(() => ({}))) as { code?: string };
    return problemOf(response.status === 401 ? 'unauthenticated' : code);
  } catch {
    return 'unreachable';
  }
}

/** What a code of an error means for the page as a whole. */
export function problemOf(code: string): Problem {
  if (code === 'unauthenticated') return 'signedOut';
  if (code === 'product_not_entitled' || code === 'role_required') return 'notEntitled';
  if (code.endsWith('_not_configured')) return 'notConfigured';
  return 'unreachable';
}
