import { hostedSipOperations as resource } from '../../../../shared/contract/calls/hosted-sip.ts';
import { implement } from '../../../platform/http/implement.ts';
import { actorOf } from '../../../platform/http/principal.ts';
import type { PrincipalOf } from '../../../platform/http/principal.ts';
import type { HostedSips } from './service.ts';

const personOf = (principal: PrincipalOf<typeof resource.optIntoHostedSip>) => ({
  tenantId: principal.tenantId,
  userId: principal.user.id,
  actor: actorOf(principal),
});

export const hostedSipRoutes = (hosted: HostedSips) =>
  implement(resource, {
    getHostedSip: ({ principal }) => hosted.status(personOf(principal)),
    optIntoHostedSip: async ({ principal, raw }) => {
      raw.response.set('Cache-Control', 'no-store');
      return hosted.optIn(personOf(principal));
    },
    optOutOfHostedSip: ({ principal }) => hosted.optOut(personOf(principal)),
  });
