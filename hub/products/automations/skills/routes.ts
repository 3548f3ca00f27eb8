import { skills as resource } from '../../../../shared/contract/automations/skills.ts';
import { implement } from '../../../platform/http/implement.ts';
import { runCallerOf } from '../../../platform/http/principal.ts';
import type { Skills } from './service.ts';

export const skillRoutes = (skills: Skills) =>
  implement(resource, {
    listAutomationSkillCatalog: ({ principal }) => skills.catalog(principal.tenantId),
    runAutomationSkill: ({ principal, params, body }) =>
      skills.run(principal.tenantId, params.skillId, body, runCallerOf(principal)),
  });
