import { channels as resource } from '../../../../shared/contract/automations/channels.ts';
import { actorOf, runCallerOf } from '../../../platform/http/auth/principal.ts';
import { expectedVersions, withETag } from '../../../platform/http/routing/if-match.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Channels } from './service.ts';

export const channelRoutes = (channels: Channels) =>
  implement(
    resource,
    {
      listAutomationChannels: ({ principal, query }) => channels.list(principal.tenantId, query),
      putAutomationChannel: async ({ principal, body, headers, raw: { response } }) =>
        withETag(response, await channels.put(principal.tenantId, body, actorOf(principal), expectedVersions(headers))),
      getAutomationChannel: async ({ principal, params, raw: { response } }) =>
        withETag(response, await channels.get(principal.tenantId, params.id)),
      deleteAutomationChannel: ({ principal, params }) =>
        channels.delete(principal.tenantId, params.id, actorOf(principal)),
      receiveAutomationChannelMessage: ({ principal, params, body, headers, rawBody }) =>
        channels.receive(
          params.id,
          { headers, rawBody, body },
          principal.kind === 'token' ? { tenantId: principal.tenantId, ...runCallerOf(principal) } : null,
        ),
      async verifyAutomationChannel({ params, query, raw: { response } }) {
        response.type('text/plain').send(await channels.verify(params.id, query));
      },
    },
    {
      verifyCredential: {
        receiveAutomationChannelMessage: async ({ principal, params, headers, rawBody }) => {
          return principal.kind === 'channel-call'
            ? channels.assertSigned(params['id'] ?? '', headers, rawBody)
            : undefined;
        },
      },
    },
  );
