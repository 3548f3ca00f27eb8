import type { z } from 'zod';
import type { nodes as resource } from '../../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { Batches } from '../../../platform/db/batches.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { noteWorkspaceChange } from '../../../platform/events/workspace-topic.ts';
import type { NodeCommands } from '../commands/index.ts';
import type { KnownDevice } from '../store.ts';
import { changedFacts, noteFacts } from './facts.ts';
import type { KnownOfNode } from './facts.ts';

export interface HeartbeatsDependencies {
  db: Database;
  commands: Pick<NodeCommands, 'extendLeases'>;
}

export type HeartbeatBody = z.output<typeof resource.heartbeatAutomationNode.body>;

/** What the hub says to a heartbeat. */
export interface HeartbeatAnswer {
  allowSystem: boolean;
  allowBrowser: boolean;
  /** What was known of the device's own log before. */
  audit: { count: number; hash: string } | null;
  /** What of it runs and should stop. */
  withdrawn: string[];
}

interface Heartbeat {
  device: KnownDevice;
  paused: boolean;
  facts: string | null;
  info: string | null;
  audit: HeartbeatBody['audit'];
}

/** For so long heartbeats of a workspace are gathered, in milliseconds: nobody waits for one. */
const gatherMs = 50;
const maxAtOnce = 128;
const maxWaiting = 20_000;

/** Notes that devices live and what changed of them: for those that hold no commands, many of a workspace at once. */
export class Heartbeats {
  readonly #deps: HeartbeatsDependencies;
  readonly #idle: Batches<Heartbeat, HeartbeatAnswer | 'left'>;

  constructor(dependencies: HeartbeatsDependencies) {
    this.#deps = dependencies;
    this.#idle = new Batches({
      flush: (tenantId, heartbeats) => this.#hearMany(tenantId, heartbeats),
      bytesOf: ({ facts, info }) => 200 + (facts?.length ?? 0) + (info?.length ?? 0),
      gatherMs,
      maxItems: maxAtOnce,
      maxWaiting,
    });
  }

  /** Records a heartbeat, and extends the leases of what its device runs. @throws AppError `device_secret_invalid`. */
  async hear(
    device: KnownDevice,
    { paused, facts, device: info, running, audit }: HeartbeatBody,
  ): Promise<HeartbeatAnswer> {
    const heartbeat = { device, paused, facts: json(facts), info: json(info), audit };
    const answer = running.length > 0 ? 'left' : await this.#idle.add(device.tenantId, heartbeat);
    if (answer !== 'left') return answer;
    return this.#deps.db.workspace(device.tenantId, (tx) => this.#hear(tx, heartbeat, running), { durable: false });
  }

  async #hear(
    tx: Transaction,
    { device: { tenantId, nodeId, secretHash }, paused, facts, info, audit }: Heartbeat,
    running: string[],
  ): Promise<HeartbeatAnswer> {
    const { rows } = await tx.query<HeardNode>(
      'hear_heartbeat',
      `UPDATE nodes SET last_seen_at = now(), online = true, paused = $2, facts = coalesce($3, facts), device = coalesce($4, device),
         audit_broken_at = ${brokenAt('$6::bigint', '$7::text', '$8::boolean')}, audit_count = coalesce($6, audit_count), audit_hash = coalesce($7, audit_hash)
       WHERE id = $1 AND revoked_at IS NULL AND secret_hash = decode($5, 'base64')
       RETURNING id, allow_system, allow_browser, paused, device, facts,
         (SELECT before.audit_count FROM nodes before WHERE before.id = $1) AS audit_count,
         (SELECT before.audit_hash FROM nodes before WHERE before.id = $1) AS audit_hash,
         (SELECT f.facts FROM node_facts f WHERE f.node_id = nodes.id ORDER BY f.id DESC LIMIT 1) AS noted,
         (SELECT before.online FROM nodes before WHERE before.id = $1) AS was_online`,
      [nodeId, paused, facts, info, secretHash, audit?.count ?? null, audit?.hash ?? null, audit?.isBroken ?? false],
    );
    const [row] = rows;
    if (row === undefined)
      throw new AppError('device_secret_invalid', 'This device is not paired any more; pair it again.');
    const answer = await noteHeard(tx, tenantId, row);
    return { ...answer, withdrawn: await this.#deps.commands.extendLeases(tx, nodeId, running) };
  }

  /** What is left waits for a row that somebody else changes, is another one of the same device, or is not paired any more: it finds out by itself. */
  async #hearMany(tenantId: string, heartbeats: readonly Heartbeat[]): Promise<(HeartbeatAnswer | 'left')[]> {
    const first = new Map(heartbeats.toReversed().map((heartbeat) => [heartbeat.device.nodeId, heartbeat]));
    if (first.size === 1) return heartbeats.map(() => 'left');
    const told = [...first.values()];
    const answers = new Map<string, HeartbeatAnswer>();
    await this.#deps.db.workspace(
      tenantId,
      async (tx) => {
        const { rows } = await tx.query<HeardNode>(
          'hear_heartbeats',
          `WITH told AS MATERIALIZED (
             SELECT * FROM unnest($1::uuid[], $2::boolean[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::boolean[])
               AS t (id, paused, facts, device, secret_hash, audit_count, audit_hash, audit_broken)
           ), free AS MATERIALIZED (
             SELECT id, online, audit_count, audit_hash FROM nodes WHERE id = ANY($1::uuid[]) AND revoked_at IS NULL FOR NO KEY UPDATE SKIP LOCKED
           )
           UPDATE nodes SET last_seen_at = now(), online = true, paused = told.paused,
             facts = coalesce(told.facts::jsonb, nodes.facts), device = coalesce(told.device::jsonb, nodes.device),
             audit_broken_at = ${brokenAt('told.audit_count', 'told.audit_hash', 'told.audit_broken')},
             audit_count = coalesce(told.audit_count, nodes.audit_count), audit_hash = coalesce(told.audit_hash, nodes.audit_hash)
           FROM told JOIN free ON free.id = told.id
           WHERE nodes.id = ANY(ARRAY(SELECT id FROM free)) AND nodes.id = told.id AND nodes.secret_hash = decode(told.secret_hash, 'base64')
           RETURNING nodes.id, nodes.allow_system, nodes.allow_browser, nodes.paused, nodes.device, nodes.facts, free.online AS was_online, free.audit_count, free.audit_hash,
             (SELECT f.facts FROM node_facts f WHERE f.node_id = nodes.id ORDER BY f.id DESC LIMIT 1) AS noted`,
          [
            told.map(({ device }) => device.nodeId),
            told.map(({ paused }) => paused),
            told.map(({ facts }) => facts),
            told.map(({ info }) => info),
            told.map(({ device }) => device.secretHash),
            told.map(({ audit }) => audit?.count ?? null),
            told.map(({ audit }) => audit?.hash ?? null),
            told.map(({ audit }) => audit?.isBroken ?? false),
          ],
        );
        for (const row of rows) answers.set(row.id, await noteHeard(tx, tenantId, row));
      },
      { durable: false },
    );
    return heartbeats.map((heartbeat) =>
      first.get(heartbeat.device.nodeId) === heartbeat ? (answers.get(heartbeat.device.nodeId) ?? 'left') : 'left',
    );
  }
}

/** When the log of a device was first reported that does not continue the one before: with fewer entries, or with another entry under the same number. */
const brokenAt = (count: string, hash: string, isBroken: string) =>
  `CASE WHEN ${isBroken} OR ${count} < nodes.audit_count OR (${count} = nodes.audit_count AND ${hash} <> nodes.audit_hash)
     THEN coalesce(nodes.audit_broken_at, now()) ELSE nodes.audit_broken_at END`;

/** A node after a heartbeat, and how it was before. */
interface HeardNode {
  id: string;
  allow_system: boolean;
  allow_browser: boolean;
  paused: boolean;
  device: JsonObject | null;
  facts: JsonObject | null;
  noted: unknown;
  was_online: boolean;
  /** As it was before. */
  audit_count: string | null;
  audit_hash: string | null;
}

/** Notes what changed of a node with a heartbeat. */
async function noteHeard(tx: Transaction, tenantId: string, row: HeardNode): Promise<HeartbeatAnswer> {
  const { id, allow_system: allowSystem, allow_browser: allowBrowser, paused, device, facts, noted } = row;
  if (!row.was_online) noteWorkspaceChange(tx, tenantId);
  const changed = changedFacts({ device, facts, paused, allowSystem, allowBrowser } as KnownOfNode, noted);
  if (changed !== null) await noteFacts(tx, tenantId, id, changed);
  const audit =
    row.audit_count === null || row.audit_hash === null
      ? null
      : { count: Number(row.audit_count), hash: row.audit_hash };
  return { allowSystem, allowBrowser, audit, withdrawn: [] };
}

function json(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
