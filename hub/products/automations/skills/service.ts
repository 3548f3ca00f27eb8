import type { Policy } from '../../../../shared/contract/automations/policies.ts';
import { matchesGlob } from '../../../../shared/glob.ts';
import { describeSkills } from '../../../engine/index.ts';
import type { SkillCatalog } from '../../../engine/skill.ts';

export interface SkillsDependencies {
  skills: SkillCatalog;
  readPolicy: (tenantId: string) => Promise<Policy>;
}

/** The skills of this hub, as a workspace may use them. */
export class Skills {
  readonly #deps: SkillsDependencies;

  constructor(dependencies: SkillsDependencies) {
    this.#deps = dependencies;
  }

  /** Every skill with the schemas of what it takes and puts out, by id. */
  async catalog(tenantId: string) {
    const { approvalsRequiredFor } = await this.#deps.readPolicy(tenantId);
    const skills = describeSkills(this.#deps.skills).map((skill) => ({
      ...skill,
      requires: [...skill.requires],
      needsApproval: skill.needsApproval || approvalsRequiredFor.some((pattern) => matchesGlob(pattern, skill.id)),
    }));
    return { skills };
  }
}
