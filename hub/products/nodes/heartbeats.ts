import type { z } from 'zod';
import type { nodes as resource } from '../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../shared/errors.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { Batches } from '../../platform/db/batches.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';
import type { NodeCommands } from './commands.ts';
import { changedFacts, noteFacts } from './facts.ts';
import type { KnownOfNode } from './facts.ts';
import type { KnownDevice } from './store.ts';

export interface HeartbeatsDependencies {
  db: Database;
  commands: Pick<NodeCommands, 'extendLeases'>;
}

export type HeartbeatBody = z.output<typeof resource.heartbeatAutomationNode.body>;

/** What the hub says to a heartbeat. */
export interface HeartbeatAnswer {
  allowSystem: boolean;
  allowBrowser: boolean;
  /** What of it runs and should stop. */
  withdrawn: string[];
}

interface Heartbeat {
  device: KnownDevice;
  paused: boolean;
  facts: string | null;
  info: string | null;
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
  async hear(device: KnownDevice, { paused, facts, device: info, running }: HeartbeatBody): Promise<HeartbeatAnswer> {
    const heartbeat = { device, paused, facts: json(facts), info: json(info) };
    const answer = running.length > 0 ? 'left' : await this.#idle.add(device.tenantId, heartbeat);
    if (answer !== 'left') return answer;
    return this.#deps.db.workspace(device.tenantId, (tx) => this.#hear(tx, heartbeat, running), { durable: false });
  }

  async #hear(
    tx: Transaction,
    { device: { tenantId, nodeId, secretHash }, paused, facts, info }: Heartbeat,
    running: string[],
  ): Promise<HeartbeatAnswer> {
    const { rows } = await tx.query<HeardNode>(
      'hear_heartbeat',
      `UPDATE nodes SET last_seen_at = now(), online = true, paused = $2, facts = coalesce($3, facts), device = coalesce($4, device)
       WHERE id = $1 AND revoked_at IS NULL AND secret_hash = decode($5, 'base64')
       RETURNING id, allow_system, allow_browser, paused, device, facts,
         (SELECT f.facts FROM node_facts f WHERE f.node_id = nodes.id ORDER BY f.id DESC LIMIT 1) AS noted,
         (SELECT before.online FROM nodes before WHERE before.id = $1) AS was_online`,
      [nodeId, paused, facts, info, secretHash],
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
             SELECT * FROM unnest($1::uuid[], $2::boolean[], $3::text[], $4::text[], $5::text[]) AS t (id, paused, facts, device, secret_hash)
           ), free AS MATERIALIZED (
             SELECT id, online FROM nodes WHERE id = ANY($1::uuid[]) AND revoked_at IS NULL FOR NO KEY UPDATE SKIP LOCKED
           )
           UPDATE nodes SET last_seen_at = now(), online = true, paused = told.paused,
             facts = coalesce(told.facts::jsonb, nodes.facts), device = coalesce(told.device::jsonb, nodes.device)
           FROM told JOIN free ON free.id = told.id
           WHERE nodes.id = ANY(ARRAY(SELECT id FROM free)) AND nodes.id = told.id AND nodes.secret_hash = decode(told.secret_hash, 'base64')
           RETURNING nodes.id, nodes.allow_system, nodes.allow_browser, nodes.paused, nodes.device, nodes.facts, free.online AS was_online,
             (SELECT f.facts FROM node_facts f WHERE f.node_id = nodes.id ORDER BY f.id DESC LIMIT 1) AS noted`,
          [
            told.map(({ device }) => device.nodeId),
            told.map(({ paused }) => paused),
            told.map(({ facts }) => facts),
            told.map(({ info }) => info),
            told.map(({ device }) => device.secretHash),
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
}

/** Notes what changed of a node with a heartbeat. */
async function noteHeard(tx: Transaction, tenantId: string, row: HeardNode): Promise<HeartbeatAnswer> {
  const { id, allow_system: allowSystem, allow_browser: allowBrowser, paused, device, facts, noted } = row;
  if (!row.was_online) noteWorkspaceChange(tx, tenantId);
  const changed = changedFacts({ device, facts, paused, allowSystem, allowBrowser } as KnownOfNode, noted);
  if (changed !== null) await noteFacts(tx, tenantId, id, changed);
  return { allowSystem, allowBrowser, withdrawn: [] };
}

function json(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
