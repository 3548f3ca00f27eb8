import { logs as resource } from '../../../../shared/contract/automations/logs.ts';
import { streamEvents } from '../../../platform/http/live/event-stream.ts';
import { followRows } from '../../../platform/http/live/follow-rows.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import { presentLog, presentMessage } from './service.ts';
import type { Logs } from './service.ts';

export const logRoutes = (logs: Logs) =>
  implement(resource, {
    listAutomationMessages: ({ principal, query }) => logs.listMessages(principal.tenantId, query),
    listAutomationLogs: ({ principal, query }) => logs.listLogs(principal.tenantId, query),
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
