import { LRUCache } from 'lru-cache';
import { Batcher } from '../../../platform/db/batcher.ts';
import type { Database } from '../../../platform/db/database.ts';
import { workspaceTopic } from '../../../platform/events/workspace-topic.ts';
import type { KnownDevice } from '../store.ts';
import { deviceSecretHash } from './pairing-code.ts';

const maxCachedDevices = 20_000;
/** Time without a request after which a device leaves the cache, in milliseconds. Polls are more frequent. */
const cacheTtlMs = 120_000;

/** Devices per statement. */
const maxPerBatch = 512;
/** Requests that may wait for a statement. All devices of a large hub may reconnect at the same time. */
const maxWaiting = 50_000;
/** Time for which check-ins of idle devices are collected into one statement, in milliseconds. */
const gatherMs = 40;
/** A device whose poll timed out at most this long ago counts as idle, in milliseconds. */
const idlePollMs = 5_000;

interface CachedDevice extends KnownDevice {
  /** When its last poll ended without a command, on the clock of `performance`. */
  timedOutAt: number;
}

interface FoundRow {
  position: number;
  id: string;
  tenant_id: string;
}

interface Credentials {
  nodeId: string;
  /** Base64. */
  secretHash: string;
}

/** An authenticated device and whether it has commands. */
export interface CheckedInDevice extends KnownDevice {
  /** Whether it has a pending or leased command. */
  hasOpenCommands: boolean;
}

/**
 * Authenticates devices by their secrets, in batches. The cache never authenticates a device: it only shows which
 * data to prepare while the database checks the secret.
 */
export class DeviceSecrets {
  readonly #db: Database;
  /** Key: node id. */
  readonly #cache = new LRUCache<string, CachedDevice>({
    max: maxCachedDevices,
    ttl: cacheTtlMs,
    updateAgeOnGet: true,
  });
  /** Shares one string per workspace id between its devices, to save memory. */
  readonly #tenantIds = new LRUCache<string, string>({ max: 1_000 });
  readonly #authentications: Batcher<Credentials, KnownDevice | null>;
  readonly #checkIns: Batcher<Credentials, CheckedInDevice | null>;
  readonly #delayedCheckIns: Batcher<Credentials, CheckedInDevice | null>;

  constructor(db: Database) {
    this.#db = db;
    const options = {
      bytesOf: ({ nodeId, secretHash }: Credentials) => nodeId.length + secretHash.length,
      maxItems: maxPerBatch,
      // A statement that waits for a lock must not delay the others.
      maxFlushesOfKey: 4,
      maxWaiting,
    };
    this.#authentications = new Batcher({ ...options, flush: (_key, batch) => this.#authenticateBatch(batch) });
    const flush = (_key: string, batch: readonly Credentials[]) => this.#checkInBatch(batch);
    this.#checkIns = new Batcher({ ...options, flush });
    this.#delayedCheckIns = new Batcher({ ...options, gatherMs, flush });
  }

  /** Returns the device, or null when the secret is wrong or the node is revoked. */
  async authenticate(nodeId: string, secret: string): Promise<KnownDevice | null> {
    return this.confirm({ nodeId: nodeId.toLowerCase(), secretHash: hashOf(secret) });
  }

  /** Authenticates a cached device again. Returns null when its secret or its pairing is no longer valid. */
  async confirm(credentials: Credentials): Promise<KnownDevice | null> {
    return this.#cacheDevice(credentials, await this.#authentications.add('', credentials));
  }

  /** Returns the cached device with this secret, or null. The device may have been revoked since. */
  findCached(nodeId: string, secret: string): KnownDevice | null {
    const known = this.#cache.get(nodeId.toLowerCase());
    return known?.secretHash === hashOf(secret) ? known : null;
  }

  /**
   * Authenticates a device, updates its last-seen time and returns whether it has open commands.
   * Check-ins of idle devices are collected for longer. Returns null when the device is not paired.
   * @param waits whether the poll of the device will wait.
   */
  async checkIn(credentials: Credentials, waits: boolean): Promise<CheckedInDevice | null> {
    const timedOutAt = this.#cache.peek(credentials.nodeId)?.timedOutAt ?? Number.NEGATIVE_INFINITY;
    const isDelayed = waits && performance.now() - timedOutAt < idlePollMs;
    const device = await (isDelayed ? this.#delayedCheckIns : this.#checkIns).add('', credentials);
    this.#cacheDevice(credentials, device);
    return device;
  }

  /** Returns the nodes that have a pending command or are revoked. */
  async findNodesToWake(nodeIds: readonly string[]): Promise<string[]> {
    const rows = await this.#db.systemStatement<{ id: string }>(
      'find_nodes_to_wake',
      `SELECT asked.id FROM unnest($1::uuid[]) AS asked (id) LEFT JOIN LATERAL (SELECT revoked_at FROM nodes WHERE id = asked.id OFFSET 0) n ON true
       WHERE n.revoked_at IS NOT NULL OR (SELECT true FROM node_commands c WHERE c.node_id = asked.id AND c.status = 'pending' LIMIT 1)`,
      [nodeIds],
    );
    return rows.map(({ id }) => id);
  }

  /** Records that a poll of a device ended without a command. */
  pollTimedOut(nodeId: string): void {
    const known = this.#cache.peek(nodeId);
    if (known !== undefined) known.timedOutAt = performance.now();
  }

  #cacheDevice(credentials: Credentials, found: KnownDevice | null): KnownDevice | null {
    const known = this.#cache.get(credentials.nodeId);
    if (found === null) {
      // A wrong secret must not remove the device that has the right one.
      if (known?.secretHash === credentials.secretHash) this.#cache.delete(credentials.nodeId);
      return null;
    }
    if (known?.secretHash === found.secretHash && known.tenantId === found.tenantId) return known;
    const { tenantId, nodeId, secretHash } = found;
    this.#tenantIds.set(tenantId, tenantId);
    const device = { tenantId, nodeId, secretHash, timedOutAt: Number.NEGATIVE_INFINITY };
    this.#cache.set(nodeId, device);
    return device;
  }

  async #authenticateBatch(batch: readonly Credentials[]): Promise<(KnownDevice | null)[]> {
    const rows = await this.#db.systemStatement<{ position: number; id: string; tenant_id: string }>(
      'authenticate_devices',
      // OFFSET 0 forces one index lookup per row, regardless of the row estimate of the planner.
      `SELECT asked.position::int, asked.id, n.tenant_id
       FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS asked (id, secret_hash, position)
       CROSS JOIN LATERAL (SELECT tenant_id, secret_hash, revoked_at FROM nodes WHERE id = asked.id OFFSET 0) n
       WHERE n.secret_hash = decode(asked.secret_hash, 'base64') AND n.revoked_at IS NULL`,
      columnsOf(batch),
    );
    const found = batch.map((): KnownDevice | null => null);
    for (const row of rows) found[row.position - 1] = this.#deviceOf(row, batch);
    return found;
  }

  async #checkInBatch(batch: readonly Credentials[]): Promise<(CheckedInDevice | null)[]> {
    const rows = await this.#db.systemStatement<{
      position: number;
      id: string;
      tenant_id: string;
      was_online: boolean;
      has_open: boolean;
    }>(
      'check_in_devices',
      `WITH seen AS MATERIALIZED (
         SELECT asked.position, n.*, coalesce(n.last_seen_at < now() - interval '5 seconds', true) OR NOT n.online AS stale
         FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS asked (id, secret_hash, position)
         CROSS JOIN LATERAL (SELECT id, tenant_id, secret_hash, online, last_seen_at, revoked_at FROM nodes WHERE id = asked.id OFFSET 0) n
         WHERE n.secret_hash = decode(asked.secret_hash, 'base64') AND n.revoked_at IS NULL
       ), touched AS (
         -- A row that another transaction has locked is skipped. The next check-in updates it.
         UPDATE nodes SET last_seen_at = now(), online = true
         FROM (SELECT id FROM nodes WHERE id = ANY(ARRAY(SELECT id FROM seen WHERE stale)) AND revoked_at IS NULL FOR NO KEY UPDATE SKIP LOCKED) free
         WHERE nodes.id = free.id
       )
       SELECT position::int, id, tenant_id, online AS was_online,
         (SELECT true FROM node_commands c WHERE c.node_id = seen.id AND c.status IN ('pending', 'leased') LIMIT 1) IS NOT NULL AS has_open
       FROM seen`,
      columnsOf(batch),
    );
    const found = batch.map((): CheckedInDevice | null => null);
    for (const row of rows) {
      if (!row.was_online) this.#db.changed(workspaceTopic(row.tenant_id));
      found[row.position - 1] = { ...this.#deviceOf(row, batch), hasOpenCommands: row.has_open };
    }
    return found;
  }

  /** Uses the node id of the row: the one of the request is a slice of its URL and would keep the URL in memory. */
  #deviceOf({ position, id, tenant_id: tenantId }: FoundRow, batch: readonly Credentials[]): KnownDevice {
    const { secretHash } = batch[position - 1] as Credentials;
    return { tenantId: this.#tenantIds.get(tenantId) ?? tenantId, nodeId: id, secretHash };
  }
}

const hashOf = (secret: string) => deviceSecretHash(secret).toString('base64');

const columnsOf = (batch: readonly Credentials[]) => [
  batch.map(({ nodeId }) => nodeId),
  batch.map(({ secretHash }) => secretHash),
];
