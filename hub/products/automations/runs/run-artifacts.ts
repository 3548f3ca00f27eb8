import type { z } from 'zod';
import type { runArtifact, runs as runsResource } from '../../../../shared/contract/automations/runs.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { attemptsText, during } from './store.ts';

type ListQuery = z.output<typeof runsResource.listAutomationRunArtifacts.query>;

interface RunArtifactRow {
  [column: string]: unknown;
  id: string;
  name: string;
  contentType: string;
  bytes: string;
  width: number | null;
  height: number | null;
  stepIndex: number;
  nodeId: string;
  commandId: string;
  createdAt: Date;
}

/** Maximum size of the output of a command that is read for the pixel size of its artifact. It contains no content. */
const maxMediaOutputBytes = 8_192;

/** A page of the artifacts that the steps of a run show, newest first. */
async function listRunArtifacts(
  tx: Transaction,
  tenantId: string,
  runId: string,
  limit: number,
  before: string | undefined,
): Promise<RunArtifactRow[]> {
  const media = (field: string) =>
    `CASE WHEN pg_column_size(c.output) <= ${maxMediaOutputBytes} AND c.output->>'artifactId' = a.id::text THEN (c.output->>'${field}')::int END AS ${field}`;
  const { rows } = await tx.query<RunArtifactRow>(
    before === undefined ? 'list_run_artifacts' : 'list_run_artifacts_before',
    `SELECT a.id, a.name, a.content_type AS "contentType", a.bytes, ${media('width')}, ${media('height')}, c.step_index AS "stepIndex", a.node_id AS "nodeId", a.command_id AS "commandId", a.created_at AS "createdAt"
     FROM artifacts a JOIN node_commands c ON c.id = a.command_id
     JOIN run_steps s ON s.run_id = $1 AND s.tenant_id = $2 AND s.index = c.step_index AND ${during('c.created_at')}
     WHERE a.run_id = ANY(${attemptsText})${before === undefined ? '' : ' AND a.id < $4'} ORDER BY a.id DESC LIMIT $3`,
    before === undefined ? [runId, tenantId, limit] : [runId, tenantId, limit, before],
  );
  return rows;
}

const presentArtifact = ({ bytes, createdAt, ...row }: RunArtifactRow): z.input<typeof runArtifact> => ({
  ...row,
  bytes: Number(bytes),
  createdAt: createdAt.toISOString(),
});

/** Lists the artifacts of runs. */
export class RunArtifacts {
  readonly #deps: { db: Database; cursors: Cursors };

  constructor(dependencies: { db: Database; cursors: Cursors }) {
    this.#deps = dependencies;
  }

  /** A page of the artifacts of a run, newest first; empty for an unknown run. */
  list(tenantId: string, runId: string, query: ListQuery) {
    const { db, cursors } = this.#deps;
    const read = (limit: number, before: string | undefined) =>
      db.read(tenantId, (tx) => listRunArtifacts(tx, tenantId, runId, limit, before));
    return readPage(cursors, `run-artifacts:${runId}`, query, read, presentArtifact);
  }
}
