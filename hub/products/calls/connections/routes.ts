import { callConnections as resource } from '../../../../shared/contract/calls/connections.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import type { Handlers } from '../../../platform/http/routing/implement.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Connections } from './service.ts';

export const connectionRoutes = (
  connections: Connections,
  receiveCarrierEvent: Handlers<typeof resource>['receiveCarrierEvent'],
) =>
  implement(resource, {
    listCallConnections: ({ principal, query, baseUrl }) => connections.list(principal.tenantId, query, baseUrl),
    createCallConnection: ({ principal, body, baseUrl }) =>
      connections.create(principal.tenantId, body, actorOf(principal), baseUrl),
    getCallConnection: ({ principal, params, baseUrl }) => connections.get(principal.tenantId, params.id, baseUrl),
    updateCallConnection: ({ principal, params, body, baseUrl }) =>
      connections.update(principal.tenantId, params.id, body, actorOf(principal), baseUrl),
    deleteCallConnection: ({ principal, params }) =>
      connections.delete(principal.tenantId, params.id, actorOf(principal)),
    rotateCallConnection: ({ principal, params, body, baseUrl }) =>
      connections.rotate(principal.tenantId, params.id, body, actorOf(principal), baseUrl),
    receiveCarrierEvent,
  });
