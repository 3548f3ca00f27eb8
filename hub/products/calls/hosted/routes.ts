import { hostedSipOperations as resource } from '../../../../shared/contract/calls/hosted-sip.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import type { PrincipalOf } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { HostedSips } from './service.ts';

type HostedSipRequest = { principal: PrincipalOf<typeof resource.optIntoHostedSip>; baseUrl: string };

const memberOf = ({ principal, baseUrl }: HostedSipRequest) => ({
  baseUrl,
  tenantId: principal.tenantId,
  userId: principal.user.id,
  actor: actorOf(principal),
});

export const hostedSipRoutes = (hosted: HostedSips) =>
  implement(resource, {
    getHostedSip: (request) => hosted.status(memberOf(request)),
    optIntoHostedSip: (request) => hosted.optIn(memberOf(request)),
    optOutOfHostedSip: (request) => hosted.optOut(memberOf(request)),
  });
