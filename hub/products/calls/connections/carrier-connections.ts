import type { Carrier } from '../../../../shared/contract/calls/records.ts';
import { Batches } from '../../../platform/db/batches.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { isEntitledToCalling } from '../entitlement/index.ts';
import { sealPurpose } from './service.ts';

/** Of a connection that a carrier speaks to: what may have signed, the newest first. */
export interface KnownConnection {
  tenantId: string;
  provider: Carrier;
  secrets: string[];
  /** Whether one was sealed with a key that is gone, and so is not among them. */
  hasUnreadable: boolean;
}

/** One whose carrier has a list of its own. */
export interface ListedConnection {
  id: string;
  tenantId: string;
  accountSid: string;
  /** @throws Error where it was sealed with a key that is gone. */
  authToken: () => string;
  apiBaseUrl: string;
  reconciledAt: Date | null;
}

interface ListedRow {
  id: string;
  tenant_id: string;
  account_sid: string;
  api_base_url: string;
  sealed_secret: string;
  reconciled_at: Date | null;
}

const isEntitled = isEntitledToCalling('t');
const selectListed = `SELECT c.id, c.tenant_id, c.account_sid, c.api_base_url, c.sealed_secret, c.reconciled_at
  FROM call_connections c JOIN tenants t ON t.id = c.tenant_id
  WHERE c.account_sid IS NOT NULL AND c.api_base_url IS NOT NULL AND ${isEntitled}`;

/** What is kept of when something came is right to within so many seconds, so that few events write it. */
const lastEventSeconds = 60;

/** The connections as the hub speaks with carriers by them, whatever their workspace. */
export class CarrierConnections {
  readonly #deps: { db: Database; secrets: Secrets };
  readonly #lookUps: Batches<string, KnownConnection | null>;

  constructor(dependencies: { db: Database; secrets: Secrets }) {
    this.#deps = dependencies;
    this.#lookUps = new Batches({
      flush: (_key, ids) => this.#findAll(ids),
      bytesOf: () => 100,
      maxItems: 256,
    });
  }

  /** Which connection a carrier speaks to; null for none. What many ask at once is one statement. */
  find(id: string): Promise<KnownConnection | null> {
    return this.#lookUps.add('', id);
  }

  /** Connections of a workspace whose carrier can be asked for its calls. */
  async listed(tenantId: string): Promise<ListedConnection[]> {
    const rows = await this.#deps.db.systemStatement<ListedRow>(
      'list_listed_call_connections',
      `${selectListed} AND c.tenant_id = $1 ORDER BY c.id`,
      [tenantId],
    );
    return rows.map((row) => this.#toListed(row));
  }

  /** Those of all workspaces that were not compared since a time, in the order of their ids and behind one of them; so many at most. */
  async due(before: Date, after: string, limit: number): Promise<ListedConnection[]> {
    const rows = await this.#deps.db.systemStatement<ListedRow>(
      'list_due_call_connections',
      `${selectListed} AND (c.reconciled_at IS NULL OR c.reconciled_at < $1) AND c.id > $2 ORDER BY c.id LIMIT $3`,
      [before, after, limit],
    );
    return rows.map((row) => this.#toListed(row));
  }

  /**
   * Notes that a connection's calls of a time were compared with its carrier's list, unless there is something before it that was not.
   * @param first up to when they count as compared where they never were.
   */
  async noteReconciled(id: string, { from, to }: { from: Date; to: Date }, first: Date): Promise<void> {
    await this.#deps.db.systemStatement(
      'note_reconciled_calls',
      'UPDATE call_connections SET reconciled_at = greatest(reconciled_at, $3) WHERE id = $1 AND coalesce(reconciled_at, $4) >= $2',
      [id, from, to, first],
    );
  }

  /** Notes that its carrier sent something; loses nothing but its time when that fails. */
  async noteEvent(id: string): Promise<void> {
    await this.#deps.db.systemStatement(
      'note_carrier_event',
      'UPDATE call_connections SET last_event_at = now() WHERE id = $1 AND (last_event_at IS NULL OR last_event_at < now() - make_interval(secs => $2))',
      [id, lastEventSeconds],
    );
  }

  #toListed(row: ListedRow): ListedConnection {
    return {
      id: row.id,
      tenantId: row.tenant_id,
      accountSid: row.account_sid,
      authToken: () => this.#deps.secrets.open(sealPurpose, row.sealed_secret),
      apiBaseUrl: row.api_base_url,
      reconciledAt: row.reconciled_at,
    };
  }

  async #findAll(ids: readonly string[]): Promise<(KnownConnection | null)[]> {
    const rows = await this.#deps.db.systemStatement<{
      id: string;
      tenant_id: string;
      provider: Carrier;
      sealed: string[];
    }>(
      'find_call_connections',
      `SELECT c.id, c.tenant_id, c.provider, array_remove(ARRAY[c.sealed_secret, CASE WHEN c.previous_until > now() THEN c.sealed_previous_secret END], NULL) AS sealed
       FROM call_connections c JOIN tenants t ON t.id = c.tenant_id
       WHERE c.id = ANY($1::uuid[]) AND ${isEntitled}`,
      [[...new Set(ids)]],
    );
    const known = new Map(
      rows.map((row) => {
        const opened = row.sealed.map((sealed) => this.#open(sealed)).filter((secret) => secret !== null);
        return [
          row.id,
          {
            tenantId: row.tenant_id,
            provider: row.provider,
            secrets: opened,
            hasUnreadable: opened.length < row.sealed.length,
          },
        ];
      }),
    );
    return ids.map((id) => known.get(id.toLowerCase()) ?? null);
  }

  /** Null where it was sealed with another key: the others that are asked for at once are none of its business. */
  #open(sealed: string): string | null {
    try {
      return this.#deps.secrets.open(sealPurpose, sealed);
    } catch {
      return null;
    }
  }
}
