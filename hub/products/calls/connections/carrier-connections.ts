import type { Carrier } from '../../../../shared/contract/calls/records.ts';
import { Batcher } from '../../../platform/db/batcher.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { isEntitledToCalling } from '../entitlement/index.ts';
import { sealPurpose } from './service.ts';

/** Secrets that verify the signatures of a carrier, newest first. */
export interface ConnectionSecrets {
  tenantId: string;
  provider: Carrier;
  secrets: string[];
  /** Whether a secret is missing because it was sealed with another `SECRET_KEY`. */
  hasUnreadable: boolean;
}

/** A connection whose carrier offers a list of calls. */
export interface ListedConnection {
  id: string;
  tenantId: string;
  accountSid: string;
  /** @throws Error if the token was sealed with another `SECRET_KEY`. */
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

/** Accuracy of `last_event_at`, in seconds. A coarse time saves writes. */
const lastEventSeconds = 60;

/** Connections of all workspaces, for the exchange with carriers. */
export class CarrierConnections {
  readonly #deps: { db: Database; secrets: Secrets };
  readonly #lookUps: Batcher<string, ConnectionSecrets | null>;

  constructor(dependencies: { db: Database; secrets: Secrets }) {
    this.#deps = dependencies;
    this.#lookUps = new Batcher({
      flush: (_key, ids) => this.#findAll(ids),
      bytesOf: () => 100,
      maxItems: 256,
    });
  }

  /** Finds the connection that a carrier addresses, or null. Concurrent look-ups share one statement. */
  find(id: string): Promise<ConnectionSecrets | null> {
    return this.#lookUps.add('', id);
  }

  /** Lists the connections of a workspace whose carrier offers a list of calls. */
  async listed(tenantId: string): Promise<ListedConnection[]> {
    const rows = await this.#deps.db.systemStatement<ListedRow>(
      'list_listed_call_connections',
      `${selectListed} AND c.tenant_id = $1 ORDER BY c.id`,
      [tenantId],
    );
    return rows.map((row) => this.#toListed(row));
  }

  /** Lists connections of all workspaces not compared since `before`, in order of ID after `after`. */
  async due(before: Date, after: string, limit: number): Promise<ListedConnection[]> {
    const rows = await this.#deps.db.systemStatement<ListedRow>(
      'list_due_call_connections',
      `${selectListed} AND (c.reconciled_at IS NULL OR c.reconciled_at < $1) AND c.id > $2 ORDER BY c.id LIMIT $3`,
      [before, after, limit],
    );
    return rows.map((row) => this.#toListed(row));
  }

  /**
   * Records that the calls of a period were compared with the carrier's list. Does nothing if an earlier period was not
   * compared.
   * @param first end of the compared period for a connection without any comparison.
   */
  async noteReconciled(id: string, { from, to }: { from: Date; to: Date }, first: Date): Promise<void> {
    await this.#deps.db.systemStatement(
      'note_reconciled_calls',
      'UPDATE call_connections SET reconciled_at = greatest(reconciled_at, $3) WHERE id = $1 AND coalesce(reconciled_at, $4) >= $2',
      [id, from, to, first],
    );
  }

  /** Records the time of an event. A failure loses only that time. */
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

  async #findAll(ids: readonly string[]): Promise<(ConnectionSecrets | null)[]> {
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

  /** Returns null if the secret was sealed with another key, so that other look-ups in the same statement succeed. */
  #open(sealed: string): string | null {
    try {
      return this.#deps.secrets.open(sealPurpose, sealed);
    } catch {
      return null;
    }
  }
}
