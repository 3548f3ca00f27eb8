import { and, desc, eq, lt, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { patchToolProfileBody } from '../../../../shared/contract/automations/agents.ts';
import {
  agents as agentResource,
  toolProfiles as profileResource,
} from '../../../../shared/contract/automations/agents.ts';
import type { Agent, ToolProfile } from '../../../../shared/contract/automations/agents.ts';
import { AppError } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { modelConfigs } from '../../ai/models/schema.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import { agents, toolProfiles } from './schema.ts';

type AgentRow = typeof agents.$inferSelect;
type ProfileRow = typeof toolProfiles.$inferSelect;
type CreateBody = z.output<typeof agentResource.createAutomationAgent.body>;
type UpdateBody = z.output<typeof agentResource.updateAutomationAgent.body>;
type ListQuery = z.output<typeof agentResource.listAutomationAgents.query>;
type ProfileBody = z.output<typeof profileResource.putAutomationToolProfile.body>;

/** Agents, and the profiles that say which skills they may call. */
export class Agents {
  readonly #deps: {
    db: Database;
    cursors: Cursors;
    limits: WorkspaceLimits;
    isKnownSkill: (pattern: string) => boolean;
  };

  constructor(dependencies: {
    db: Database;
    cursors: Cursors;
    limits: WorkspaceLimits;
    isKnownSkill: (pattern: string) => boolean;
  }) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.workspace(tenantId, (tx) =>
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
        .values({ id: newId(), tenantId, ...body })
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

  /** @throws AppError `not_found`, `validation_failed`. */
  update(tenantId: string, id: string, body: UpdateBody, actor: string): Promise<Agent> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      await assertAgentReferences(tx, tenantId, body);
      const [row] = await tx
        .update(agents)
        .set({ ...body, updatedAt: sql`now()` })
        .where(and(eq(agents.tenantId, tenantId), eq(agents.id, id)))
        .returning();
      if (row === undefined) throw agentNotFound(id);
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
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const rows = await tx
        .delete(agents)
        .where(and(eq(agents.tenantId, tenantId), eq(agents.id, id)))
        .returning({ id: agents.id });
      if (rows.length === 0) throw agentNotFound(id);
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

  listProfiles(tenantId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.workspace(tenantId, (tx) =>
        tx
          .select()
          .from(toolProfiles)
          .where(
            and(eq(toolProfiles.tenantId, tenantId), before === undefined ? undefined : lt(toolProfiles.id, before)),
          )
          .orderBy(desc(toolProfiles.id))
          .limit(limit),
      );
    return readPage(this.#deps.cursors, `tool-profiles:${tenantId}`, query, read, presentProfile);
  }

  /** Creates a profile, or changes the one that `id` names. @throws AppError `not_found`, `validation_failed` for a pattern of no skill, `workspace_limit_reached`. */
  putProfile(tenantId: string, body: ProfileBody, actor: string): Promise<ToolProfile> {
    const { id, ...values } = body;
    const unknown = values.allow.findIndex((pattern) => !this.#deps.isKnownSkill(pattern));
    if (unknown !== -1) throw invalid(`allow[${unknown}]`, 'is no skill of this hub, and no pattern of one');
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const [row] =
        id === undefined
          ? await tx
              .insert(toolProfiles)
              .values({ id: newId(), tenantId, ...values })
              .returning()
          : await tx
              .update(toolProfiles)
              .set({ ...values, updatedAt: sql`now()` })
              .where(and(eq(toolProfiles.tenantId, tenantId), eq(toolProfiles.id, id)))
              .returning();
      if (row === undefined) throw new AppError('not_found', `There is no tool profile ${id ?? ''} in this workspace.`);
      if (id === undefined) await this.#deps.limits.assertWithin(tx, tenantId, 'toolProfile');
      await recordAudit(tx, {
        tenantId,
        actor,
        action: id === undefined ? 'tool-profile.created' : 'tool-profile.updated',
        targetType: 'tool-profile',
        targetId: row.id,
        details: { name: row.name },
      });
      return presentProfile(row);
    });
  }

  /** Changes what is named of a profile. @throws AppError `not_found`, `validation_failed`. */
  async patchProfile(
    tenantId: string,
    id: string,
    body: z.output<typeof patchToolProfileBody>,
    actor: string,
  ): Promise<ToolProfile> {
    const before = await this.#deps.db.workspace(tenantId, (tx) => findToolProfile(tx, tenantId, id));
    if (before === null) throw new AppError('not_found', `There is no tool profile ${id} in this workspace.`);
    return this.putProfile(
      tenantId,
      { id, name: body.name ?? before.name, allow: body.allow ?? before.allow, deny: body.deny ?? before.deny },
      actor,
    );
  }

  /** @throws AppError `not_found`, or `conflict` while an agent uses it. */
  async deleteProfile(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const [user] = await tx
        .select({ id: agents.id })
        .from(agents)
        .where(and(eq(agents.tenantId, tenantId), eq(agents.toolProfileId, id)))
        .limit(1);
      if (user !== undefined)
        throw new AppError('conflict', `The agent ${user.id} uses this tool profile; give it another one first.`);
      const rows = await tx
        .delete(toolProfiles)
        .where(and(eq(toolProfiles.tenantId, tenantId), eq(toolProfiles.id, id)))
        .returning({ id: toolProfiles.id });
      if (rows.length === 0) throw new AppError('not_found', `There is no tool profile ${id} in this workspace.`);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'tool-profile.deleted',
        targetType: 'tool-profile',
        targetId: id,
        details: {},
      });
    });
    return { id, deleted: true };
  }
}

/** An agent of a workspace, or null. */
export async function findAgent(tx: Transaction, tenantId: string, id: string): Promise<Agent | null> {
  const [row] = await tx
    .select()
    .from(agents)
    .where(and(eq(agents.tenantId, tenantId), eq(agents.id, id)));
  return row === undefined ? null : presentAgent(row);
}

/** A tool profile of a workspace, or null. */
export async function findToolProfile(tx: Transaction, tenantId: string, id: string): Promise<ToolProfile | null> {
  const [row] = await tx
    .select()
    .from(toolProfiles)
    .where(and(eq(toolProfiles.tenantId, tenantId), eq(toolProfiles.id, id)));
  return row === undefined ? null : presentProfile(row);
}

/** Where an inbound message came from, as route keys see it. */
export interface MessageRoute {
  channelId: string;
  provider: string;
  sender: string;
  sessionKey: string;
  text: string;
}

/** The agent that answers a message: that with the most exact route key; of several, the oldest. */
export async function routeToAgent(tx: Transaction, tenantId: string, route: MessageRoute): Promise<Agent | null> {
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
    if (row !== undefined) return presentAgent(row);
  }
  return null;
}

async function assertAgentReferences(
  tx: Transaction,
  tenantId: string,
  body: { toolProfileId?: string | null | undefined; model?: string | null | undefined },
): Promise<void> {
  if (typeof body.toolProfileId === 'string' && (await findToolProfile(tx, tenantId, body.toolProfileId)) === null)
    throw invalid('toolProfileId', 'is no tool profile of this workspace');
  if (typeof body.model === 'string') {
    const [row] = await tx
      .select({ models: modelConfigs.models })
      .from(modelConfigs)
      .where(eq(modelConfigs.tenantId, tenantId));
    if (row?.models.some((model) => model.id === body.model) !== true)
      throw invalid(
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
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

function presentProfile(row: ProfileRow): ToolProfile {
  return {
    id: row.id,
    name: row.name,
    allow: row.allow,
    deny: row.deny,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

function agentNotFound(id: string): AppError {
  return new AppError('not_found', `There is no agent ${id} in this workspace.`);
}

function invalid(path: string, message: string): AppError {
  return new AppError('validation_failed', `body.${path} ${message}.`, {
    details: [{ path: `body.${path}`, message }],
  });
}
