import { packs as resource } from '../../../../shared/contract/automations/packs.ts';
import { actorOf, runCallerOf } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { HubPacks } from './hub-packs.ts';
import type { Packs } from './service.ts';

export const packRoutes = (packs: Packs, hubPacks: HubPacks) =>
  implement(resource, {
    listAutomationSkills: ({ principal, query }) => packs.list(principal.tenantId, query),
    installAutomationSkill: ({ principal, body }) => packs.install(principal.tenantId, body, actorOf(principal)),
    createAutomationSkillWorkflow: ({ principal, params, body }) =>
      packs.createWorkflow(principal.tenantId, params.packId, body, runCallerOf(principal)),
    getAutomationSkillSdk: async () => packs.sdk(),
    postAutomationSkillSdk: ({ principal, body }) => packs.check(principal.tenantId, body, actorOf(principal)),
    listHubPacks: ({ query }) => hubPacks.list(query),
    publishHubPack: ({ body }) => hubPacks.publish(body.manifest),
    withdrawHubPack: ({ params }) => hubPacks.withdraw(params.packId, params.version),
  });
