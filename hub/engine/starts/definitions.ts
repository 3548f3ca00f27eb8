import type { Step } from '../../../shared/contract/automations/steps.ts';
import type { Entitlement } from '../../../shared/contract/define.ts';

/** What a claim reads of the workflow, the policy and the entitlements of the workspace of a run. */
export interface RunTerms {
  approvals_required_for: string[] | null;
  error_workflow_id: string | null;
  /** The pack that the workflow was made from; null if grants do not restrict its steps. */
  pack_id: string | null;
  /** The skills and hosts that a workflow of a pack can use; null if the pack was installed before grants existed. */
  pack_grants: { skills: string[]; hosts: string[] } | null;
  entitlements: Record<Entitlement, boolean>;
}

/** What a start reads of a workflow. */
export interface StartDefinition extends RunTerms {
  [column: string]: unknown;
  id: string;
  tenant_id: string;
  version: number;
  steps: Step[];
}

/** A workflow that the transaction has locked. Its workspace and the policy are not locked. */
export interface LockedDefinition extends StartDefinition {
  /** Changes with the workspace and with the policy (`workspaceStamp`). */
  workspace_stamp: string;
}

/** A workflow that was read without a lock. */
export interface Definition extends StartDefinition {
  /** Changes with everything that a start depends on (`definitionStamp`). */
  stamp: string;
}

// The following SQL expressions refer to a workflow as `w`, its workspace as `t` and the policy of the workspace as `p`.

/** The columns of `RunTerms`. */
export const termColumns = `t.entitlements, p.approvals_required_for, p.error_workflow_id,
  CASE WHEN w.origin->>'kind' = 'pack' THEN w.origin->>'id' END AS pack_id, w.origin->'grants' AS pack_grants`;

/** Whether a limit or policy can delay the start of runs of the workflow. */
export const isGated = `(w.limits IS NOT NULL OR coalesce(w.trigger->'schedule'->>'overlap' = 'queue', false) OR p.quiet_hours IS NOT NULL OR p.max_runs_per_hour IS NOT NULL)`;

/** Identifies the current state of the workspace and the policy. */
export const workspaceStamp = `concat_ws(' ', t.xmin, coalesce(p.xmin::text, '-'))`;

/**
 * Identifies the current state of the definition. The stamp contains the transactions that last wrote the rows of the workflow, the
 * workspace and the policy (`xmin`). It also contains the number of workflows with the same webhook token. Every change of a row
 * changes the stamp, so caches need no notification.
 */
export const definitionStamp = `concat_ws(' ', w.xmin, ${workspaceStamp}, CASE WHEN w.webhook_token_hash IS NOT NULL THEN
  (SELECT count(*) FROM workflows o WHERE o.tenant_id = w.tenant_id AND o.webhook_token_hash = w.webhook_token_hash AND o.deleted_at IS NULL) END)`;
