import type { MessageFromFrame } from '../loader/frame-protocol.ts';
import type { HubError } from './api.ts';
import type { Problem } from './state.ts';

export interface VisitorAccess {
  /** Whether the visitor has a token or a session. */
  hasCredentials: boolean;
  /** Whether a token identified the visitor. */
  isKnown: boolean;
}

/** Maps an error of the hub to a problem of the page, depending on the visitor's access. */
export function problemOf(
  { status, code, isTemporary }: HubError,
  { hasCredentials, isKnown }: VisitorAccess,
): Problem {
  if (isTemporary) return 'unreachable';
  if (code === 'visitor_blocked') return 'blocked';
  if (status === 401 && !hasCredentials) return 'needed';
  // Without a link, no link can be wrong or need replacement.
  if (status === 401 && !isKnown) return 'over';
  if (code === 'chat_token_expired') return 'expired';
  return hasCredentials && (status === 401 || status === 400) ? 'invalid' : 'unavailable';
}

/** The error reported to a host that passed no token to a chat that requires one. */
export const tokenRequired: MessageFromFrame = {
  type: 'error',
  code: 'token_required',
  message:
    'This chat takes only visitors with a token. Call boot with the { token } of the signed-in visitor, or set allowAnonymous in the settings of the chat.',
};

const remedies: Record<string, string> = {
  chat_token_invalid:
    'The token is invalid, revoked, or belongs to another site key. Create a new one with POST /v1/chat/sessions on your server and pass it to update.',
  chat_token_expired:
    'The token has expired. Create a new one with POST /v1/chat/sessions on your server and pass it to update.',
};

/** The error message for the host's developers, with a remedy if one is known. */
export const developerMessage = ({ code, message }: HubError): string =>
  remedies[code] ?? (message === '' ? 'The hub did not answer. Check that this browser can reach it.' : message);
