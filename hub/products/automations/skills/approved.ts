import type { Policy } from '../../../../shared/contract/automations/policies.ts';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { skillTrigger, starterOf, stepOfSkill } from '../../../engine/index.ts';
import type { SkillCatalog } from '../../../engine/skill.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { readPolicy } from '../policies/index.ts';
import type { Workflows } from '../workflows/index.ts';

/** A skill call that needs the approval of another person. */
export interface RequestedCall {
  skillId: string;
  input: JsonObject;
  environment: 'live' | 'test';
  /** The conversation that caused the call. Erasing the conversation also erases the call. */
  conversationId: string;
  /** The authors of the tools, instructions and models of the AI agent. */
  authoredBy: readonly string[];
}

const expiresInSeconds = 7 * 86_400;

/** Calls of skills that a person approves first. */
export class ApprovedSkills {
  readonly #deps: { skills: SkillCatalog; workflows: Workflows };

  constructor(dependencies: { skills: SkillCatalog; workflows: Workflows }) {
    this.#deps = dependencies;
  }

  readPolicy(tx: Transaction, tenantId: string): Promise<Policy> {
    return readPolicy(tx, tenantId);
  }

  /**
   * Starts a run, in the transaction of the caller, that requests an approval and then calls the skill with exactly the
   * approved input.
   * @throws AppError `workflow_invalid`, `product_not_entitled`, `queued_runs_limit_reached`,
   * `workspace_limit_reached`.
   */
  async requestApproval(tx: Transaction, tenantId: string, call: RequestedCall): Promise<void> {
    const { skills, workflows } = this.#deps;
    const skill = skills.find(call.skillId);
    if (skill === undefined) throw new Error(`there is no skill ${call.skillId}`);
    const approval: Step = {
      type: 'approval',
      title: `The AI agent requests: ${skill.title}`.slice(0, 200),
      message:
        'In the conversation {{trigger.conversationId}}. A model wrote this request, and messages of a visitor may have manipulated it. Check the values shown: exactly these values are used.',
      expiresInSeconds,
      onTimeout: 'reject',
      required: 1,
    };
    await workflows.startDerived(
      tx,
      tenantId,
      {
        origin: { kind: 'skill', id: `approved:${skill.id}` },
        name: `Approved: ${skill.title}`,
        steps: [approval, stepOfSkill(skill.id, Object.keys(skill.input.shape))],
        changedBy: null,
      },
      {
        trigger: { ...skillTrigger(skill.id, 'ai', {}), conversationId: call.conversationId },
        payload: call.input,
        environment: call.environment,
        subjectId: call.conversationId,
        authoredBy: call.authoredBy.flatMap(starterOf),
      },
    );
  }
}
