import type { Readable } from 'node:stream';
import { notFound } from '../../../shared/errors.ts';
import type { Blobs } from '../../platform/blobs/blobs.ts';
import type { Database } from '../../platform/db/database.ts';
import { and, eq } from '../../platform/db/orm.ts';
import { artifacts } from './schema.ts';

/** A part of an artefact: bytes `start` to `end`, both included. */
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

/** What nodes sent: screenshots, recordings, files. */
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
    if (row === undefined) throw notFound('artefact', id);
    return {
      name: row.name,
      contentType: row.contentType,
      bytes: row.bytes,
      sha256: row.sha256,
      open: (range) => this.#deps.blobs.open(`${tenantId}/${id}`, range),
    };
  }
}
