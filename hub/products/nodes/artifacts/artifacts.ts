import type { Readable } from 'node:stream';
import { notFound } from '../../../../shared/errors.ts';
import type { Blobs } from '../../../platform/blobs/blobs.ts';
import type { Database } from '../../../platform/db/database.ts';
import { and, eq, sql } from '../../../platform/db/orm.ts';
import { artifacts, nodeCommands } from '../schema.ts';
import type { DeviceIdentity } from '../store.ts';

/** A byte range of an artifact. `start` and `end` are both inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface ArtifactContent {
  name: string;
  contentType: string;
  bytes: number;
  sha256: string;
  open(range?: ByteRange): Promise<Readable>;
}

/** Reads the artifacts that nodes sent: screenshots, recordings and files. */
export class Artifacts {
  readonly #deps: { db: Database; blobs: Blobs };

  constructor(dependencies: { db: Database; blobs: Blobs }) {
    this.#deps = dependencies;
  }

  /** @throws AppError `not_found`. */
  async find(tenantId: string, id: string): Promise<ArtifactContent> {
    const [row] = await this.#deps.db.read(tenantId, (tx) =>
      tx
        .select()
        .from(artifacts)
        .where(and(eq(artifacts.tenantId, tenantId), eq(artifacts.id, id))),
    );
    if (row === undefined) throw notFound('artifact', id);
    return this.#contentOf(row);
  }

  /**
   * Finds an artifact that the input of a leased command refers to. The artifact must belong to the same run.
   * @throws AppError `not_found`.
   */
  async findForCommand({ tenantId, nodeId }: DeviceIdentity, commandId: string, id: string): Promise<ArtifactContent> {
    const [found] = await this.#deps.db.read(tenantId, (tx) =>
      tx
        .select({ row: artifacts })
        .from(artifacts)
        .innerJoin(nodeCommands, eq(nodeCommands.runId, artifacts.runId))
        .where(
          and(
            eq(artifacts.tenantId, tenantId),
            eq(artifacts.id, id),
            eq(nodeCommands.id, commandId),
            eq(nodeCommands.nodeId, nodeId),
            eq(nodeCommands.status, 'leased'),
            sql`${nodeCommands.input} -> 'files' @> ${JSON.stringify([{ artifactId: id }])}::jsonb`,
          ),
        ),
    );
    if (found === undefined) throw notFound('artifact', id);
    return this.#contentOf(found.row);
  }

  #contentOf({ tenantId, id, name, contentType, bytes, sha256 }: typeof artifacts.$inferSelect): ArtifactContent {
    return { name, contentType, bytes, sha256, open: (range) => this.#deps.blobs.open(`${tenantId}/${id}`, range) };
  }
}
