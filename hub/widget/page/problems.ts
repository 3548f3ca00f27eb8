import type { HubError } from './api.ts';
import type { Problem } from './state.ts';

/** What the page says of a refusal. @param hasToken whether the visitor came with a token or a session. */
export function problemOf({ status, code, isPassing }: HubError, hasToken: boolean): Problem {
  if (isPassing) return 'unreachable';
  if (code === 'chat_token_expired') return 'expired';
  if (code === 'visitor_blocked') return 'blocked';
  if (status === 401 && !hasToken) return 'needed';
  return hasToken && (status === 401 || status === 400) ? 'invalid' : 'unavailable';
}
