import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { logs as resource } from '../../../../shared/contract/automations/logs.ts';
import { readerStallMs, streamEvents } from '../../../platform/http/live/event-stream.ts';
import { followRows } from '../../../platform/http/live/follow-rows.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import { presentLog, presentMessage } from './service.ts';
import type { Logs } from './service.ts';

export const logRoutes = (logs: Logs) =>
  implement(resource, {
    listAutomationMessages: ({ principal, query }) => logs.listMessages(principal.tenantId, query),
    listAutomationLogs: ({ principal, query }) => logs.listLogs(principal.tenantId, query),
    async downloadAutomationRunLogs({ principal, params, query, accessRevoked, raw: { request, response } }) {
      const runId = params.id.toLowerCase();
      const pieces = await logs.downloadLog(principal.tenantId, runId, query);
      response.attachment(`run-${runId}.log`);
      response.set({ 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' });
      if (request.method === 'HEAD') {
        response.end();
        return undefined;
      }
      // Without a listener, the time-out destroys the connection of a client that does not read.
      response.setTimeout(readerStallMs);
      await pipeline(Readable.from(pieces, { highWaterMark: 1 }), response, { signal: accessRevoked }).catch(
        (error: unknown) => {
          // A client that disconnected needs no error response.
          if (!response.destroyed) throw error;
        },
      );
      return undefined;
    },
    streamAutomationMessages: ({ principal: { tenantId }, query, signal, headers, raw: { response } }) =>
      streamEvents(response, signal, { maxSeconds: resource.streamAutomationMessages.maxOpenSeconds }, (stream) =>
        followRows(
          stream,
          () => logs.followMessages(tenantId),
          headers['last-event-id'],
          'message',
          (after, limit) => logs.readMessagesAfter(tenantId, query, after, limit),
          presentMessage,
        ),
      ),
    streamAutomationLogs: ({ principal: { tenantId }, query, signal, headers, raw: { response } }) =>
      streamEvents(response, signal, { maxSeconds: resource.streamAutomationLogs.maxOpenSeconds }, (stream) =>
        followRows(
          stream,
          () => logs.followLogs(tenantId),
          headers['last-event-id'],
          'log',
          (after, limit) => logs.readLogsAfter(tenantId, query, after, limit),
          presentLog,
        ),
      ),
  });
