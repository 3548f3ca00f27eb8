import type { Policy } from '../../../../shared/contract/automations/policies.ts';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { skillTrigger, starterOf, stepOfSkill } from '../../../engine/index.ts';
import type { SkillCatalog } from '../../../engine/skill.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { readPolicy } from '../policies/index.ts';
import type { Runs } from '../runs/index.ts';
import type { Workflows } from '../workflows/index.ts';

/** A call of a skill that somebody who may not decide it alone would like. */
export interface AskedCall {
  skillId: string;
  input: JsonObject;
  environment: 'live' | 'test';
  /** The conversation in which it was asked for: what is kept of the call goes with it. */
  conversationId: string;
  /** Who gave the AI agent its tools, its instructions and its models. */
  authoredBy: readonly string[];
}

const expiresInSeconds = 7 * 86_400;

/** Calls of skills that a person approves first. */
export class ApprovedSkills {
  readonly #deps: { skills: SkillCatalog; runs: Runs; workflows: Workflows };

  constructor(dependencies: { skills: SkillCatalog; runs: Runs; workflows: Workflows }) {
    this.#deps = dependencies;
  }

  readPolicy(tx: Transaction, tenantId: string): Promise<Policy> {
    return readPolicy(tx, tenantId);
  }

  /**
   * Starts a run, in its caller's transaction, that asks for an approval and then calls the skill with exactly what the approval showed.
   * @returns what to call after the commit.
   * @throws AppError `workflow_invalid`, `product_not_entitled`, `queued_runs_limit_reached`, `workspace_limit_reached`.
   */
  async ask(tx: Transaction, tenantId: string, asked: AskedCall): Promise<() => void> {
    const { skills, workflows, runs } = this.#deps;
    const skill = skills.find(asked.skillId);
    if (skill === undefined) throw new Error(`there is no skill ${asked.skillId}`);
    const approval: Step = {
      type: 'approval',
      title: `The AI agent asks: ${skill.title}`.slice(0, 200),
      message:
        'In the conversation {{trigger.conversationId}}. A model wrote this after the words of a visitor, who may have led it astray: look at what is shown, which is exactly what runs.',
      expiresInSeconds,
      onTimeout: 'reject',
      required: 1,
    };
    const started = await workflows.startDerived(
      tx,
      tenantId,
      {
        origin: { kind: 'skill', id: `approved:${skill.id}` },
        name: `Approved: ${skill.title}`,
        steps: [approval, stepOfSkill(skill.id, Object.keys(skill.input.shape))],
        changedBy: null,
      },
      {
        trigger: { ...skillTrigger(skill.id, 'ai', {}), conversationId: asked.conversationId },
        payload: asked.input,
        environment: asked.environment,
        subjectId: asked.conversationId,
        authoredBy: asked.authoredBy.flatMap(starterOf),
      },
    );
    return () => {
      started.committed();
      runs.dispatch([started.job]);
    };
  }
}
