import type { IncomingMessage } from 'node:http';
import { bearerProtocolPrefix } from '../../../../shared/contract/chat/live.ts';

/**
 * Returns the token that a page sends as a WebSocket subprotocol, because browsers cannot send `Authorization` with a
 * WebSocket.
 */
export function bearerProtocolOf(request: IncomingMessage): string | null {
  if (request.headers.upgrade?.toLowerCase() !== 'websocket') return null;
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return offered.find((name) => name.startsWith(bearerProtocolPrefix))?.slice(bearerProtocolPrefix.length) ?? null;
}

/** Returns the token in the URL of a WebSocket. The hub does not log URLs. */
export function queryTokenOf({ url = '' }: IncomingMessage): string | null {
  const search = url.indexOf('?');
  return search === -1 ? null : new URLSearchParams(url.slice(search + 1)).get('token') || null;
}
