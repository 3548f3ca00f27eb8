import type { CommandDefinition } from '../../../shared/commands/define.ts';
import { AppError } from '../../../shared/errors.ts';
import type { SelectionRequest } from '../../engine/index.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { isOnlineText } from './store.ts';

/** Maximum number of names or tags in an error message. */
const maxShown = 20;

/** Returns the id of the node that the input of a skill selects. @throws AppError `not_found`. */
export async function selectNode(
  tx: Transaction,
  { tenantId, runId, command, selection }: SelectionRequest,
  heartbeatSeconds: number,
): Promise<string> {
  if ('id' in selection) return selection.id;
  if ('name' in selection) return findNodeByName(tx, tenantId, selection.name);
  return findNodeByTag(tx, tenantId, selection.tag, runId, command, heartbeatSeconds);
}

/** Returns the id of the paired node with this name. @throws AppError `not_found` that lists the existing names. */
async function findNodeByName(tx: Transaction, tenantId: string, name: string): Promise<string> {
  const { rows } = await tx.query<{ id: string; name: string; paired: boolean; found: boolean; total: number }>(
    'find_node_by_name',
    `SELECT id, name, paired_at IS NOT NULL AS paired, name = $2 AS found, count(*) OVER ()::int AS total
     FROM nodes WHERE tenant_id = $1 AND revoked_at IS NULL AND (paired_at IS NOT NULL OR name = $2)
     ORDER BY name = $2 DESC, paired_at IS NOT NULL DESC, name LIMIT $3`,
    [tenantId, name, maxShown],
  );
  const [first] = rows;
  if (first?.found === true && first.paired) return first.id;
  if (first?.found === true)
    throw new AppError('not_found', `The node "${name}" is not paired yet; enter its code on the device first.`);
  throw new AppError(
    'not_found',
    `There is no node with the name "${name}" in this workspace; ${listed(
      rows.map((row) => row.name),
      first?.total ?? 0,
      'its nodes are',
      'it has no paired nodes',
    )}.`,
  );
}

/**
 * Returns the id of a paired node with this tag.
 *
 * A run keeps its node, because the pages and files of its earlier steps are there: of the nodes with the tag, the one
 * with the newest command of the run is chosen, unless that command failed because the node was offline. Otherwise nodes
 * that can run the command are preferred (allowed by the workspace, supported by the device, not paused), then nodes that
 * are online, then nodes other than the one that was offline, then those with the fewest open commands. Chance decides
 * between equal nodes, so that runs that start together are spread.
 * @throws AppError `not_found` that lists the existing tags.
 */
async function findNodeByTag(
  tx: Transaction,
  tenantId: string,
  tag: string,
  runId: string | null,
  { type, gate }: CommandDefinition,
  heartbeatSeconds: number,
): Promise<string> {
  const { rows } = await tx.query<{ id: string }>(
    'find_node_by_tag',
    `WITH newest AS MATERIALIZED (
       SELECT c.node_id, c.error ->> 'code' AS failure FROM node_commands c JOIN nodes n ON n.id = c.node_id
       WHERE c.run_id = $3 AND n.revoked_at IS NULL AND n.tags @> ARRAY[$2]
       ORDER BY c.step_index DESC, c.attempt DESC, c.call DESC LIMIT 1)
     SELECT id FROM nodes
     WHERE tenant_id = $1 AND revoked_at IS NULL AND paired_at IS NOT NULL AND tags @> ARRAY[$2]
     ORDER BY id IN (SELECT node_id FROM newest WHERE failure IS DISTINCT FROM 'node_offline') DESC,
       ((allow_system OR $4 <> 'system') AND (allow_browser OR $4 <> 'browser') AND NOT paused
         AND device -> 'capabilities' ? $5) IS TRUE DESC,
       ${isOnlineText(heartbeatSeconds)} DESC,
       id IN (SELECT node_id FROM newest),
       (SELECT count(*) FROM node_commands open WHERE open.node_id = nodes.id AND open.status IN ('pending', 'leased')),
       random()
     LIMIT 1`,
    [tenantId, tag, runId, gate ?? 'none', type],
  );
  const [found] = rows;
  if (found !== undefined) return found.id;
  const { rows: tags } = await tx.query<{ tag: string; total: number }>(
    'list_node_tags',
    `SELECT tag, count(*) OVER ()::int AS total FROM (
       SELECT DISTINCT unnest(tags) AS tag FROM nodes
       WHERE tenant_id = $1 AND revoked_at IS NULL AND paired_at IS NOT NULL) used ORDER BY tag LIMIT $2`,
    [tenantId, maxShown],
  );
  throw new AppError(
    'not_found',
    `There is no paired node with the tag "${tag}" in this workspace; ${listed(
      tags.map((row) => row.tag),
      tags[0]?.total ?? 0,
      'the tags of its nodes are',
      'its nodes have no tags',
    )}.`,
  );
}

/** Names or tags for an error message. */
function listed(shown: readonly string[], total: number, some: string, none: string): string {
  if (total === 0) return none;
  return `${some} ${shown.map((one) => `"${one}"`).join(', ')}${total > shown.length ? ` and ${total - shown.length} more` : ''}`;
}
