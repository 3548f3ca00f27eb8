import type { FromFrame } from '../frame-protocol.ts';
import type { HubError } from './api.ts';
import type { Problem } from './state.ts';

export interface Came {
  /** Whether there is a token or a session. */
  hasAny: boolean;
  /** Whether somebody's token led here. */
  isKnown: boolean;
}

/** What the page says of a refusal, to somebody who came so. */
export function problemOf({ status, code, isPassing }: HubError, { hasAny, isKnown }: Came): Problem {
  if (isPassing) return 'unreachable';
  if (code === 'visitor_blocked') return 'blocked';
  if (status === 401 && !hasAny) return 'needed';
  // Who had no link has none that could be wrong or replaced.
  if (status === 401 && !isKnown) return 'over';
  if (code === 'chat_token_expired') return 'expired';
  return hasAny && (status === 401 || status === 400) ? 'invalid' : 'unavailable';
}

/** What a host is told that gave no token where one is needed. */
export const tokenRequired: FromFrame = {
  type: 'error',
  code: 'token_required',
  message:
    'Nobody may write here without a token: call boot with the { token } of whoever is signed in, or switch allowAnonymous on in the settings of the chat.',
};
