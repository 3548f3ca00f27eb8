import type { z } from 'zod';
import { nodes as resource } from '../../../shared/contract/nodes/nodes.ts';
import { notFound } from '../../../shared/errors.ts';
import { readPage } from '../../platform/cursor.ts';
import type { Cursors } from '../../platform/cursor.ts';
import type { Database } from '../../platform/db/database.ts';
import { and, asc, eq, isNull, lt, sql } from '../../platform/db/orm.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';
import { newId } from '../../platform/ids.ts';
import { changesOf, fieldsOf, recordAudit } from '../core/audit/index.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { failNodeCommands, isReachable, nodeRevoked, nodeTopic } from './commands/index.ts';
import { channelTopic } from './connections/index.ts';
import { newPairingCode, pairingCodeHash } from './devices/index.ts';
import { nodes } from './schema.ts';
import { assertNameFree, findNode, isOfflineSql, listNodes, presentNode, unnamedNode } from './store.ts';
import type { PresentedNode } from './store.ts';

export interface NodesDependencies {
  db: Database;
  cursors: Cursors;
  limits: WorkspaceLimits;
  pairingKey: Buffer;
  heartbeatSeconds: number;
}

type ListQuery = z.output<typeof resource.listAutomationNodes.query>;
type CreateBody = z.output<typeof resource.createAutomationNode.body>;
type UpdateBody = z.output<typeof resource.updateAutomationNode.body>;

const pairingMinutes = 10;
const maxNodesPerBatch = 500;

/** Operations of users and API keys on the nodes of their workspace. */
export class Nodes {
  readonly #deps: NodesDependencies;

  constructor(dependencies: NodesDependencies) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: ListQuery) {
    const read = async (limit: number, before: string | undefined) => {
      const rows = await this.#deps.db.read(tenantId, (tx) =>
        listNodes(tx, tenantId, query, this.#deps.heartbeatSeconds, limit, before),
      );
      return rows.map(({ row, status }) => ({ id: row.id, row, status }));
    };
    return readPage(this.#deps.cursors, `nodes:${tenantId}`, query, read, ({ row, status }) =>
      presentNode(row, status),
    );
  }

  /**
   * Creates an unpaired node and its pairing code.
   * @param hubUrl the address of this hub for the device.
   * @throws AppError `workspace_limit_reached`.
   */
  async createPairing(tenantId: string, body: CreateBody, hubUrl: string, actor: string) {
    const nodeId = newId();
    const pairingCode = newPairingCode();
    const expiresAt = await this.#deps.db.workspace(tenantId, async (tx) => {
      noteWorkspaceChange(tx, tenantId);
      if (body.name !== undefined) await assertNameFree(tx, tenantId, nodeId, body.name);
      const [row] = await tx
        .insert(nodes)
        .values({
          id: nodeId,
          tenantId,
          name: body.name ?? unnamedNode,
          tags: body.tags,
          allowSystem: body.allowSystem,
          allowBrowser: body.allowBrowser,
          pairingCodeHash: pairingCodeHash(this.#deps.pairingKey, pairingCode),
          pairingExpiresAt: sql`now() + make_interval(mins => ${pairingMinutes})`,
        })
        .returning({ expiresAt: nodes.pairingExpiresAt });
      await this.#deps.limits.assertWithin(tx, tenantId, 'node');
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'node.pairing_created',
        targetType: 'node',
        targetId: nodeId,
        details: {
          allowSystem: body.allowSystem,
          allowBrowser: body.allowBrowser,
          ...(body.tags.length > 0 && { tags: body.tags }),
        },
      });
      return row?.expiresAt as Date;
    });
    const pairingUri = `outrigger://pair?${new URLSearchParams({ hub: hubUrl, code: pairingCode }).toString()}`;
    return { nodeId, pairingCode, pairingUri, expiresAt: expiresAt.toISOString() };
  }

  /** @throws AppError `not_found`, also for a revoked node. */
  async get(tenantId: string, id: string): Promise<PresentedNode> {
    const found = await this.#deps.db.read(tenantId, (tx) => findNode(tx, tenantId, id, this.#deps.heartbeatSeconds));
    if (found === null) throw notFound('node', id);
    return presentNode(found.row, found.status);
  }

  /** @throws AppError `not_found`. */
  update(tenantId: string, id: string, body: UpdateBody, actor: string): Promise<PresentedNode> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      noteWorkspaceChange(tx, tenantId);
      tx.publish(nodeTopic(id), {});
      if (body.name !== undefined) await assertNameFree(tx, tenantId, id, body.name);
      const isThisNode = and(eq(nodes.tenantId, tenantId), eq(nodes.id, id), isNull(nodes.revokedAt));
      const [before] = await tx.select().from(nodes).where(isThisNode).for('no key update');
      if (before === undefined) throw notFound('node', id);
      await tx
        .update(nodes)
        .set({ ...body, updatedAt: sql`now()` })
        .where(isThisNode);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'node.updated',
        targetType: 'node',
        targetId: id,
        details: { ...body, changes: changesOf(fieldsOf(before, body), body) },
      });
      const found = await findNode(tx, tenantId, id, this.#deps.heartbeatSeconds);
      if (found === null) throw notFound('node', id);
      return presentNode(found.row, found.status);
    });
  }

  /**
   * Revokes a node: deletes its secret and its pairing code, and fails its open commands.
   *
   * The first transaction waits for transactions that write commands for the node, because they lock it. Afterwards no
   * command can be added, so the second transaction finds all of them. To avoid deadlocks it locks their runs first.
   * @throws AppError `not_found`.
   */
  async revoke(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      await tx.select({ id: nodes.id }).from(nodes).where(eq(nodes.id, id)).for('update');
      noteWorkspaceChange(tx, tenantId);
      tx.publish(nodeTopic(id), {});
      tx.publish(channelTopic(id), { revoked: true });
      const revoked = await tx
        .update(nodes)
        .set({ revokedAt: sql`now()`, online: false, secretHash: null, pairingCodeHash: null, updatedAt: sql`now()` })
        .where(and(eq(nodes.tenantId, tenantId), eq(nodes.id, id), isNull(nodes.revokedAt)))
        .returning({ id: nodes.id });
      if (revoked.length === 0) throw notFound('node', id);
      await recordAudit(tx, { tenantId, actor, action: 'node.revoked', targetType: 'node', targetId: id, details: {} });
    });
    await this.#deps.db.workspace(tenantId, (tx) => failNodeCommands(tx, id, nodeRevoked));
    return { id, deleted: true };
  }

  /** Marks nodes without a recent heartbeat as offline. The maintenance sweep calls it. */
  async markSilentNodesOffline(stopping?: AbortSignal): Promise<void> {
    while (stopping?.aborted !== true && (await this.#markBatchOffline()) === maxNodesPerBatch);
  }

  #markBatchOffline(): Promise<number> {
    return this.#deps.db.system(
      async (tx) => {
        // While devices cannot reach this hub, missing heartbeats do not show that a device is offline.
        if (!(await isReachable(tx))) return 0;
        const found = tx
          .select({ id: nodes.id })
          .from(nodes)
          .where(and(nodes.online, isOfflineSql(this.#deps.heartbeatSeconds)))
          .orderBy(asc(nodes.id))
          .limit(maxNodesPerBatch)
          .for('update', { skipLocked: true });
        const rows = await tx
          .update(nodes)
          .set({ online: false })
          .where(sql`${nodes.id} = any(array(${found}))`)
          .returning({ tenantId: nodes.tenantId });
        for (const { tenantId } of rows) noteWorkspaceChange(tx, tenantId);
        return rows.length;
      },
      { durable: false },
    );
  }

  /** Deletes unpaired nodes one day after their code expired. The maintenance sweep calls it. */
  async pruneUnclaimed(): Promise<void> {
    await this.#deps.db.system(
      (tx) =>
        tx
          .delete(nodes)
          .where(
            and(
              isNull(nodes.pairedAt),
              isNull(nodes.revokedAt),
              lt(nodes.pairingExpiresAt, sql`now() - interval '1 day'`),
            ),
          ),
      { durable: false },
    );
  }
}
