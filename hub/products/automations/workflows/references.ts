import type { Step } from '../../../../shared/contract/automations/steps.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { ErrorDetail } from '../../../../shared/errors.ts';
import { isUuid } from '../../../../shared/uuid.ts';
import { workflows } from '../../../engine/schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq, inArray, isNull } from '../../../platform/db/orm.ts';
import { campaigns } from '../../marketing/schema.ts';
import { agents, toolProfiles } from '../agents/schema.ts';
import { channels } from '../channels/schema.ts';

interface Reference {
  kind: 'agent' | 'tool profile' | 'channel' | 'workflow' | 'campaign';
  id: string;
  path: string;
}

function referencesOf(steps: readonly Step[]): Reference[] {
  return steps.flatMap((step, index): Reference[] => {
    const at = `stepsJson[${index}]`;
    const found: (Reference | null)[] = [];
    const add = (kind: Reference['kind'], id: unknown, path: string) =>
      found.push(typeof id === 'string' && !id.includes('{{') ? { kind, id, path: `${at}.${path}` } : null);
    if (step.type === 'agent') {
      add('agent', step.agentId, 'agentId');
      add('tool profile', step.toolProfileId, 'toolProfileId');
    }
    if (step.type === 'deliver') add('channel', step.channelId, 'channelId');
    if (step.type === 'skill') {
      if (step.skillId === 'subagent.spawn') add('workflow', step.input['workflowId'], 'input.workflowId');
      if (step.skillId === 'marketing.campaign_send') add('campaign', step.input['campaignId'], 'input.campaignId');
      if (step.skillId === 'channel.deliver') add('channel', step.input['channelId'], 'input.channelId');
    }
    return found.filter((reference) => reference !== null);
  });
}

/**
 * Asserts that the workspace has every agent, tool profile, channel, campaign and workflow that the steps name.
 * References in templates are only known when the step runs.
 * @throws AppError `workflow_invalid` with the path of each missing reference.
 */
export async function assertReferences(
  tx: Transaction,
  tenantId: string,
  steps: readonly Step[],
  ownId?: string,
): Promise<void> {
  const references = referencesOf(steps);
  if (references.length === 0) return;
  const idsOf = (kind: Reference['kind']) =>
    references.filter((reference) => reference.kind === kind && isUuid(reference.id)).map(({ id }) => id);
  const known = new Set<string>();
  const tables = { agent: agents, 'tool profile': toolProfiles, channel: channels, campaign: campaigns } as const;
  for (const [kind, table] of Object.entries(tables) as [keyof typeof tables, (typeof tables)[keyof typeof tables]][]) {
    const ids = idsOf(kind);
    if (ids.length === 0) continue;
    const rows = await tx
      .select({ id: table.id })
      .from(table)
      .where(and(eq(table.tenantId, tenantId), inArray(table.id, ids)));
    rows.forEach((row) => known.add(`${kind} ${row.id}`));
  }
  const workflowIds = idsOf('workflow');
  if (workflowIds.length > 0) {
    const rows = await tx
      .select({ id: workflows.id })
      .from(workflows)
      .where(and(eq(workflows.tenantId, tenantId), isNull(workflows.deletedAt), inArray(workflows.id, workflowIds)));
    rows.forEach((row) => known.add(`workflow ${row.id}`));
  }
  const details: ErrorDetail[] = references
    .filter(({ kind, id }) => !known.has(`${kind} ${id.toLowerCase()}`) && !(kind === 'workflow' && id === ownId))
    .map(({ kind, id, path }) => ({
      path,
      message: `there is no ${kind} ${id.slice(0, 100)} in this workspace; create it first`,
    }));
  const [first] = details;
  if (first !== undefined)
    throw new AppError('workflow_invalid', `The steps can't run: ${first.path} ${first.message}.`, { details });
}
