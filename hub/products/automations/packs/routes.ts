import { packs as resource } from '../../../../shared/contract/automations/packs.ts';
import { runCallerOf } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import { testKeyNotAllowed } from '../test-keys/index.ts';
import type { HubPacks } from './hub-packs.ts';
import type { Packs } from './service.ts';

export const packRoutes = (packs: Packs, hubPacks: HubPacks) =>
  implement(resource, {
    listAutomationSkills: ({ principal, query }) => packs.list(principal.tenantId, query),
    getAutomationSkillPack: ({ principal, params }) => packs.get(principal.tenantId, params.packId),
    async installAutomationSkill({ principal, body }) {
      const { actor, environment } = runCallerOf(principal);
      if (environment === 'test' && !body.dryRun) throw testKeyNotAllowed('installed packs');
      return packs.install(principal.tenantId, body, actor);
    },
    createAutomationSkillWorkflow: ({ principal, params, body }) =>
      packs.createWorkflow(principal.tenantId, params.packId, body, runCallerOf(principal)),
    getAutomationSkillSdk: async () => packs.sdk(),
    async postAutomationSkillSdk({ principal, body }) {
      const { actor, environment } = runCallerOf(principal);
      if (environment === 'test' && body.publish) throw testKeyNotAllowed('published packs');
      return packs.check(principal.tenantId, body, actor);
    },
    listHubPacks: ({ query }) => hubPacks.list(query),
    publishHubPack: ({ body }) => hubPacks.publish(body.manifest),
    withdrawHubPack: ({ params }) => hubPacks.withdraw(params.packId, params.version),
  });
