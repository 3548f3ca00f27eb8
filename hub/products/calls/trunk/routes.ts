import { ownTrunks as resource } from '../../../../shared/contract/calls/own-trunk.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { OwnTrunks } from './service.ts';

export const ownTrunkRoutes = (trunks: OwnTrunks) =>
  implement(resource, {
    registerOwnTrunk: ({ principal, body }) => trunks.register(principal.tenantId, body, actorOf(principal)),
    getSipStatus: ({ principal }) => trunks.status(principal.tenantId),
    removeOwnTrunk: ({ principal }) => trunks.remove(principal.tenantId, actorOf(principal)),
  });
