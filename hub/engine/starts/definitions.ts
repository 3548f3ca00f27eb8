import type { Step } from '../../../shared/contract/automations/steps.ts';
import type { Entitlement } from '../../../shared/contract/define.ts';

/** All that a run takes from the definition of its workflow when it begins, and from the policy and the rights of its workspace. */
export interface RunTerms {
  approvals_required_for: string[] | null;
  error_workflow_id: string | null;
  /** The pack that its workflow was made from; null when it may do whatever its steps say. */
  pack_id: string | null;
  /** What such a workflow may do at most; null for one that is older than grants. */
  pack_grants: { skills: string[]; hosts: string[] } | null;
  /** What the workspace is entitled to. */
  entitlements: Record<Entitlement, boolean>;
}

/** A workflow as a transaction that has locked it finds it. */
export interface LockedDefinition extends RunTerms {
  [column: string]: unknown;
  id: string;
  tenant_id: string;
  version: number;
  steps: Step[];
}

/** The same, of a transaction that has not locked its workspace and the policy of that. */
export interface FoundDefinition extends LockedDefinition {
  /** Differs once anything changed of those. */
  workspace_stamp: string;
}

/** A workflow as a start found it, with what tells whether it still is so. */
export interface Definition extends LockedDefinition {
  /** Differs once anything changed that a start depends on. */
  stamp: string;
}

/** The terms, as SQL, of a workflow `w`, its workspace `t` and that one's policy `p`. */
export const termColumns = `t.entitlements, p.approvals_required_for, p.error_workflow_id,
  CASE WHEN w.origin->>'kind' = 'pack' THEN w.origin->>'id' END AS pack_id, w.origin->'grants' AS pack_grants`;

/** Whether anything may hold back the runs of a workflow before they begin, as SQL, of the same. */
export const isGated = `(w.limits IS NOT NULL OR coalesce(w.trigger->'schedule'->>'overlap' = 'queue', false) OR p.quiet_hours IS NOT NULL OR p.max_runs_per_hour IS NOT NULL)`;

/** What tells whether workspace and policy still are as they were found, as SQL, of the same. */
export const workspaceStamp = `concat_ws(' ', t.xmin, coalesce(p.xmin::text, '-'))`;

/**
 * The stamp of a definition, as SQL, of the same: the transactions that wrote its rows last, which PostgreSQL keeps with every row, and how
 * many workflows share its webhook token. So whatever is changed by whomever, nobody has to say so for others to notice.
 */
export const definitionStamp = `concat_ws(' ', w.xmin, ${workspaceStamp}, CASE WHEN w.webhook_token_hash IS NOT NULL THEN
  (SELECT count(*) FROM workflows o WHERE o.tenant_id = w.tenant_id AND o.webhook_token_hash = w.webhook_token_hash AND o.deleted_at IS NULL) END)`;
