import { maxTurnCharacters } from '../../../../shared/contract/automations/runs.ts';
import type { AgentTurn } from '../../../../shared/contract/automations/runs.ts';
import type { Transaction } from '../../../platform/db/database.ts';

/** Maximum characters of an error message in a turn. */
const maxMessageCharacters = 500;

interface StepTurns {
  [column: string]: unknown;
  index: number;
  turns: AgentTurn[];
  /** Size of the turns in bytes. */
  bytes: number;
}

/** SQL of a JSON array; empty when the value is none. */
const arrayOf = (json: string) => `CASE jsonb_typeof(${json}) WHEN 'array' THEN ${json} ELSE '[]' END`;

/**
 * Reads the turns of agent steps with their texts cut. A step in progress has them in its state, which the engine
 * writes after each turn; a finished one has them in its output or, after a failure, in its state.
 */
export async function readAgentTurns(
  tx: Transaction,
  tenantId: string,
  runId: string,
  { indexes, turns }: { indexes: readonly number[] | null; turns: 'all' | 'unfinished' | 'none' },
): Promise<StepTurns[]> {
  const { rows } = await tx.query<StepTurns>(
    'read_agent_turns',
    `SELECT s.index, shown.turns, octet_length(shown.turns::text) AS bytes
     FROM runs r JOIN workflow_versions v ON v.workflow_id = r.workflow_id AND v.version = r.workflow_version
       JOIN run_steps s ON s.run_id = r.id AND s.tenant_id = r.tenant_id AND v.steps->s.index->>'type' = 'agent'
       CROSS JOIN LATERAL (SELECT coalesce(s.state->'turns', s.output->'turns') AS turns OFFSET 0) stored
       CROSS JOIN LATERAL (
         SELECT coalesce(jsonb_agg(jsonb_build_object(
           'text', left(turn->>'text', ${maxTurnCharacters}), 'textLength', length(turn->>'text'), 'model', turn->'model',
           'latencyMs', turn->'latencyMs', 'answeredAt', turn->'answeredAt', 'usage', turn->'usage', 'isFinal', turn ? 'final',
           'problems', (SELECT coalesce(jsonb_agg(left(problem, ${maxMessageCharacters})), '[]') FROM jsonb_array_elements_text(${arrayOf("turn->'problems'")}) problem),
           'calls', (SELECT coalesce(jsonb_agg(jsonb_build_object('skillId', left(call->>'skillId', 100), 'status', call->'status',
               'error', CASE WHEN call ? 'error' THEN jsonb_build_object('code', call->'error'->'code', 'message', left(call->'error'->>'message', ${maxMessageCharacters})) END)
             ORDER BY n), '[]') FROM jsonb_array_elements(${arrayOf("turn->'calls'")}) WITH ORDINALITY c(call, n))
         ) ORDER BY at), '[]') AS turns
         FROM jsonb_array_elements(${arrayOf('stored.turns')}) WITH ORDINALITY t(turn, at) OFFSET 0
       ) shown
     WHERE r.tenant_id = $1 AND r.id = $2 AND ($3::int[] IS NULL OR s.index = ANY($3)) AND ($4 OR s.finished_at IS NULL)`,
    [tenantId, runId, indexes, turns === 'all'],
  );
  return rows;
}
