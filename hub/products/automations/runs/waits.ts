import type { QueueReason } from '../../../../shared/contract/automations/run-status.ts';
import type { RunWait } from '../../../../shared/contract/automations/run-wait.ts';
import type { StepWait } from '../../../engine/schema.ts';
import { isOnlineText } from '../../nodes/index.ts';

/** Why a run is waiting, as the database returns it. */
export type StoredWait =
  | { hold: QueueReason; until: string | null }
  | { kind: 'jitter'; until: string }
  | (StepWait & {
      stepIndex: number;
      until: string | null;
      nodeId: string | null;
      nodeName: string | null;
      nodeOnline: boolean | null;
      handedOut: boolean | null;
      waitsForOwner: boolean | null;
    });

/**
 * Why a row of `runs` is waiting; null for a run that a worker executes or is about to execute.
 * Each part is looked up by a key and only for a waiting run, so the cost per page is a few index rows. `limit 1`
 * separates the ids from the JSON functions that produce them: under row-level security no index is used for the result
 * of such functions. The planner then also knows that there is at most one step, instead of one per partition.
 */
export const waitSql = (heartbeatSeconds: number): string => `case
  when runs.finished_at is not null then null
  when runs.waits_for is not null then jsonb_build_object('hold', runs.waits_for, 'until', runs.wake_at)
  when runs.holder_id is not null or runs.wake_at <= now() then null
  when runs.started_at is null then jsonb_build_object('kind', 'jitter', 'until', runs.wake_at)
  else (
    select s.wait || jsonb_build_object('stepIndex', s.index, 'nodeId', c.node_id, 'nodeName', nodes.name, 'nodeOnline', ${isOnlineText(heartbeatSeconds)}, 'handedOut', c.status = 'leased',
      'waitsForOwner', c.status = 'leased' and nodes.facts->'waitingForOwner' @> to_jsonb(c.id::text),
      'until', case s.wait->>'kind' when 'node_command' then c.expires_at when 'approval' then a.expires_at else runs.wake_at end)
    from (
      select wait, index, case wait->>'kind' when 'node_command' then (wait->>'commandId')::uuid end as command_id, case wait->>'kind' when 'approval' then (wait->>'approvalId')::uuid end as approval_id
      from run_steps where run_id = runs.id and index = runs.next_step and wait is not null limit 1) s
    left join node_commands c on c.id = s.command_id
    left join nodes on nodes.id = c.node_id
    left join approvals a on a.id = s.approval_id)
  end`;

/** Why a run is waiting, in the form of the API. */
export function presentWait(stored: StoredWait | null): RunWait | null {
  if (stored === null) return null;
  const until = stored.until === null ? null : new Date(stored.until).toISOString();
  if ('hold' in stored)
    return stored.hold === 'quiet_hours'
      ? { kind: 'quiet_hours', until }
      : { kind: 'limit', limit: stored.hold, until };
  switch (stored.kind) {
    case 'node_command': {
      const { stepIndex, commandId, nodeId, nodeName, nodeOnline, handedOut, waitsForOwner } = stored;
      // The command was removed with its node. The run detects this itself.
      if (nodeId === null || until === null) return null;
      return {
        kind: 'node_command',
        stepIndex,
        commandId,
        nodeId,
        nodeName: nodeName ?? '',
        nodeOnline: nodeOnline === true,
        handedOut: handedOut === true,
        // The report of a node that is offline may be outdated.
        waitsForOwner: waitsForOwner === true && nodeOnline === true,
        until,
      };
    }
    case 'approval':
      return { kind: 'approval', stepIndex: stored.stepIndex, approvalId: stored.approvalId, until };
    case 'run':
      return { kind: 'run', stepIndex: stored.stepIndex, runId: stored.runId };
    case 'jitter':
      return until === null ? null : { kind: 'jitter', until };
    default:
      return until === null ? null : { kind: stored.kind, stepIndex: stored.stepIndex, until };
  }
}
