import type { MessageFromFrame } from '../loader/frame-protocol.ts';
import type { HubError } from './api.ts';
import type { Problem } from './state.ts';

export interface VisitorAccess {
  /** Whether there is a token or a session. */
  hasCredentials: boolean;
  /** Whether somebody's token led here. */
  isKnown: boolean;
}

/** What the page says of a refusal, to somebody who came so. */
export function problemOf(
  { status, code, isTemporary }: HubError,
  { hasCredentials, isKnown }: VisitorAccess,
): Problem {
  if (isTemporary) return 'unreachable';
  if (code === 'visitor_blocked') return 'blocked';
  if (status === 401 && !hasCredentials) return 'needed';
  // Who had no link has none that could be wrong or replaced.
  if (status === 401 && !isKnown) return 'over';
  if (code === 'chat_token_expired') return 'expired';
  return hasCredentials && (status === 401 || status === 400) ? 'invalid' : 'unavailable';
}

/** What a host is told that gave no token where one is needed. */
export const tokenRequired: MessageFromFrame = {
  type: 'error',
  code: 'token_required',
  message:
    'This chat takes only visitors with a token. Call boot with the { token } of the signed-in visitor, or set allowAnonymous in the settings of the chat.',
};

const remedies: Record<string, string> = {
  chat_token_invalid:
    'The token is changed, revoked, or of another site key. Mint a new one with POST /v1/chat/sessions on your server and pass it to update.',
  chat_token_expired:
    'The token has expired. Mint a new one with POST /v1/chat/sessions on your server and pass it to update.',
};

/** What a host's developers read of a refusal: the remedy where there is one. */
export const developerMessage = ({ code, message }: HubError): string =>
  remedies[code] ?? (message === '' ? 'The hub did not answer. Check that this browser reaches it.' : message);
