import type { z } from 'zod';
import type { nodes as resource } from '../../../../shared/contract/nodes/nodes.ts';
import { notFound } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, lt } from '../../../platform/db/orm.ts';
import { nodeCommands, nodeFacts, nodes } from '../schema.ts';
import type { RecordedFacts } from './facts.ts';

type CommandsQuery = z.output<typeof resource.listAutomationNodeCommands.query>;
type FactsQuery = z.output<typeof resource.listAutomationNodeFacts.query>;

/** The commands and recorded facts of a node over time. A revoked node keeps its history. */
export class NodeHistory {
  readonly #db: Database;
  readonly #cursors: Cursors;

  constructor(db: Database, cursors: Cursors) {
    this.#db = db;
    this.#cursors = cursors;
  }

  /**
   * Lists the commands of a node, newest first, without input and output.
   * @throws AppError `not_found`, `invalid_cursor`.
   */
  commands(tenantId: string, nodeId: string, query: CommandsQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#db.read(tenantId, async (tx) => {
        await assertNode(tx, tenantId, nodeId);
        return tx
          .select({
            id: nodeCommands.id,
            type: nodeCommands.type,
            status: nodeCommands.status,
            runId: nodeCommands.runId,
            stepIndex: nodeCommands.stepIndex,
            attempt: nodeCommands.attempt,
            createdAt: nodeCommands.createdAt,
            handedOutAt: nodeCommands.handedOutAt,
            finishedAt: nodeCommands.finishedAt,
            error: nodeCommands.error,
          })
          .from(nodeCommands)
          .where(
            and(
              eq(nodeCommands.tenantId, tenantId),
              eq(nodeCommands.nodeId, nodeId),
              query.status === undefined ? undefined : eq(nodeCommands.status, query.status),
              query.type === undefined ? undefined : eq(nodeCommands.type, query.type),
              before === undefined ? undefined : lt(nodeCommands.id, before),
            ),
          )
          .orderBy(desc(nodeCommands.id))
          .limit(limit);
      });
    return readPage(this.#cursors, `node-commands:${tenantId}:${nodeId}`, query, read, (row) => ({
      ...row,
      createdAt: row.createdAt.toISOString(),
      handedOutAt: row.handedOutAt?.toISOString() ?? null,
      finishedAt: row.finishedAt?.toISOString() ?? null,
    }));
  }

  /** Lists the recorded facts of a node, newest first. @throws AppError `not_found`, `invalid_cursor`. */
  facts(tenantId: string, nodeId: string, query: FactsQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#db.read(tenantId, async (tx) => {
        await assertNode(tx, tenantId, nodeId);
        return tx
          .select({ id: nodeFacts.id, at: nodeFacts.at, facts: nodeFacts.facts })
          .from(nodeFacts)
          .where(
            and(
              eq(nodeFacts.tenantId, tenantId),
              eq(nodeFacts.nodeId, nodeId),
              before === undefined ? undefined : lt(nodeFacts.id, before),
            ),
          )
          .orderBy(desc(nodeFacts.id))
          .limit(limit);
      });
    return readPage(this.#cursors, `node-facts:${tenantId}:${nodeId}`, query, read, ({ id, at, facts }) => ({
      id,
      at: at.toISOString(),
      facts: facts as RecordedFacts,
    }));
  }
}

async function assertNode(tx: Transaction, tenantId: string, nodeId: string): Promise<void> {
  const rows = await tx
    .select({ id: nodes.id })
    .from(nodes)
    .where(and(eq(nodes.tenantId, tenantId), eq(nodes.id, nodeId)));
  if (rows.length === 0) throw notFound('node', nodeId);
}
