import type { BrowserSubscription } from './subscription.ts';

/** The signed-in user. */
export interface SignedInUser {
  id: string;
  email: string;
}

export interface PushState {
  publicKey: string;
  subscriptions: { id: string; isStopped: boolean }[];
}

/** A response of the hub other than 2xx, with the message of the hub. */
export class HubError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Requests without a response within this time fail. */
const answerTimeoutMs = 10_000;

/**
 * Calls the API with the session cookie of the browser.
 * @param userId the user whom the page shows; the hub refuses the request of another one.
 * @throws HubError; TypeError or DOMException when the hub is not reachable.
 */
async function call<Result>(method: string, path: string, userId: string | null, body?: object): Promise<Result> {
  const response = await fetch(path, {
    method,
    cache: 'no-store',
    credentials: 'same-origin',
    headers: {
      accept: 'application/json',
      ...(userId === null ? {} : { 'outrigger-session-user': userId }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(answerTimeoutMs),
  });
  const answer = (await response.json().catch(() => ({}))) as Result & { message?: string };
  if (!response.ok) throw new HubError(response.status, answer.message ?? String(response.status));
  return answer;
}

export const readUser = async () => (await call<{ user: SignedInUser }>('GET', '/auth/me', null)).user;

export const readState = (userId: string) => call<PushState>('GET', '/auth/me/push', userId);

/** The hub replaces an earlier subscription of this browser, so a repeated request needs no `Idempotency-Key`. */
export const createSubscription = (userId: string, { endpoint, keys }: BrowserSubscription) =>
  call<{ id: string }>('POST', '/auth/me/push-subscriptions', userId, { endpoint, keys });

/** Deletes a subscription, unless it is already deleted. */
export async function deleteSubscription(userId: string, id: string): Promise<void> {
  await call('DELETE', `/auth/me/push-subscriptions/${id}`, userId).catch((error: unknown) => {
    if (!(error instanceof HubError && error.status === 404)) throw error;
  });
}
