import type { z } from 'zod';
import { toolProfiles as resource } from '../../../../shared/contract/automations/agents.ts';
import type { patchToolProfileBody, ToolProfile } from '../../../../shared/contract/automations/agents.ts';
import { AppError, invalidBody, notFound } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, lt, sql } from '../../../platform/db/orm.ts';
import { authorsAfter } from '../../../platform/field-authors.ts';
import { newId } from '../../../platform/ids.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import { agents, toolProfiles } from './schema.ts';

type ProfileRow = typeof toolProfiles.$inferSelect;
type ListQuery = z.output<typeof resource.listAutomationToolProfiles.query>;
type PutBody = z.output<typeof resource.putAutomationToolProfile.body>;

export interface ToolProfilesDependencies {
  db: Database;
  cursors: Cursors;
  limits: WorkspaceLimits;
  isKnownSkill: (pattern: string) => boolean;
}

/** Tool profiles: which skills agents may call. */
export class ToolProfiles {
  readonly #deps: ToolProfilesDependencies;

  constructor(dependencies: ToolProfilesDependencies) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) =>
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

  /**
   * Creates a profile, or updates the profile with the given `id`. @throws AppError `not_found`, `validation_failed`
   * for a pattern that matches no skill, `workspace_limit_reached`.
   */
  put(tenantId: string, { id, ...values }: PutBody, actor: string): Promise<ToolProfile> {
    if (id !== undefined) return this.patch(tenantId, id, values, actor);
    this.#assertKnown(values.allow);
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const { allow, deny } = values;
      const [inserted] = await tx
        .insert(toolProfiles)
        .values({ id: newId(), tenantId, ...values, authors: authorsAfter(null, { allow, deny }, actor) })
        .returning();
      const row = inserted as ProfileRow;
      await this.#deps.limits.assertWithin(tx, tenantId, 'toolProfile');
      await recordChange(tx, row, 'tool-profile.created', actor);
      return presentProfile(row);
    });
  }

  /** @throws AppError `not_found`. */
  async get(tenantId: string, id: string): Promise<ToolProfile> {
    const found = await this.#deps.db.read(tenantId, (tx) => findToolProfile(tx, tenantId, id));
    if (found === null) throw notFound('tool profile', id);
    return found;
  }

  /** Updates the given fields of a profile. @throws AppError `not_found`, `validation_failed`. */
  async patch(
    tenantId: string,
    id: string,
    body: z.output<typeof patchToolProfileBody>,
    actor: string,
  ): Promise<ToolProfile> {
    this.#assertKnown(body.allow ?? []);
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const isThis = and(eq(toolProfiles.tenantId, tenantId), eq(toolProfiles.id, id));
      const [before] = await tx.select().from(toolProfiles).where(isThis).for('no key update');
      if (before === undefined) throw notFound('tool profile', id);
      const { allow, deny } = body;
      const authors = authorsAfter({ values: before, authors: before.authors }, { allow, deny }, actor);
      const [updated] = await tx
        .update(toolProfiles)
        .set({ ...body, authors, updatedAt: sql`now()` })
        .where(isThis)
        .returning();
      const row = updated as ProfileRow;
      await recordChange(tx, row, 'tool-profile.updated', actor);
      return presentProfile(row);
    });
  }

  #assertKnown(allow: readonly string[]): void {
    const unknown = allow.findIndex((pattern) => !this.#deps.isKnownSkill(pattern));
    if (unknown !== -1) throw invalidBody(`allow[${unknown}]`, 'matches no skill of this hub');
  }

  /** @throws AppError `not_found`, or `conflict` while an agent uses it. */
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      if (!(await lockToolProfile(tx, tenantId, id, 'update'))) throw notFound('tool profile', id);
      const [user] = await tx
        .select({ id: agents.id })
        .from(agents)
        .where(and(eq(agents.tenantId, tenantId), eq(agents.toolProfileId, id)))
        .limit(1);
      if (user !== undefined)
        throw new AppError(
          'conflict',
          `The agent ${user.id} uses this tool profile. Assign another one to the agent first.`,
        );
      await tx.delete(toolProfiles).where(and(eq(toolProfiles.tenantId, tenantId), eq(toolProfiles.id, id)));
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

const recordChange = (
  tx: Transaction,
  { tenantId, id, name }: ProfileRow,
  action: 'tool-profile.created' | 'tool-profile.updated',
  actor: string,
) => recordAudit(tx, { tenantId, actor, action, targetType: 'tool-profile', targetId: id, details: { name } });

/**
 * Locks a tool profile: with `key share` before an agent refers to it, with `update` before it is deleted. Returns
 * whether the profile exists.
 */
export async function lockToolProfile(
  tx: Transaction,
  tenantId: string,
  id: string,
  strength: 'key share' | 'update',
): Promise<boolean> {
  const rows = await tx
    .select({ id: toolProfiles.id })
    .from(toolProfiles)
    .where(and(eq(toolProfiles.tenantId, tenantId), eq(toolProfiles.id, id)))
    .for(strength);
  return rows.length > 0;
}

/** A tool profile of a workspace, or null. */
export async function findToolProfile(tx: Transaction, tenantId: string, id: string): Promise<ToolProfile | null> {
  const [row] = await tx
    .select()
    .from(toolProfiles)
    .where(and(eq(toolProfiles.tenantId, tenantId), eq(toolProfiles.id, id)));
  return row === undefined ? null : presentProfile(row);
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
