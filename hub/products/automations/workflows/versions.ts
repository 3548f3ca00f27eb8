import type { z } from 'zod';
import { workflows as resource } from '../../../../shared/contract/automations/workflows.ts';
import type { WorkflowVersion } from '../../../../shared/contract/automations/workflows.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { findWorkflow } from './store.ts';
import { findVersion, listVersions } from './version-rows.ts';
import type { VersionRow } from './version-rows.ts';

export type VersionsQuery = z.output<typeof resource.listAutomationWorkflowVersions.query>;

/** @throws AppError `not_found`, `invalid_cursor`. */
export async function readVersions(
  deps: { db: Database; cursors: Cursors },
  tenantId: string,
  id: string,
  query: VersionsQuery,
) {
  const read = (limit: number, before: string | undefined) =>
    deps.db.read(tenantId, async (tx) => {
      if ((await findWorkflow(tx, tenantId, id)) === null) throw notFound('workflow', id);
      const rows = await listVersions(
        tx,
        tenantId,
        id,
        limit,
        before === undefined ? undefined : versionOfCursor(before),
      );
      return rows.map((row) => ({ ...row, id: cursorOfVersion(row.version) }));
    });
  return readPage(deps.cursors, `workflow-versions:${tenantId}:${id}`, query, read, presentVersionSummary);
}

/** @throws AppError `not_found`. */
export async function readVersion(
  deps: { db: Database },
  tenantId: string,
  id: string,
  version: number,
): Promise<WorkflowVersion> {
  const row = await deps.db.read(tenantId, async (tx) => {
    if ((await findWorkflow(tx, tenantId, id)) === null) throw notFound('workflow', id);
    return findVersion(tx, tenantId, id, version);
  });
  if (row === null) throw noVersion(id, version);
  return { ...presentVersionSummary(row), stepsJson: row.steps, inputs: row.inputs };
}

const presentVersionSummary = ({ version, name, changedBy, createdAt }: Omit<VersionRow, 'steps' | 'inputs'>) => ({
  version,
  name,
  savedBy: changedBy,
  createdAt: createdAt.toISOString(),
});

/** A version number in the form of an id, because cursors contain ids. */
const cursorOfVersion = (version: number) => `00000000-0000-0000-0000-${version.toString(16).padStart(12, '0')}`;
const versionOfCursor = (cursor: string) => Number.parseInt(cursor.slice(-12), 16);

function noVersion(id: string, version: number): AppError {
  return new AppError(
    'not_found',
    `The workflow ${id} has no version ${version}, or the version was pruned. List its versions.`,
    {
      details: [{ path: 'params.version', message: 'does not exist' }],
    },
  );
}
