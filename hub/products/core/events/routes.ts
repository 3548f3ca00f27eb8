import { events as resource } from '../../../../shared/contract/core/events.ts';
import { streamEvents } from '../../../platform/http/live/event-stream.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { WorkspaceEvents } from './service.ts';

export const eventRoutes = (events: WorkspaceEvents) =>
  implement(resource, {
    streamWorkspaceEvents: ({ principal: { tenantId, user }, signal, headers, raw: { response } }) =>
      streamEvents(response, signal, { maxSeconds: resource.streamWorkspaceEvents.maxOpenSeconds }, (stream) =>
        events.follow(tenantId, stream, headers['last-event-id'], user.id),
      ),
  });
