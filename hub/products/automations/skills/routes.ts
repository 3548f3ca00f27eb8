import { skills as resource } from '../../../../shared/contract/automations/skills.ts';
import { runCallerOf } from '../../../platform/http/auth/principal.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Skills } from './service.ts';

export const skillRoutes = (skills: Skills) =>
  implement(resource, {
    listAutomationSkillCatalog: ({ principal }) => skills.catalog(principal.tenantId),
    runAutomationSkill: ({ principal, params, body }) =>
      skills.run(principal.tenantId, params.skillId, body, runCallerOf(principal)),
  });
