import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { callRecords as resource, exportsPerMinute } from '../../../../shared/contract/calls/records.ts';
import { AppError } from '../../../../shared/errors.ts';
import { readerStallMs, streamEvents } from '../../../platform/http/live/event-stream.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import type { WorkspaceEvents } from '../../core/events/index.ts';
import { exportText } from './export.ts';
import { assertSpan } from './service.ts';
import type { Calls } from './service.ts';

const contentTypes = { json: 'application/json; charset=utf-8', csv: 'text/csv; charset=utf-8; header=present' };
const streamed = new Set(['call', 'ready', 'reset']);

export const callRoutes = (calls: Calls, events: WorkspaceEvents, rateLimiter: RateLimiter) =>
  implement(resource, {
    listVoiceCalls: ({ principal, query }) => calls.list(principal.tenantId, query),
    getVoiceCall: ({ principal, params }) => calls.get(principal.tenantId, params.id),
    getVoiceUsage: ({ principal }) => calls.summary(principal.tenantId),
    listVoiceNumbers: async () => {
      throw new AppError('not_available', 'Phone numbers are planned, and not available yet.');
    },
    listCalls: ({ principal, query }) => calls.listAfterCall(principal.tenantId, query),
    getCallSummary: ({ principal }) => calls.summary(principal.tenantId),
    async exportCalls({ principal, query: { format, ...filter }, signal, accessRevoked, raw: { request, response } }) {
      assertSpan(filter);
      const state = await rateLimiter.take(
        `call-export:${principal.kind === 'token' ? principal.tokenId : principal.user.id}`,
        {
          limit: exportsPerMinute,
          windowSeconds: 60,
        },
      );
      if (!state.allowed) {
        const retryAfterSeconds = Math.max(1, Math.ceil((state.resetAt.getTime() - Date.now()) / 1000));
        throw new AppError(
          'rate_limited',
          `More than ${exportsPerMinute} exports a minute; try again in ${retryAfterSeconds} seconds.`,
          { retryAfterSeconds, limit: exportsPerMinute },
        );
      }
      response.attachment(`calls.${format}`);
      response.set({ 'Content-Type': contentTypes[format], 'Cache-Control': 'no-store' });
      if (request.method === 'HEAD') {
        response.end();
        return undefined;
      }
      response.setTimeout(readerStallMs);
      const pages = calls.pages(principal.tenantId, format, filter, signal);
      await pipeline(Readable.from(exportText(format, pages), { highWaterMark: 1 }), response, {
        signal: accessRevoked,
      }).catch((error: unknown) => {
        // The client disconnected, so no answer is needed.
        if (!response.destroyed) throw error;
      });
      return undefined;
    },
    streamCalls: ({ principal: { tenantId }, signal, headers, raw: { response } }) =>
      streamEvents(response, signal, { maxSeconds: resource.streamCalls.maxOpenSeconds }, (stream) =>
        events.follow(
          tenantId,
          {
            signal: stream.signal,
            send: async (type, data, id) => {
              if (streamed.has(type)) await stream.send(type, data, id);
            },
          },
          headers['last-event-id'],
        ),
      ),
  });
