import type { Database } from '../../../platform/db/database.ts';
import { lockKnowledge } from './lock-knowledge.ts';

/** An entry without a vector of the current model. */
export interface EntryWithoutVector {
  number: number;
  question: string;
  answer: string;
}

/** Finds up to 100 workspaces that may have entries without a vector of this model. */
export async function findWaitingWorkspaces(db: Database, model: string): Promise<string[]> {
  const rows = await db.systemStatement<{ tenant_id: string }>(
    'find_waiting_knowledge',
    'SELECT tenant_id FROM knowledge_bases WHERE vectors_model IS DISTINCT FROM $1 LIMIT 100',
    [model],
  );
  return rows.map((row) => row.tenant_id);
}

const withoutVector = `FROM knowledge_entries e WHERE e.tenant_id = $1 AND NOT EXISTS (
  SELECT 1 FROM knowledge_vectors v WHERE v.tenant_id = $1 AND v.number = e.number AND v.model = $2)`;

export async function readEntriesWithoutVector(
  db: Database,
  tenantId: string,
  model: string,
  limit: number,
): Promise<EntryWithoutVector[]> {
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<EntryWithoutVector>(
      'read_waiting_knowledge',
      `SELECT e.number, e.question, e.answer ${withoutVector} ORDER BY e.number LIMIT $3`,
      [tenantId, model, limit],
    ),
  );
  return rows;
}

/** Writes the vectors of entries that still exist. A null vector records that the model refused the entry. */
export async function writeVectors(
  db: Database,
  tenantId: string,
  model: string,
  vectors: readonly { number: number; vector: Float32Array | null }[],
): Promise<void> {
  await db.workspace(tenantId, async (tx) => {
    await lockKnowledge(tx, tenantId);
    await tx.query(
      'write_vectors',
      `INSERT INTO knowledge_vectors (tenant_id, number, model, vector)
       SELECT $1, e.number, $2, given.vector FROM unnest($3::int[], $4::bytea[]) AS given(number, vector)
         JOIN knowledge_entries e ON e.tenant_id = $1 AND e.number = given.number
       ON CONFLICT (tenant_id, number) DO UPDATE SET model = excluded.model, vector = excluded.vector`,
      [tenantId, model, vectors.map(({ number }) => number), vectors.map(({ vector }) => bytesOf(vector))],
    );
    await tx.query(
      'change_vectors',
      'UPDATE knowledge_bases SET vectors_version = vectors_version + 1 WHERE tenant_id = $1',
      [tenantId],
    );
  });
}

/** Records that all entries of a workspace are processed, unless some have no vector. */
export async function markVectorsComplete(db: Database, tenantId: string, model: string): Promise<void> {
  await db.workspace(tenantId, async (tx) => {
    await lockKnowledge(tx, tenantId);
    await tx.query(
      'mark_vectors_complete',
      `UPDATE knowledge_bases SET vectors_model = $2 WHERE tenant_id = $1 AND NOT EXISTS (SELECT 1 ${withoutVector})`,
      [tenantId, model],
    );
  });
}

/** Counts the entries with a vector or a refusal. */
export async function countVectors(db: Database, tenantId: string, model: string): Promise<number> {
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<{ count: number }>(
      'count_vectors',
      'SELECT count(*)::int AS count FROM knowledge_vectors WHERE tenant_id = $1 AND model = $2',
      [tenantId, model],
    ),
  );
  return rows[0]?.count ?? 0;
}

/** The vectors of a workspace in one array. */
export interface VectorTable {
  numbers: Int32Array;
  vectors: Float32Array;
  dimensions: number;
}

/** Returns the version of the stored vectors. It increases with each change. */
export async function readVectorsVersion(db: Database, tenantId: string): Promise<number> {
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<{ vectors_version: number }>(
      'read_vectors_version',
      'SELECT vectors_version FROM knowledge_bases WHERE tenant_id = $1',
      [tenantId],
    ),
  );
  return rows[0]?.vectors_version ?? 0;
}

export async function readVectors(db: Database, tenantId: string, model: string): Promise<VectorTable> {
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<{ number: number; vector: Buffer }>(
      'read_vectors',
      'SELECT number, vector FROM knowledge_vectors WHERE tenant_id = $1 AND model = $2 AND vector IS NOT NULL',
      [tenantId, model],
    ),
  );
  const bytes = rows[0]?.vector.length ?? 0;
  const usable = rows.filter(({ vector }) => vector.length === bytes);
  const dimensions = bytes / 4;
  const vectors = new Float32Array(usable.length * dimensions);
  const view = Buffer.from(vectors.buffer);
  usable.forEach(({ vector }, row) => vector.copy(view, row * bytes));
  return { numbers: Int32Array.from(usable, ({ number }) => number), vectors, dimensions };
}

const bytesOf = (vector: Float32Array | null) =>
  vector === null ? null : Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
