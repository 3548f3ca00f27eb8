import { z } from 'zod';
import { defineResource } from '../define.ts';

/** SIP over a WebSocket (RFC 7118) for softphones of people who are signed in. */

/** Greatest frame, in bytes: one SIP message. */
export const maxSipFrameBytes = 64 * 1024;
/** Connections that one person may open in a minute, over all processes of a hub. */
export const sipSocketsAMinute = 10;

export const sipCloseCodes = {
  /** Not a SIP message. */
  notUnderstood: 1007,
  /** The SIP server is away, or its other side reads too slowly; come back shortly. */
  tryAgain: 1013,
  /** The session counts no more, or its workspace is not entitled any more. */
  revoked: 4401,
  /** A message in somebody else's name, or hosted SIP is not on. */
  foreign: 4403,
  /** More connections than a person may open, or more messages than a softphone may send. */
  tooMany: 4429,
} as const;

/** Becomes a WebSocket, which no OpenAPI document can describe. */
export const sipSockets = defineResource({
  connectSoftphone: {
    tag: 'SIP',
    callers: ['session'],
    role: 'agent',
    entitlement: 'business_calling',
    method: 'GET',
    path: '/sip/ws',
    summary: 'Connect a softphone',
    description: 'docs/calling.md says what goes through it.',
    query: z.strictObject({ token: z.string().max(4_096).optional() }),
    socket: { protocol: 'sip', maxFrameBytes: maxSipFrameBytes, tokenInQuery: true },
    response: z.never(),
    errors: ['upgrade_required'],
  },
});
