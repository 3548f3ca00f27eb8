import { searchedTypes } from '../../../../shared/contract/automations/search.ts';
import type { SearchResult } from '../../../../shared/contract/automations/search.ts';
import type { Database } from '../../../platform/db/database.ts';
import { uuidRange } from '../../../platform/ids.ts';

/** Minimum length of the start of an id. */
const minIdLength = 8;

/** SQL of the rows with names, by type. All workspaces have few of them, so the names have no index. */
const namedRows: Record<Exclude<SearchResult['type'], 'run' | 'approval'>, { from: string; detail: string }> = {
  workflow: {
    from: `workflows WHERE tenant_id = $1 AND deleted_at IS NULL AND origin->>'kind' IS DISTINCT FROM 'skill'`,
    detail: 'NULL',
  },
  sequence: { from: 'sequences WHERE tenant_id = $1', detail: 'NULL' },
  agent: { from: 'agents WHERE tenant_id = $1', detail: 'NULL' },
  node: { from: 'nodes WHERE tenant_id = $1 AND revoked_at IS NULL', detail: 'NULL' },
  channel: { from: 'channels WHERE tenant_id = $1', detail: 'provider' },
};

const byName = Object.entries(namedRows).map(
  ([type, { from, detail }]) =>
    `(SELECT '${type}' AS type, id, name AS title, ${detail}::text AS detail FROM ${from} AND (position(lower($2) IN lower(name)) > 0 OR id BETWEEN $4 AND $5)
      ORDER BY starts_with(lower(name), lower($2)) DESC, lower(name), id LIMIT $3)`,
);

const byId = [
  `(SELECT 'run' AS type, r.id, (SELECT w.name FROM workflows w WHERE w.id = r.workflow_id) AS title, r.status AS detail FROM runs r
    WHERE r.tenant_id = $1 AND r.id BETWEEN $4 AND $5 ORDER BY r.id DESC LIMIT $3)`,
  `(SELECT 'approval' AS type, id, title, status AS detail FROM approvals WHERE tenant_id = $1 AND id BETWEEN $4 AND $5 ORDER BY id DESC LIMIT $3)`,
];

/** Finds what a workspace contains by name or id, for the command palette of the dashboard. */
export class Search {
  readonly #db: Database;

  constructor({ db }: { db: Database }) {
    this.#db = db;
  }

  /** @param query.limit maximum number of results of each type. */
  async find(tenantId: string, { q, limit }: { q: string; limit: number }): Promise<SearchResult[]> {
    const isId = q.length >= minIdLength && /^[0-9a-f][0-9a-f-]{0,35}$/i.test(q);
    const [low, high] = isId ? uuidRange(q) : [null, null];
    const { rows } = await this.#db.read(tenantId, (tx) =>
      tx.query<SearchResult & { [column: string]: unknown }>(
        isId ? 'search_workspace_by_id' : 'search_workspace',
        [...byName, ...(isId ? byId : [])].join(' UNION ALL '),
        [tenantId, q, limit, low, high],
      ),
    );
    return rows
      .map(({ type, id, title, detail }) => ({ type, id, title, detail }))
      .toSorted((one, other) => searchedTypes.indexOf(one.type) - searchedTypes.indexOf(other.type));
  }
}
