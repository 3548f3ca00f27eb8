import type { z } from 'zod';
import { policies as resource, putPolicyBody } from '../../../../shared/contract/automations/policies.ts';
import type { Policy } from '../../../../shared/contract/automations/policies.ts';
import { invalidBody } from '../../../../shared/errors.ts';
import { reopenLines } from '../../../engine/index.ts';
import type { PromisedJob } from '../../../engine/index.ts';
import { workflows } from '../../../engine/schema.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, eq, isNull, sql } from '../../../platform/db/orm.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { automationPolicies } from './schema.ts';

type PutBody = z.output<typeof resource.putAutomationPolicy.body>;

/** The policy of a workspace in a transaction of its own; the defaults when none was set. */
export async function readPolicy(tx: Transaction, tenantId: string): Promise<Policy> {
  const [row] = await tx.select().from(automationPolicies).where(eq(automationPolicies.tenantId, tenantId));
  if (row === undefined) return { ...putPolicyBody.parse({}), updatedAt: null };
  const { tenantId: _own, updatedAt, ...policy } = row;
  return { ...policy, updatedAt: updatedAt.toISOString() };
}

export interface PoliciesDependencies {
  db: Database;
  isKnownSkill: (pattern: string) => boolean;
  /** Hands promised jobs to the queue; called after the commit, never fails. */
  dispatch: (jobs: PromisedJob[]) => void;
}

/** Standing orders and limits: one record a workspace. */
export class Policies {
  readonly #deps: PoliciesDependencies;

  constructor(dependencies: PoliciesDependencies) {
    this.#deps = dependencies;
  }

  get(tenantId: string): Promise<Policy> {
    return this.#deps.db.read(tenantId, (tx) => readPolicy(tx, tenantId));
  }

  /** @throws AppError `validation_failed` for a skill that there is not, or an error workflow that the workspace does not have. */
  async put(tenantId: string, body: PutBody, actor: string): Promise<Policy> {
    const { policy, jobs } = await this.#deps.db.workspace(tenantId, async (tx) => {
      const unknown = body.approvalsRequiredFor.findIndex((pattern) => !this.#deps.isKnownSkill(pattern));
      if (unknown !== -1)
        throw invalidBody(`approvalsRequiredFor[${unknown}]`, 'is no skill of this hub, and no pattern of one');
      if (body.errorWorkflowId !== null) {
        const [row] = await tx
          .select({ id: workflows.id })
          .from(workflows)
          .where(
            and(eq(workflows.tenantId, tenantId), eq(workflows.id, body.errorWorkflowId), isNull(workflows.deletedAt)),
          );
        if (row === undefined) throw invalidBody('errorWorkflowId', 'is no workflow of this workspace');
      }
      await tx
        .insert(automationPolicies)
        .values({ tenantId, ...body })
        .onConflictDoUpdate({ target: automationPolicies.tenantId, set: { ...body, updatedAt: sql`now()` } });
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'policy.updated',
        targetType: 'policy',
        targetId: tenantId,
        details: { ...body },
      });
      // Runs that the old policy holds back may begin by the new one.
      return { policy: await readPolicy(tx, tenantId), jobs: await reopenLines(tx, tenantId, null) };
    });
    this.#deps.dispatch(jobs);
    return policy;
  }
}
