import { LRUCache } from 'lru-cache';
import { Batches } from '../../../platform/db/batches.ts';
import type { Database } from '../../../platform/db/database.ts';
import { workspaceTopic } from '../../../platform/events/workspace-topic.ts';
import type { KnownDevice } from '../store.ts';
import { deviceSecretHash } from './pairing-code.ts';

const maxKnown = 20_000;
/** After so long without a request a device is forgotten, in milliseconds: polls come sooner. */
const forgetAfterMs = 120_000;

/** What many devices ask at once is gathered so far. */
const maxAtOnce = 512;
/** All devices of a large hub may come back in the same moment. */
const maxWaiting = 50_000;
/** For so long looks that most likely find nothing are gathered, in milliseconds. */
const gatherMs = 40;
/** A device that waited in vain and asks again within so long most likely waits in vain again, in milliseconds. */
const restsMs = 5_000;

interface RememberedDevice extends KnownDevice {
  /** When it last waited in vain, by the clock of `performance`. */
  restedAt: number;
}

interface FoundRow {
  position: number;
  id: string;
  tenant_id: string;
}

interface Proof {
  nodeId: string;
  /** As base64. */
  secretHash: string;
}

/** A device at a look for what waits for it. */
export interface SeenDevice extends KnownDevice {
  /** Whether there is a command that is not over; if not, whoever looks closer finds nothing. */
  hasOpen: boolean;
}

/** The secrets of devices. What is known of them from before lets nobody in: it says what to prepare while the database is asked. */
export class DeviceSecrets {
  readonly #db: Database;
  /** By node. */
  readonly #known = new LRUCache<string, RememberedDevice>({
    max: maxKnown,
    ttl: forgetAfterMs,
    updateAgeOnGet: true,
  });
  /** One text for all devices of a workspace. */
  readonly #tenantIds = new LRUCache<string, string>({ max: 1_000 });
  readonly #proofs: Batches<Proof, KnownDevice | null>;
  readonly #looks: Batches<Proof, SeenDevice | null>;
  readonly #patientLooks: Batches<Proof, SeenDevice | null>;

  constructor(db: Database) {
    this.#db = db;
    const options = {
      bytesOf: ({ nodeId, secretHash }: Proof) => nodeId.length + secretHash.length,
      maxItems: maxAtOnce,
      // One that waits holds up no other.
      maxFlushesOfKey: 4,
      maxWaiting,
    };
    this.#proofs = new Batches({ ...options, flush: (_key, proofs) => this.#prove(proofs) });
    const flush = (_key: string, proofs: readonly Proof[]) => this.#see(proofs);
    this.#looks = new Batches({ ...options, flush });
    this.#patientLooks = new Batches({ ...options, gatherMs, flush });
  }

  /** The device that a secret belongs to, or null. */
  async authenticate(nodeId: string, secret: string): Promise<KnownDevice | null> {
    return this.confirm({ nodeId: nodeId.toLowerCase(), secretHash: hashOf(secret) });
  }

  /** Whether a device that proved itself before still is what it was; null when not. */
  async confirm(proof: Proof): Promise<KnownDevice | null> {
    return this.#remember(proof, await this.#proofs.add('', proof));
  }

  /** As which device a secret was known by its latest request, which says nothing of now. */
  findCached(nodeId: string, secret: string): KnownDevice | null {
    const known = this.#known.get(nodeId.toLowerCase());
    return known?.secretHash === hashOf(secret) ? known : null;
  }

  /**
   * Confirms a device, notes that it lives, and says whether anything waits for it: for all that ask in one moment, which is longer for those that
   * waited in vain just before and will wait again. Null when it is not paired any more.
   */
  async look(proof: Proof, waits: boolean): Promise<SeenDevice | null> {
    const restedAt = this.#known.peek(proof.nodeId)?.restedAt ?? Number.NEGATIVE_INFINITY;
    const isPatient = waits && performance.now() - restedAt < restsMs;
    const seen = await (isPatient ? this.#patientLooks : this.#looks).add('', proof);
    this.#remember(proof, seen);
    return seen;
  }

  /** Which of some nodes have a command that nobody took, or are not paired any more. */
  async wanted(nodeIds: readonly string[]): Promise<string[]> {
    const rows = await this.#db.systemStatement<{ id: string }>(
      'find_wanted_devices',
      `SELECT asked.id FROM unnest($1::uuid[]) AS asked (id) LEFT JOIN LATERAL (SELECT revoked_at FROM nodes WHERE id = asked.id OFFSET 0) n ON true
       WHERE n.revoked_at IS NOT NULL OR (SELECT true FROM node_commands c WHERE c.node_id = asked.id AND c.status = 'pending' LIMIT 1)`,
      [nodeIds],
    );
    return rows.map(({ id }) => id);
  }

  /** Notes that a device waited in vain. */
  rested(nodeId: string): void {
    const known = this.#known.peek(nodeId);
    if (known !== undefined) known.restedAt = performance.now();
  }

  #remember(proof: Proof, found: KnownDevice | null): KnownDevice | null {
    const known = this.#known.get(proof.nodeId);
    if (found === null) {
      // A wrong secret says nothing of the right one.
      if (known?.secretHash === proof.secretHash) this.#known.delete(proof.nodeId);
      return null;
    }
    if (known?.secretHash === found.secretHash && known.tenantId === found.tenantId) return known;
    const { tenantId, nodeId, secretHash } = found;
    this.#tenantIds.set(tenantId, tenantId);
    const device = { tenantId, nodeId, secretHash, restedAt: Number.NEGATIVE_INFINITY };
    this.#known.set(nodeId, device);
    return device;
  }

  async #prove(proofs: readonly Proof[]): Promise<(KnownDevice | null)[]> {
    const rows = await this.#db.systemStatement<{ position: number; id: string; tenant_id: string }>(
      'authenticate_devices',
      // A subquery with an offset is looked up by its key for each of them, whatever the planner thinks of how many there are.
      `SELECT asked.position::int, asked.id, n.tenant_id
       FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS asked (id, secret_hash, position)
       CROSS JOIN LATERAL (SELECT tenant_id, secret_hash, revoked_at FROM nodes WHERE id = asked.id OFFSET 0) n
       WHERE n.secret_hash = decode(asked.secret_hash, 'base64') AND n.revoked_at IS NULL`,
      columnsOf(proofs),
    );
    const found = proofs.map((): KnownDevice | null => null);
    for (const row of rows) found[row.position - 1] = this.#foundAs(row, proofs);
    return found;
  }

  async #see(proofs: readonly Proof[]): Promise<(SeenDevice | null)[]> {
    const rows = await this.#db.systemStatement<{
      position: number;
      id: string;
      tenant_id: string;
      was_online: boolean;
      has_open: boolean;
    }>(
      'look_at_devices',
      `WITH seen AS MATERIALIZED (
         SELECT asked.position, n.*, coalesce(n.last_seen_at < now() - interval '5 seconds', true) OR NOT n.online AS stale
         FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS asked (id, secret_hash, position)
         CROSS JOIN LATERAL (SELECT id, tenant_id, secret_hash, online, last_seen_at, revoked_at FROM nodes WHERE id = asked.id OFFSET 0) n
         WHERE n.secret_hash = decode(asked.secret_hash, 'base64') AND n.revoked_at IS NULL
       ), touched AS (
         -- What somebody changes now is noted with the next look: nobody waits for that.
         UPDATE nodes SET last_seen_at = now(), online = true
         FROM (SELECT id FROM nodes WHERE id = ANY(ARRAY(SELECT id FROM seen WHERE stale)) AND revoked_at IS NULL FOR NO KEY UPDATE SKIP LOCKED) free
         WHERE nodes.id = free.id
       )
       SELECT position::int, id, tenant_id, online AS was_online,
         (SELECT true FROM node_commands c WHERE c.node_id = seen.id AND c.status IN ('pending', 'leased') LIMIT 1) IS NOT NULL AS has_open
       FROM seen`,
      columnsOf(proofs),
    );
    const found = proofs.map((): SeenDevice | null => null);
    for (const row of rows) {
      if (!row.was_online) this.#db.tellWritten(workspaceTopic(row.tenant_id));
      found[row.position - 1] = { ...this.#foundAs(row, proofs), hasOpen: row.has_open };
    }
    return found;
  }

  /** By the spelling of the row: that of a request is a piece of its address, which would stay in memory as long as the device is known. */
  #foundAs({ position, id, tenant_id: tenantId }: FoundRow, proofs: readonly Proof[]): KnownDevice {
    const { secretHash } = proofs[position - 1] as Proof;
    return { tenantId: this.#tenantIds.get(tenantId) ?? tenantId, nodeId: id, secretHash };
  }
}

const hashOf = (secret: string) => deviceSecretHash(secret).toString('base64');

const columnsOf = (proofs: readonly Proof[]) => [
  proofs.map(({ nodeId }) => nodeId),
  proofs.map(({ secretHash }) => secretHash),
];
