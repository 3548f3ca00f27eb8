import type { z } from 'zod';
import { policies as resource, putPolicyBody } from '../../../../shared/contract/automations/policies.ts';
import type { Policy } from '../../../../shared/contract/automations/policies.ts';
import { AppError, invalidBody } from '../../../../shared/errors.ts';
import { reevaluateConcurrencyQueues } from '../../../engine/index.ts';
import { workflows } from '../../../engine/schema.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, eq, inArray, isNull, sql } from '../../../platform/db/orm.ts';
import { authorsAfter } from '../../../platform/field-authors.ts';
import { assertVersion } from '../../../platform/http/routing/if-match.ts';
import type { ExpectedVersion } from '../../../platform/http/routing/if-match.ts';
import { changesOf, fieldsOf, recordAudit } from '../../core/audit/index.ts';
import { users } from '../../core/identity/schema.ts';
import { automationPolicies } from './schema.ts';

type PutBody = z.output<typeof resource.putAutomationPolicy.body>;

interface PolicyRow {
  standing_orders: string;
  quiet_hours: Policy['quietHours'];
  max_runs_per_hour: number | null;
  approvals_required_for: string[];
  error_workflow_id: string | null;
  default_approvers: string[];
  step_approvals_need_person: boolean;
  sole_member_may_decide_own_runs: boolean;
  retention: Policy['retention'];
  version: number;
  updated_at: Date;
}

/** The policy of a workspace; the defaults when none is stored. */
export async function readPolicy(tx: Transaction, tenantId: string): Promise<Policy> {
  const { rows } = await tx.query<PolicyRow>(
    'read_policy',
    `SELECT standing_orders, quiet_hours, max_runs_per_hour, approvals_required_for, error_workflow_id, default_approvers, step_approvals_need_person,
       sole_member_may_decide_own_runs, retention, version, updated_at
     FROM automation_policies WHERE tenant_id = $1`,
    [tenantId],
  );
  const row = rows[0];
  if (row === undefined) return { ...putPolicyBody.parse({}), version: 0, updatedAt: null };
  return {
    standingOrders: row.standing_orders,
    quietHours: row.quiet_hours,
    maxRunsPerHour: row.max_runs_per_hour,
    approvalsRequiredFor: row.approvals_required_for,
    errorWorkflowId: row.error_workflow_id,
    defaultApprovers: row.default_approvers,
    stepApprovalsNeedPerson: row.step_approvals_need_person,
    soleMemberMayDecideOwnRuns: row.sole_member_may_decide_own_runs,
    retention: row.retention,
    version: row.version,
    updatedAt: row.updated_at.toISOString(),
  };
}

export interface PoliciesDependencies {
  db: Database;
  isKnownSkill: (pattern: string) => boolean;
}

/** The policy of a workspace: standing orders and limits. Each workspace has one. */
export class Policies {
  readonly #deps: PoliciesDependencies;

  constructor(dependencies: PoliciesDependencies) {
    this.#deps = dependencies;
  }

  get(tenantId: string): Promise<Policy> {
    return this.#deps.db.read(tenantId, (tx) => readPolicy(tx, tenantId));
  }

  /**
   * @throws AppError `version_conflict`; `validation_failed` for an unknown skill, an unknown error workflow, or a default approver who is
   * not a member.
   */
  async put(
    tenantId: string,
    body: PutBody,
    { actor, isUser, expected }: { actor: string; isUser: boolean; expected: ExpectedVersion },
  ): Promise<Policy> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const before = await lockPolicy(tx, tenantId);
      const version = before?.version ?? 0;
      assertVersion(expected, version, 'policy');
      if (isUser) await assertMembers(tx, tenantId, body.defaultApprovers);
      else assertSameDeciders(before ?? putPolicyBody.parse({}), body);
      const unknown = body.approvalsRequiredFor.findIndex((pattern) => !this.#deps.isKnownSkill(pattern));
      if (unknown !== -1)
        throw invalidBody(
          `approvalsRequiredFor[${unknown}]`,
          `"${body.approvalsRequiredFor[unknown]}" matches no skill of this hub`,
        );
      if (body.errorWorkflowId !== null) {
        const [row] = await tx
          .select({ id: workflows.id })
          .from(workflows)
          .where(
            and(eq(workflows.tenantId, tenantId), eq(workflows.id, body.errorWorkflowId), isNull(workflows.deletedAt)),
          );
        if (row === undefined) throw invalidBody('errorWorkflowId', 'is not a workflow of this workspace');
      }
      const { errorWorkflowId, standingOrders } = body;
      const earlier = before === null ? null : { values: before, authors: before.authors };
      const values = { ...body, authors: authorsAfter(earlier, { errorWorkflowId, standingOrders }, actor) };
      await tx
        .update(automationPolicies)
        .set({ ...values, version: version + 1, updatedAt: sql`now()` })
        .where(eq(automationPolicies.tenantId, tenantId));
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'policy.updated',
        targetType: 'policy',
        targetId: tenantId,
        details: { ...body, changes: changesOf(fieldsOf(before ?? putPolicyBody.parse({}), body), body) },
      });
      // The new policy may allow runs that the old policy delayed.
      const policy = await readPolicy(tx, tenantId);
      await reevaluateConcurrencyQueues(tx, tenantId, null);
      return policy;
    });
  }
}

/**
 * Locks the stored policy of a workspace until the end of the transaction, so that what a change is checked against is
 * what it replaces. Stores the defaults first when there is no policy, and returns null then.
 */
async function lockPolicy(tx: Transaction, tenantId: string): Promise<typeof automationPolicies.$inferSelect | null> {
  const stored = await tx
    .insert(automationPolicies)
    .values({ tenantId, ...putPolicyBody.parse({}) })
    .onConflictDoNothing()
    .returning({ tenantId: automationPolicies.tenantId });
  if (stored.length > 0) return null;
  const [row] = await tx
    .select()
    .from(automationPolicies)
    .where(eq(automationPolicies.tenantId, tenantId))
    .for('no key update');
  return row ?? null;
}

/** Fields that determine who may decide approvals. A key that could change them could approve its own commands. */
const deciderFields = ['defaultApprovers', 'stepApprovalsNeedPerson', 'soleMemberMayDecideOwnRuns'] as const;

/** @throws AppError `validation_failed` with the first address that belongs to no member of the workspace. */
async function assertMembers(tx: Transaction, tenantId: string, approvers: readonly string[]): Promise<void> {
  const members = await membersAmong(tx, tenantId, approvers);
  const other = approvers.findIndex((email) => !members.has(email));
  if (other !== -1)
    throw invalidBody(
      `defaultApprovers[${other}]`,
      'is not the address of a member of this workspace; add the member first or remove the address',
    );
}

/** The addresses, in lower case, that belong to members of a workspace. */
export async function membersAmong(tx: Transaction, tenantId: string, emails: readonly string[]): Promise<Set<string>> {
  if (emails.length === 0) return new Set();
  const rows = await tx
    .select({ email: users.email })
    .from(users)
    .where(and(eq(users.tenantId, tenantId), inArray(users.email, [...emails])));
  return new Set(rows.map(({ email }) => email));
}

/** The last author of the error workflow setting of a workspace; null when unknown. */
export async function readErrorWorkflowAuthor(tx: Transaction, tenantId: string): Promise<string | null> {
  const [row] = await tx
    .select({ authors: automationPolicies.authors })
    .from(automationPolicies)
    .where(eq(automationPolicies.tenantId, tenantId));
  return row?.authors['errorWorkflowId'] ?? null;
}

/** @throws AppError `approval_needs_person` when an API key would change who may decide. */
function assertSameDeciders(present: Pick<PutBody, (typeof deciderFields)[number]>, body: PutBody): void {
  const changed = deciderFields.find((field) => JSON.stringify(present[field]) !== JSON.stringify(body[field]));
  if (changed !== undefined)
    throw new AppError(
      'approval_needs_person',
      `Only a signed-in admin can change ${changed}. Send its current value, or sign in.`,
      { details: [{ path: `body.${changed}`, message: 'can only be changed by a signed-in admin' }] },
    );
}
