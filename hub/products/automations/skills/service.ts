import { z } from 'zod';
import type { Policy } from '../../../../shared/contract/automations/policies.ts';
import type { skills as resource } from '../../../../shared/contract/automations/skills.ts';
import { AppError } from '../../../../shared/errors.ts';
import { matchesGlob } from '../../../../shared/glob.ts';
import { describeSkills, skillTrigger, starterOf, stepOfSkill } from '../../../engine/index.ts';
import type { RunCaller } from '../../../engine/index.ts';
import type { SkillCatalog } from '../../../engine/skill.ts';
import type { Database } from '../../../platform/db/database.ts';
import { parsePart } from '../../../platform/http/routing/errors.ts';
import type { Runs } from '../runs/index.ts';
import type { Workflows } from '../workflows/index.ts';

export interface SkillsDependencies {
  db: Database;
  skills: SkillCatalog;
  runs: Runs;
  workflows: Workflows;
  readPolicy: (tenantId: string) => Promise<Policy>;
}

type RunBody = z.output<typeof resource.runAutomationSkill.body>;

/** The skill catalog of a workspace, and direct calls of skills. */
export class Skills {
  readonly #deps: SkillsDependencies;

  constructor(dependencies: SkillsDependencies) {
    this.#deps = dependencies;
  }

  /** Every skill with its input and output schemas, by id. */
  async catalog(tenantId: string) {
    const { approvalsRequiredFor } = await this.#deps.readPolicy(tenantId);
    const skills = describeSkills(this.#deps.skills).map((skill) => ({
      ...skill,
      requires: [...skill.requires],
      needsApproval: skill.needsApproval || approvalsRequiredFor.some((pattern) => matchesGlob(pattern, skill.id)),
    }));
    return { skills };
  }

  /**
   * Starts a run of one skill. All calls of a skill are runs of one workflow, which is hidden from lists of workflows.
   * @throws AppError `not_found` for an unknown skill, `validation_failed` for an invalid input,
   * `product_not_entitled`, `queued_runs_limit_reached`, `workflow_limit_reached`.
   */
  async run(tenantId: string, skillId: string, { input, ...options }: RunBody, caller: RunCaller) {
    const skill = this.#deps.skills.find(skillId);
    if (skill === undefined)
      throw new AppError(
        'not_found',
        `There is no skill "${skillId}". GET /v1/automations/skills/catalog lists the available skills.`,
      );
    parsePart('body', z.object({ input: skill.input }), { input });
    const started = await this.#deps.db.workspace(tenantId, (tx) =>
      this.#deps.workflows.startDerived(
        tx,
        tenantId,
        {
          origin: { kind: 'skill', id: skill.id },
          name: `Skill: ${skill.title}`,
          steps: [stepOfSkill(skill.id, Object.keys(skill.input.shape))],
          changedBy: null,
        },
        {
          trigger: skillTrigger(skill.id, caller.actor, options),
          payload: input,
          environment: caller.environment,
          requestedBy: starterOf(caller.actor),
        },
      ),
    );
    return { runId: started.runId, status: 'queued' as const, workflowId: started.workflowId };
  }
}
