import { z } from 'zod';
import { defineResource } from '../define.ts';

/** SIP over a WebSocket (RFC 7118) for softphones of signed-in users. */

/** Maximum size of a frame, which is one SIP message, in bytes. */
export const maxSipFrameBytes = 64 * 1024;
/** Maximum number of connections that one user can open per minute, over all processes of a hub. */
export const maxSipSocketsPerMinute = 10;

export const sipCloseCodes = {
  /** The frame is not a SIP message. */
  invalidFrame: 1007,
  /** The SIP server is unavailable, or one side reads too slowly. The client should reconnect shortly. */
  tryAgain: 1013,
  /** The session ended, or the workspace lost its entitlement. */
  revoked: 4401,
  /** The message names another user, or hosted SIP is disabled. */
  foreign: 4403,
  /** Too many connections of one user, or too many messages. */
  tooMany: 4429,
} as const;

/** The request is upgraded to a WebSocket, which OpenAPI cannot describe. */
export const sipSockets = defineResource({
  connectSoftphone: {
    tag: 'SIP',
    callers: ['session'],
    role: 'agent',
    entitlement: 'business_calling',
    method: 'GET',
    path: '/sip/ws',
    summary: 'Connect a softphone',
    description: 'docs/reference/softphone-protocol.md describes the protocol.',
    query: z.strictObject({ token: z.string().max(4_096).optional() }),
    socket: { protocol: 'sip', maxFrameBytes: maxSipFrameBytes, tokenInQuery: true },
    response: z.never(),
    errors: ['upgrade_required'],
  },
});
