import type { IncomingMessage } from 'node:http';
import { bearerProtocolPrefix } from '../../../../shared/contract/chat/live.ts';

/** The token that a page offers as a subprotocol of the WebSocket that it asks for, because it can send no `Authorization` with one. */
export function bearerProtocolOf(request: IncomingMessage): string | null {
  if (request.headers.upgrade?.toLowerCase() !== 'websocket') return null;
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return offered.find((name) => name.startsWith(bearerProtocolPrefix))?.slice(bearerProtocolPrefix.length) ?? null;
}

/** The token in the address of a WebSocket; the hub writes no address to its log. */
export function queryTokenOf({ url = '' }: IncomingMessage): string | null {
  const search = url.indexOf('?');
  return search === -1 ? null : new URLSearchParams(url.slice(search + 1)).get('token') || null;
}
