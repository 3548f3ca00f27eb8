import type { z } from 'zod';
import { nodeFacts } from '../../../../shared/contract/nodes/device.ts';
import type { deviceFacts, deviceInfo } from '../../../../shared/contract/nodes/device.ts';
import { canonicalJson } from '../../../../shared/json.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';

export type NotedFacts = z.output<typeof nodeFacts>;

/** Rows that are kept of a node. */
const keptRows = 200;
/** A share that changes all the time, such as a battery's, is noted when it is so many points from what was noted last. */
const stepPercent = 10;

/** What is known of a node with a heartbeat. */
export interface KnownOfNode {
  device: z.output<typeof deviceInfo> | null;
  facts: z.output<typeof deviceFacts> | null;
  paused: boolean;
  allowSystem: boolean;
  allowBrowser: boolean;
}

/** What of a node is worth a note: what stays as it is from one heartbeat to the next, and of what does not, a coarse share. */
function notable({ device, facts, ...switches }: KnownOfNode, before: NotedFacts | null): NotedFacts {
  const { cpu, memory, disks, battery, displays } = facts ?? {};
  const coarse = (percent: number, noted: number | undefined) =>
    noted !== undefined && Math.abs(percent - noted) < stepPercent ? noted : Math.round(percent);
  return {
    ...switches,
    device: device === null ? null : { ...device, capabilities: device.capabilities.toSorted() },
    cpu: cpu === undefined ? null : { model: cpu.model, cores: cpu.cores },
    memory: memory === undefined ? null : { totalBytes: memory.totalBytes },
    // In an order of our own: a device may name them in turns.
    disks: (disks ?? [])
      .toSorted((left, right) => (left.mount < right.mount ? -1 : 1))
      .map(({ mount, totalBytes, usedBytes }) => ({
        mount,
        totalBytes,
        usedPercent: coarse(
          totalBytes === 0 ? 0 : Math.min(100, (usedBytes / totalBytes) * 100),
          before?.disks.find((disk) => disk.mount === mount)?.usedPercent,
        ),
      })),
    battery:
      battery === undefined || battery === null
        ? null
        : { percent: coarse(battery.percent, before?.battery?.percent), charging: battery.charging },
    displays: (displays ?? []).toSorted((left, right) =>
      canonicalJson(left as JsonValue) < canonicalJson(right as JsonValue) ? -1 : 1,
    ),
  };
}

/** What is to be noted of a node; null when nothing changed since `noted`, which another version of this hub may have written. */
export function changedFacts(known: KnownOfNode, noted: unknown): NotedFacts | null {
  const before = nodeFacts.safeParse(noted).data ?? null;
  const now = notable(known, before);
  const text = (facts: NotedFacts) => canonicalJson(facts as unknown as JsonValue);
  return before !== null && text(before) === text(now) ? null : now;
}

/** Notes the facts of a node, unless another heartbeat of it just did, and forgets the oldest beyond those that are kept: in one statement. */
export async function noteFacts(tx: Transaction, tenantId: string, nodeId: string, facts: NotedFacts): Promise<void> {
  await tx.query(
    'note_facts',
    `WITH old AS (
       DELETE FROM node_facts WHERE id = ANY(ARRAY(SELECT id FROM node_facts WHERE node_id = $1 ORDER BY id DESC OFFSET $5))
     )
     INSERT INTO node_facts (id, tenant_id, node_id, facts)
     SELECT $2, $3, $1, $4::jsonb WHERE (SELECT facts FROM node_facts WHERE node_id = $1 ORDER BY id DESC LIMIT 1) IS DISTINCT FROM $4::jsonb`,
    [nodeId, newId(), tenantId, JSON.stringify(facts), keptRows - 1],
  );
}
