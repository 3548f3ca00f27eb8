import type { z } from 'zod';
import { agents as resource } from '../../../../shared/contract/automations/agents.ts';
import type { Agent } from '../../../../shared/contract/automations/agents.ts';
import { invalidBody, notFound } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, lt, sql } from '../../../platform/db/orm.ts';
import { authorsAfter } from '../../../platform/field-authors.ts';
import { assertVersion } from '../../../platform/http/routing/if-match.ts';
import type { ExpectedVersion } from '../../../platform/http/routing/if-match.ts';
import { newId } from '../../../platform/ids.ts';
import { modelConfigs } from '../../ai/models/schema.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import { agents } from './schema.ts';
import { lockToolProfile } from './tool-profiles.ts';

type AgentRow = typeof agents.$inferSelect;
type CreateBody = z.output<typeof resource.createAutomationAgent.body>;
type UpdateBody = z.output<typeof resource.updateAutomationAgent.body>;
type ListQuery = z.output<typeof resource.listAutomationAgents.query>;

/** AI agents of workflows: prompts, models and message routing. */
export class Agents {
  readonly #deps: { db: Database; cursors: Cursors; limits: WorkspaceLimits };

  constructor(dependencies: { db: Database; cursors: Cursors; limits: WorkspaceLimits }) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) =>
        tx
          .select()
          .from(agents)
          .where(and(eq(agents.tenantId, tenantId), before === undefined ? undefined : lt(agents.id, before)))
          .orderBy(desc(agents.id))
          .limit(limit),
      );
    return readPage(this.#deps.cursors, `agents:${tenantId}`, query, read, presentAgent);
  }

  /** @throws AppError `validation_failed` for a tool profile or model that the workspace does not have, `workspace_limit_reached`. */
  create(tenantId: string, body: CreateBody, actor: string): Promise<Agent> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      await assertAgentReferences(tx, tenantId, body);
      const [row] = await tx
        .insert(agents)
        .values({
          id: newId(),
          tenantId,
          ...body,
          changedBy: actor,
          authors: authorsAfter(null, contentOf(body), actor),
        })
        .returning();
      const created = row as AgentRow;
      await this.#deps.limits.assertWithin(tx, tenantId, 'agent');
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'agent.created',
        targetType: 'agent',
        targetId: created.id,
        details: { name: created.name },
      });
      return presentAgent(created);
    });
  }

  /** @throws AppError `not_found`, `version_conflict`, `validation_failed`. */
  update(tenantId: string, id: string, body: UpdateBody, actor: string, expected: ExpectedVersion): Promise<Agent> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      await assertAgentReferences(tx, tenantId, body);
      const isThis = and(eq(agents.tenantId, tenantId), eq(agents.id, id));
      const [before] = await tx.select().from(agents).where(isThis).for('no key update');
      if (before === undefined) throw notFound('agent', id);
      assertVersion(expected, before.version, `agent ${id}`);
      const authors = authorsAfter({ values: before, authors: before.authors }, contentOf(body), actor);
      const [updated] = await tx
        .update(agents)
        .set({ ...body, changedBy: actor, authors, version: before.version + 1, updatedAt: sql`now()` })
        .where(isThis)
        .returning();
      const row = updated as AgentRow;
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'agent.updated',
        targetType: 'agent',
        targetId: id,
        details: { changed: Object.keys(body) },
      });
      return presentAgent(row);
    });
  }

  /** @throws AppError `not_found`. */
  async get(tenantId: string, id: string): Promise<Agent> {
    const found = await this.#deps.db.read(tenantId, (tx) => findAgent(tx, tenantId, id));
    if (found === null) throw notFound('agent', id);
    return found;
  }

  /** @throws AppError `not_found`. */
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const rows = await tx
        .delete(agents)
        .where(and(eq(agents.tenantId, tenantId), eq(agents.id, id)))
        .returning({ id: agents.id });
      if (rows.length === 0) throw notFound('agent', id);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'agent.deleted',
        targetType: 'agent',
        targetId: id,
        details: {},
      });
    });
    return { id, deleted: true };
  }
}

/** The fields that determine the behaviour and the routing of an agent. */
const contentOf = ({ systemPrompt, toolProfileId, model, routeKeys }: UpdateBody) => ({
  systemPrompt,
  toolProfileId,
  model,
  routeKeys,
});

/**
 * The last authors of an agent, its tool profile and the standing orders of the workspace, which apply to every agent.
 * Each field has its own author, besides the last author of the agent.
 */
export async function readAuthors(
  tx: Transaction,
  tenantId: string,
  agentId: string | null,
  toolProfileId: string | null,
): Promise<string[]> {
  const { rows } = await tx.query<{ actor: string }>(
    'read_agent_authors',
    `SELECT changed_by AS actor FROM agents WHERE tenant_id = $1 AND id = $2 AND changed_by IS NOT NULL
     UNION SELECT f.value FROM agents g, jsonb_each_text(g.authors) f WHERE g.tenant_id = $1 AND g.id = $2
     UNION SELECT f.value FROM tool_profiles p, jsonb_each_text(p.authors) f WHERE p.tenant_id = $1 AND p.id = $3
     UNION SELECT authors->>'standingOrders' FROM automation_policies
       WHERE tenant_id = $1 AND standing_orders <> '' AND authors->>'standingOrders' IS NOT NULL`,
    [tenantId, agentId, toolProfileId],
  );
  return rows.map(({ actor }) => actor);
}

/** An agent of a workspace, or null. */
export async function findAgent(tx: Transaction, tenantId: string, id: string): Promise<Agent | null> {
  const [row] = await tx
    .select()
    .from(agents)
    .where(and(eq(agents.tenantId, tenantId), eq(agents.id, id)));
  return row === undefined ? null : presentAgent(row);
}

/** The origin of an inbound message, as route keys see it. */
export interface MessageRoute {
  channelId: string;
  provider: string;
  sender: string;
  sessionKey: string;
  text: string;
}

/** The agent that answers a message: the agent with the most specific matching route key, then the oldest agent. */
export async function routeToAgent(
  tx: Transaction,
  tenantId: string,
  route: MessageRoute,
): Promise<Pick<AgentRow, 'id' | 'name' | 'changedBy'> | null> {
  const command = /^\/[A-Za-z0-9_-]+/.exec(route.text.trim())?.[0];
  const keys = [
    ...(command === undefined ? [] : [command]),
    `session:${route.sessionKey}`,
    `${route.provider}:${route.sender}`,
    `channel:${route.channelId}`,
    route.provider,
    '*',
  ];
  const rows = await tx
    .select()
    .from(agents)
    .where(and(eq(agents.tenantId, tenantId), sql`${agents.routeKeys} && ${sql.param(keys)}::text[]`))
    .orderBy(agents.id);
  for (const key of keys) {
    const row = rows.find((candidate) => candidate.routeKeys.includes(key));
    if (row !== undefined) return row;
  }
  return null;
}

async function assertAgentReferences(
  tx: Transaction,
  tenantId: string,
  body: { toolProfileId?: string | null | undefined; model?: string | null | undefined },
): Promise<void> {
  if (typeof body.toolProfileId === 'string' && !(await lockToolProfile(tx, tenantId, body.toolProfileId, 'key share')))
    throw invalidBody('toolProfileId', 'is not a tool profile of this workspace');
  if (typeof body.model === 'string') {
    const [row] = await tx
      .select({ models: modelConfigs.models })
      .from(modelConfigs)
      .where(eq(modelConfigs.tenantId, tenantId));
    if (row?.models.some((model) => model.id === body.model) !== true)
      throw invalidBody(
        'model',
        'is not the id of a model of this workspace; set it with PUT /v1/automations/models first',
      );
  }
}

function presentAgent(row: AgentRow): Agent {
  return {
    id: row.id,
    name: row.name,
    systemPrompt: row.systemPrompt,
    toolProfileId: row.toolProfileId,
    routeKeys: row.routeKeys,
    model: row.model,
    version: row.version,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
