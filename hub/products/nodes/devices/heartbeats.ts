import type { z } from 'zod';
import type { nodes as resource } from '../../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { Batcher } from '../../../platform/db/batcher.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { noteWorkspaceChange } from '../../../platform/events/workspace-topic.ts';
import type { NodeCommands } from '../commands/index.ts';
import type { KnownDevice } from '../store.ts';
import { changedFacts, recordFacts } from './facts.ts';
import type { NodeState } from './facts.ts';

export interface HeartbeatsDependencies {
  db: Database;
  commands: Pick<NodeCommands, 'extendLeases'>;
}

export type HeartbeatBody = z.output<typeof resource.heartbeatAutomationNode.body>;

/** The response to a heartbeat. */
export interface HeartbeatResponse {
  allowSystem: boolean;
  allowBrowser: boolean;
  /** Number and hash of the last audit log entry that the device reported before. */
  audit: { count: number; hash: string } | null;
  /** Running commands that the device must stop. */
  withdrawn: string[];
}

interface Heartbeat {
  device: KnownDevice;
  paused: boolean;
  facts: string | null;
  info: string | null;
  audit: HeartbeatBody['audit'];
}

/** Time for which heartbeats of a workspace are collected into one statement, in milliseconds. */
const gatherMs = 50;
const maxPerBatch = 128;
const maxWaiting = 20_000;

/** Records heartbeats. Heartbeats of devices without running commands are recorded in batches per workspace. */
export class Heartbeats {
  readonly #deps: HeartbeatsDependencies;
  readonly #batches: Batcher<Heartbeat, HeartbeatResponse | 'unrecorded'>;

  constructor(dependencies: HeartbeatsDependencies) {
    this.#deps = dependencies;
    this.#batches = new Batcher({
      flush: (tenantId, heartbeats) => this.#recordBatch(tenantId, heartbeats),
      bytesOf: ({ facts, info }) => 200 + (facts?.length ?? 0) + (info?.length ?? 0),
      gatherMs,
      maxItems: maxPerBatch,
      maxWaiting,
    });
  }

  /** Records a heartbeat and extends the leases of running commands. @throws AppError `device_secret_invalid`. */
  async record(
    device: KnownDevice,
    { paused, facts, device: info, running, audit }: HeartbeatBody,
  ): Promise<HeartbeatResponse> {
    const heartbeat = { device, paused, facts: json(facts), info: json(info), audit };
    const response = running.length > 0 ? 'unrecorded' : await this.#batches.add(device.tenantId, heartbeat);
    if (response !== 'unrecorded') return response;
    return this.#deps.db.workspace(device.tenantId, (tx) => this.#record(tx, heartbeat, running), { durable: false });
  }

  async #record(
    tx: Transaction,
    { device: { tenantId, nodeId, secretHash }, paused, facts, info, audit }: Heartbeat,
    running: string[],
  ): Promise<HeartbeatResponse> {
    const { rows } = await tx.query<UpdatedNode>(
      'record_heartbeat',
      `UPDATE nodes SET last_seen_at = now(), online = true, paused = $2, facts = coalesce($3, facts), device = coalesce($4, device),
         audit_broken_at = ${brokenAt('$6::bigint', '$7::text', '$8::boolean')}, audit_count = coalesce($6, audit_count), audit_hash = coalesce($7, audit_hash)
       WHERE id = $1 AND revoked_at IS NULL AND secret_hash = decode($5, 'base64')
       RETURNING id, allow_system, allow_browser, paused, device, facts,
         (SELECT before.audit_count FROM nodes before WHERE before.id = $1) AS audit_count,
         (SELECT before.audit_hash FROM nodes before WHERE before.id = $1) AS audit_hash,
         (SELECT f.facts FROM node_facts f WHERE f.node_id = nodes.id ORDER BY f.id DESC LIMIT 1) AS recorded_facts,
         (SELECT before.online FROM nodes before WHERE before.id = $1) AS was_online`,
      [nodeId, paused, facts, info, secretHash, audit?.count ?? null, audit?.hash ?? null, audit?.isBroken ?? false],
    );
    const [row] = rows;
    if (row === undefined)
      throw new AppError('device_secret_invalid', 'This device is no longer paired; pair it again.');
    const response = await recordChanges(tx, tenantId, row);
    return { ...response, withdrawn: await this.#deps.commands.extendLeases(tx, nodeId, running) };
  }

  /**
   * Records one heartbeat per device. Returns `unrecorded` when another transaction has locked the node, for further
   * heartbeats of the same device, and for devices that are not paired. The caller records these individually.
   */
  async #recordBatch(
    tenantId: string,
    heartbeats: readonly Heartbeat[],
  ): Promise<(HeartbeatResponse | 'unrecorded')[]> {
    const firstOfNode = new Map(heartbeats.toReversed().map((heartbeat) => [heartbeat.device.nodeId, heartbeat]));
    if (firstOfNode.size === 1) return heartbeats.map(() => 'unrecorded');
    const reported = [...firstOfNode.values()];
    const responses = new Map<string, HeartbeatResponse>();
    await this.#deps.db.workspace(
      tenantId,
      async (tx) => {
        const { rows } = await tx.query<UpdatedNode>(
          'record_heartbeats',
          `WITH reported AS MATERIALIZED (
             SELECT * FROM unnest($1::uuid[], $2::boolean[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::boolean[])
               AS t (id, paused, facts, device, secret_hash, audit_count, audit_hash, audit_broken)
           ), free AS MATERIALIZED (
             SELECT id, online, audit_count, audit_hash FROM nodes WHERE id = ANY($1::uuid[]) AND revoked_at IS NULL FOR NO KEY UPDATE SKIP LOCKED
           )
           UPDATE nodes SET last_seen_at = now(), online = true, paused = reported.paused,
             facts = coalesce(reported.facts::jsonb, nodes.facts), device = coalesce(reported.device::jsonb, nodes.device),
             audit_broken_at = ${brokenAt('reported.audit_count', 'reported.audit_hash', 'reported.audit_broken')},
             audit_count = coalesce(reported.audit_count, nodes.audit_count), audit_hash = coalesce(reported.audit_hash, nodes.audit_hash)
           FROM reported JOIN free ON free.id = reported.id
           WHERE nodes.id = ANY(ARRAY(SELECT id FROM free)) AND nodes.id = reported.id AND nodes.secret_hash = decode(reported.secret_hash, 'base64')
           RETURNING nodes.id, nodes.allow_system, nodes.allow_browser, nodes.paused, nodes.device, nodes.facts, free.online AS was_online, free.audit_count, free.audit_hash,
             (SELECT f.facts FROM node_facts f WHERE f.node_id = nodes.id ORDER BY f.id DESC LIMIT 1) AS recorded_facts`,
          [
            reported.map(({ device }) => device.nodeId),
            reported.map(({ paused }) => paused),
            reported.map(({ facts }) => facts),
            reported.map(({ info }) => info),
            reported.map(({ device }) => device.secretHash),
            reported.map(({ audit }) => audit?.count ?? null),
            reported.map(({ audit }) => audit?.hash ?? null),
            reported.map(({ audit }) => audit?.isBroken ?? false),
          ],
        );
        for (const row of rows) responses.set(row.id, await recordChanges(tx, tenantId, row));
      },
      { durable: false },
    );
    return heartbeats.map((heartbeat) =>
      firstOfNode.get(heartbeat.device.nodeId) === heartbeat
        ? (responses.get(heartbeat.device.nodeId) ?? 'unrecorded')
        : 'unrecorded',
    );
  }
}

/**
 * SQL for the time when a device first reported an audit log that does not continue the previous one.
 * Such a log has fewer entries, or another hash for the same number of entries.
 */
const brokenAt = (count: string, hash: string, isBroken: string) =>
  `CASE WHEN ${isBroken} OR ${count} < nodes.audit_count OR (${count} = nodes.audit_count AND ${hash} <> nodes.audit_hash)
     THEN coalesce(nodes.audit_broken_at, now()) ELSE nodes.audit_broken_at END`;

/** A node after a heartbeat, with some columns as they were before. */
interface UpdatedNode {
  id: string;
  allow_system: boolean;
  allow_browser: boolean;
  paused: boolean;
  device: JsonObject | null;
  facts: JsonObject | null;
  recorded_facts: unknown;
  was_online: boolean;
  /** The audit log before the heartbeat. */
  audit_count: string | null;
  audit_hash: string | null;
}

/** Records changed facts of a node and returns the response to its heartbeat. */
async function recordChanges(tx: Transaction, tenantId: string, row: UpdatedNode): Promise<HeartbeatResponse> {
  const { id, allow_system: allowSystem, allow_browser: allowBrowser, paused, device, facts } = row;
  if (!row.was_online) noteWorkspaceChange(tx, tenantId);
  const changed = changedFacts({ device, facts, paused, allowSystem, allowBrowser } as NodeState, row.recorded_facts);
  if (changed !== null) await recordFacts(tx, tenantId, id, changed);
  const audit =
    row.audit_count === null || row.audit_hash === null
      ? null
      : { count: Number(row.audit_count), hash: row.audit_hash };
  return { allowSystem, allowBrowser, audit, withdrawn: [] };
}

function json(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
