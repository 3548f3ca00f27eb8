/** The signed-in user. */
export interface SignedInUser {
  email: string;
  workspaceName: string;
}

/** Why voice is unavailable. Each value has a title and a text in the words of the page. */
export type Problem =
  | 'signedOut'
  | 'ended'
  | 'notEntitled'
  | 'notConfigured'
  | 'busyHub'
  | 'unreachable'
  | 'unsupported';

/** Requests without a response within this time fail. */
const answerTimeoutMs = 10_000;

// The browser adds the session cookie, which scripts cannot read, so the page holds no secret.
export const fetchFromHub = (path: string) =>
  fetch(new URL(path, document.baseURI), {
    cache: 'no-store',
    credentials: 'same-origin',
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(answerTimeoutMs),
  });

/** Reads the signed-in user, or why the user is unknown. */
export async function readSignedInUser(): Promise<SignedInUser | Problem> {
  try {
    const response = await fetchFromHub('auth/me');
    if (response.status === 401) return 'signedOut';
    if (!response.ok) return 'unreachable';
    const { user, workspaceName } = (await response.json()) as { user: { email: string }; workspaceName: string };
    return { email: user.email, workspaceName };
  } catch {
    return 'unreachable';
  }
}

/** Finds out why a WebSocket was refused. Browsers hide the reason, so the same path is requested over HTTP. */
export async function readRefusal(path: string): Promise<Problem> {
  try {
    const response = await fetchFromHub(path);
    const { code = '' } = (await response.json().catch(() => ({}))) as { code?: string };
    return problemOf(response.status === 401 ? 'unauthenticated' : code);
  } catch {
    return 'unreachable';
  }
}

/** Maps an error code of the hub to a problem of the page. */
export function problemOf(code: string): Problem {
  if (code === 'unauthenticated') return 'signedOut';
  if (code === 'product_not_entitled' || code === 'role_required') return 'notEntitled';
  if (code.endsWith('_not_configured')) return 'notConfigured';
  return 'unreachable';
}
