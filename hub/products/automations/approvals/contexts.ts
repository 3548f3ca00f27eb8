import type { ApprovalDetail } from '../../../../shared/contract/automations/approvals.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { isUuid } from '../../../../shared/uuid.ts';
import { requestersOf } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { actorOfDecider, assertMayDecide } from './deciders.ts';
import type { Decider } from './deciders.ts';
import { DecisionFacts, idsOf } from './decision-facts.ts';
import type { DecidableRow } from './decision-facts.ts';
import type { ApprovalRow } from './store.ts';

/** Who reads approvals. */
export interface ContextReader {
  decider: Decider;
  /** Whether the permissions of the caller include decisions. */
  hasPermission: boolean;
}

type Context = Pick<
  ApprovalDetail,
  | 'workflowId'
  | 'workflowName'
  | 'environment'
  | 'triggerType'
  | 'requestedBy'
  | 'nodeId'
  | 'nodeName'
  | 'escalateAt'
  | 'canDecide'
  | 'refusal'
>;

/** An approval whose context is read. */
export interface ContextRow extends DecidableRow, Pick<ApprovalRow, 'id' | 'status' | 'expiresAt'> {
  /** The node that its request names. */
  nodeId: string | null;
}

interface RunOfApproval {
  [column: string]: unknown;
  id: string;
  workflow_id: string;
  workflow_name: string;
  environment: 'live' | 'test';
  trigger: { type: string };
  requested_by: string[];
}

/**
 * What readers need to judge approvals, by approval: their runs, requesters and nodes, and whether the reader can
 * decide. The number of statements does not depend on the number of approvals.
 * @param votes names of those who have voted already, by approval.
 */
export async function readContexts(
  tx: Transaction,
  tenantId: string,
  rows: readonly ContextRow[],
  votes: readonly { approvalId: string; approver: string }[],
  reader: ContextReader,
): Promise<Map<string, Context>> {
  if (rows.length === 0) return new Map();
  const nodeIds = [...new Set(rows.flatMap(({ nodeId }) => (nodeId !== null && isUuid(nodeId) ? [nodeId] : [])))];
  const [runs, nodes] = await Promise.all([
    tx.query<RunOfApproval>(
      'read_runs_of_approvals',
      `SELECT r.id, r.workflow_id, (SELECT w.name FROM workflows w WHERE w.id = r.workflow_id) AS workflow_name, r.environment, r.trigger, r.requested_by
       FROM runs r WHERE r.tenant_id = $1 AND r.id = ANY($2::uuid[])`,
      [tenantId, [...new Set(rows.map(({ runId }) => runId))]],
    ),
    tx.query<{ id: string; name: string }>(
      'read_nodes_of_approvals',
      'SELECT id, name FROM nodes WHERE tenant_id = $1 AND id = ANY($2::uuid[])',
      [tenantId, nodeIds],
    ),
  ]);
  const runById = new Map(runs.rows.map((run) => [run.id, run]));
  const nodeNames = new Map(nodes.rows.map(({ id, name }) => [id, name]));
  const names = await readNames(tx, tenantId, runs.rows.flatMap(requestersOfRun));
  const facts = new DecisionFacts(tx, tenantId, rows);
  const contexts = new Map<string, Context>();
  for (const row of rows) {
    const run = runById.get(row.runId);
    // The run can be deleted between the two reads.
    if (run === undefined) continue;
    const nodeId = row.nodeId !== null && isUuid(row.nodeId) ? row.nodeId : null;
    const voters = votes.flatMap(({ approvalId, approver }) => (approvalId === row.id ? [approver] : []));
    const refusal = await refusalOf(tx, row, voters, reader, facts);
    contexts.set(row.id, {
      workflowId: run.workflow_id,
      workflowName: run.workflow_name,
      environment: run.environment,
      triggerType: run.trigger.type,
      requestedBy: requestersOfRun(run).map((actor) => presentRequester(actor, names.get(actor) ?? null)),
      nodeId,
      nodeName: nodeId === null ? null : (nodeNames.get(nodeId) ?? null),
      escalateAt: row.escalateAt?.toISOString() ?? null,
      canDecide: refusal === null,
      refusal,
    });
  }
  return contexts;
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** As `nodeOfRequest` of the statements, but null for a value that is no id. */
function nodeIdOf({ nodeId, next }: JsonObject): string | null {
  const input = isObject(next) ? next['input'] : undefined;
  const id = nodeId ?? (isObject(input) ? input['nodeId'] : undefined);
  return typeof id === 'string' && isUuid(id) ? id : null;
}

/** What an audit entry says of an approval, with the present names: the workflow and the node can be deleted later. */
export async function readAuditDetails(
  tx: Transaction,
  tenantId: string,
  { runId, request }: Pick<ApprovalRow, 'runId' | 'request'>,
): Promise<JsonObject> {
  const { rows } = await tx.query<{
    workflow_id: string;
    workflow_name: string;
    node_id: string | null;
    node_name: string | null;
  }>(
    'read_audit_details_of_approval',
    `SELECT w.id AS workflow_id, w.name AS workflow_name, n.id AS node_id, n.name AS node_name
     FROM runs r JOIN workflows w ON w.id = r.workflow_id
     LEFT JOIN nodes n ON n.tenant_id = $1 AND n.id = $3::uuid
     WHERE r.tenant_id = $1 AND r.id = $2`,
    [tenantId, runId, nodeIdOf(request)],
  );
  const [found] = rows;
  if (found === undefined) return {};
  const { workflow_id: workflowId, workflow_name: workflowName, node_id: nodeId, node_name: nodeName } = found;
  return { workflowId, workflowName, ...(nodeId === null ? {} : { nodeId, nodeName }) };
}

const requestersOfRun = ({ requested_by: requestedBy, trigger }: RunOfApproval): string[] =>
  requestersOf({ requestedBy, trigger: trigger as Parameters<typeof requestersOf>[0]['trigger'] });

function presentRequester(actor: string, name: string | null): Context['requestedBy'][number] {
  const separator = actor.indexOf(':');
  return { kind: actor.startsWith('token:') ? 'key' : 'user', id: actor.slice(separator + 1), name };
}

/** Email addresses of users and names of API keys, by actor. */
async function readNames(tx: Transaction, tenantId: string, actors: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await tx.query<{ actor: string; name: string }>(
    'read_names_of_actors',
    `SELECT 'user:' || id AS actor, email AS name FROM users WHERE tenant_id = $1 AND id = ANY($2::uuid[])
     UNION ALL SELECT 'token:' || id, name FROM api_tokens WHERE tenant_id = $1 AND id = ANY($3::uuid[])`,
    [tenantId, idsOf(actors, 'user:'), idsOf(actors, 'token:')],
  );
  return new Map(rows.map(({ actor, name }) => [actor, name]));
}

/** The error that a decision of the reader would get; null if the reader can decide. */
export async function refusalOf(
  tx: Transaction,
  row: Omit<ContextRow, 'id' | 'nodeId'>,
  voters: readonly string[],
  { decider, hasPermission }: ContextReader,
  facts: DecisionFacts,
): Promise<Context['refusal']> {
  const isPast = row.expiresAt !== null && row.expiresAt <= (await facts.now());
  if (row.status !== 'pending' || isPast)
    return {
      code: 'approval_already_decided',
      message: `This approval is ${row.status === 'pending' ? 'past its time' : row.status} and can't be decided any more.`,
    };
  if (!hasPermission) return { code: 'missing_permission', message: 'This key lacks the permission approvals:decide.' };
  if (voters.includes(decider.kind === 'user' ? decider.email : '') || voters.includes(actorOfDecider(decider)))
    return {
      code: 'approval_already_decided',
      message: 'You have already decided this approval. Other people still have to decide.',
    };
  try {
    await assertMayDecide(tx, row, decider, facts);
    return null;
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, message: error.message };
    throw error;
  }
}
