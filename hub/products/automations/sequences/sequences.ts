import type { z } from 'zod';
import { sequences as resource } from '../../../../shared/contract/automations/sequences.ts';
import type { Sequence } from '../../../../shared/contract/automations/sequences.ts';
import { notFound } from '../../../../shared/errors.ts';
import { starterOf } from '../../../engine/index.ts';
import type { RunCaller } from '../../../engine/index.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { memorySize } from '../../../platform/db/memory-size.ts';
import { and, desc, eq, inArray, lt, sql } from '../../../platform/db/orm.ts';
import { assertDefinitionSize } from '../../../platform/definition-size.ts';
import { assertVersion } from '../../../platform/http/routing/if-match.ts';
import type { ExpectedVersion } from '../../../platform/http/routing/if-match.ts';
import { newId } from '../../../platform/ids.ts';
import { readLargePage } from '../../../platform/large-pages.ts';
import type { MemoryBudget } from '../../../platform/process/memory-budget.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import type { Runs } from '../runs/index.ts';
import { authorsOfSteps } from '../workflows/index.ts';
import type { Workflows } from '../workflows/index.ts';
import { sequences } from './schema.ts';

type CreateBody = z.output<typeof resource.createAutomationSequence.body>;
type UpdateBody = z.output<typeof resource.updateAutomationSequence.body>;
type ListQuery = z.output<typeof resource.listAutomationSequences.query>;
type RunBody = z.output<typeof resource.runAutomationSequence.body>;
type Row = typeof sequences.$inferSelect;

const originOf = (id: string) => ({ kind: 'sequence' as const, id });

export interface SequencesDependencies {
  db: Database;
  cursors: Cursors;
  /** Memory budget for responses with large definitions. */
  answerMemory: MemoryBudget;
  workflows: Workflows;
  runs: Runs;
  limits: WorkspaceLimits;
}

/** Sequences: ordered steps with delays. Running a sequence runs the workflow that is derived from it. */
export class Sequences {
  readonly #deps: SequencesDependencies;

  constructor(dependencies: SequencesDependencies) {
    this.#deps = dependencies;
  }

  /** @throws AppError `not_found`. */
  get(tenantId: string, id: string) {
    return this.#deps.db.read(tenantId, async (tx) => {
      const [row] = await tx
        .select()
        .from(sequences)
        .where(and(eq(sequences.tenantId, tenantId), eq(sequences.id, id)));
      if (row === undefined) throw notFound('sequence', id);
      const workflowIds = await this.#deps.workflows.findDerived(tx, tenantId, 'sequence', [id]);
      return present(row, workflowIds.get(id) ?? null);
    });
  }

  async list(tenantId: string, query: ListQuery) {
    const { db, workflows } = this.#deps;
    return readLargePage(this.#deps, tenantId, `sequences:${tenantId}`, query, {
      measure: (limit, before) =>
        db.read(tenantId, (tx) =>
          tx
            .select({ id: sequences.id, bytes: sql<number>`${sql.raw(memorySize('steps', '[]'))}` })
            .from(sequences)
            .where(and(eq(sequences.tenantId, tenantId), before === undefined ? undefined : lt(sequences.id, before)))
            .orderBy(desc(sequences.id))
            .limit(limit),
        ),
      read: (ids) =>
        db.read(tenantId, async (tx) => {
          const rows = await tx
            .select()
            .from(sequences)
            .where(and(eq(sequences.tenantId, tenantId), inArray(sequences.id, ids)));
          const workflowIds = await workflows.findDerived(tx, tenantId, 'sequence', ids);
          return rows.map((row) => ({ id: row.id, sequence: present(row, workflowIds.get(row.id) ?? null) }));
        }),
      present: ({ sequence }) => sequence,
    });
  }

  /** @throws AppError `workflow_invalid`, `product_not_entitled`, `workspace_limit_reached`. */
  create(tenantId: string, body: CreateBody, actor: string): Promise<Sequence> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      assertDefinitionSize({ steps: body.steps });
      await this.#deps.workflows.validateWithin(tx, tenantId, body.steps);
      const [row] = await tx
        .insert(sequences)
        .values({
          id: newId(),
          tenantId,
          ...body,
          changedBy: actor,
          authors: authorsOfSteps(null, body.steps, actor),
        })
        .returning();
      const created = row as Row;
      await this.#deps.limits.assertWithin(tx, tenantId, 'sequence');
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'sequence.created',
        targetType: 'sequence',
        targetId: created.id,
        details: { name: created.name },
      });
      return this.#present(tx, created);
    });
  }

  /** @throws AppError `not_found`, `version_conflict`, `workflow_invalid`, `product_not_entitled`. */
  update(tenantId: string, id: string, body: UpdateBody, actor: string, expected: ExpectedVersion): Promise<Sequence> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      assertDefinitionSize({ steps: body.steps });
      if (body.steps !== undefined) await this.#deps.workflows.validateWithin(tx, tenantId, body.steps);
      const isThis = and(eq(sequences.tenantId, tenantId), eq(sequences.id, id));
      const [before] = await tx.select().from(sequences).where(isThis).for('no key update');
      if (before === undefined) throw notFound('sequence', id);
      assertVersion(expected, before.version, `sequence ${id}`);
      const authors = authorsOfSteps(before, body.steps ?? before.steps, actor);
      const [updated] = await tx
        .update(sequences)
        .set({ ...body, changedBy: actor, authors, version: before.version + 1, updatedAt: sql`now()` })
        .where(isThis)
        .returning();
      const row = updated as Row;
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'sequence.updated',
        targetType: 'sequence',
        targetId: id,
        details: { changed: Object.keys(body) },
      });
      return this.#present(tx, row);
    });
  }

  /** Deletes a sequence and its workflow. Runs in progress continue. @throws AppError `not_found`. */
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const rows = await tx
        .delete(sequences)
        .where(and(eq(sequences.tenantId, tenantId), eq(sequences.id, id)))
        .returning({ id: sequences.id });
      if (rows.length === 0) throw notFound('sequence', id);
      const workflowId = (await this.#deps.workflows.findDerived(tx, tenantId, 'sequence', [id])).get(id);
      if (workflowId !== undefined) await this.#deps.workflows.deleteWithin(tx, tenantId, workflowId, actor);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'sequence.deleted',
        targetType: 'sequence',
        targetId: id,
        details: {},
      });
    });
    return { id, deleted: true };
  }

  /** @throws AppError `not_found`, `workflow_invalid`, `product_not_entitled`. */
  async run(tenantId: string, id: string, body: RunBody, caller: RunCaller) {
    const started = await this.#deps.db.workspace(tenantId, async (tx) => {
      const [row] = await tx
        .select()
        .from(sequences)
        .where(and(eq(sequences.tenantId, tenantId), eq(sequences.id, id)))
        // Concurrent starts do not block each other; only a deletion and a start wait for each other.
        .for('key share');
      if (row === undefined) throw notFound('sequence', id);
      const derived = {
        origin: originOf(id),
        name: `Sequence: ${row.name}`.slice(0, 200),
        steps: row.steps,
        changedBy: row.changedBy,
        authors: row.authors,
      };
      return this.#deps.workflows.startDerived(tx, tenantId, derived, {
        trigger: { type: 'sequence', sequenceId: id, by: caller.actor },
        context: body.context,
        payload: body.payload,
        payloadPath: 'body.payload',
        environment: caller.environment,
        requestedBy: starterOf(caller.actor),
      });
    });
    return { runId: started.runId, status: 'queued' as const, workflowId: started.workflowId };
  }

  async #present(tx: Transaction, row: Row): Promise<Sequence> {
    return present(
      row,
      (await this.#deps.workflows.findDerived(tx, row.tenantId, 'sequence', [row.id])).get(row.id) ?? null,
    );
  }
}

function present(row: Row, workflowId: string | null): Sequence {
  return {
    id: row.id,
    name: row.name,
    steps: row.steps,
    workflowId,
    version: row.version,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
