import type { z } from 'zod';
import { nodeFacts } from '../../../../shared/contract/nodes/device.ts';
import type { deviceFacts, deviceInfo } from '../../../../shared/contract/nodes/device.ts';
import { canonicalJson } from '../../../../shared/json.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';

export type RecordedFacts = z.output<typeof nodeFacts>;

/** Rows stored per node. */
const maxRows = 200;
/** Minimum change of a percentage, such as the battery charge, that is recorded, in percentage points. */
const minChangePercent = 10;

/** The state of a node after a heartbeat. */
export interface NodeState {
  device: z.output<typeof deviceInfo> | null;
  facts: z.output<typeof deviceFacts> | null;
  paused: boolean;
  allowSystem: boolean;
  allowBrowser: boolean;
}

/** The states of powers are left out: their changes show in the capabilities. */
function toRecordedDevice({ powers: _powers, capabilities, ...device }: z.output<typeof deviceInfo>) {
  return { ...device, capabilities: capabilities.toSorted() };
}

/** Selects the facts that rarely change. Percentages keep the recorded value until they change enough. */
function toRecordedFacts({ device, facts, ...switches }: NodeState, before: RecordedFacts | null): RecordedFacts {
  const { cpu, memory, disks, battery, displays } = facts ?? {};
  const rounded = (percent: number, recorded: number | undefined) =>
    recorded !== undefined && Math.abs(percent - recorded) < minChangePercent ? recorded : Math.round(percent);
  return {
    ...switches,
    device: device === null ? null : toRecordedDevice(device),
    cpu: cpu === undefined ? null : { model: cpu.model, cores: cpu.cores },
    memory: memory === undefined ? null : { totalBytes: memory.totalBytes },
    // Sorted, because a device may list its disks in any order.
    disks: (disks ?? [])
      .toSorted((left, right) => (left.mount < right.mount ? -1 : 1))
      .map(({ mount, totalBytes, usedBytes }) => ({
        mount,
        totalBytes,
        usedPercent: rounded(
          totalBytes === 0 ? 0 : Math.min(100, (usedBytes / totalBytes) * 100),
          before?.disks.find((disk) => disk.mount === mount)?.usedPercent,
        ),
      })),
    battery:
      battery === undefined || battery === null
        ? null
        : { percent: rounded(battery.percent, before?.battery?.percent), charging: battery.charging },
    displays: (displays ?? []).toSorted((left, right) =>
      canonicalJson(left as JsonValue) < canonicalJson(right as JsonValue) ? -1 : 1,
    ),
  };
}

/**
 * Returns the facts to record, or null when nothing has changed since `recorded`.
 * Another version of this hub may have written `recorded`.
 */
export function changedFacts(known: NodeState, recorded: unknown): RecordedFacts | null {
  const before = nodeFacts.safeParse(recorded).data ?? null;
  const now = toRecordedFacts(known, before);
  const text = (facts: RecordedFacts) => canonicalJson(facts as unknown as JsonValue);
  return before !== null && text(before) === text(now) ? null : now;
}

/** Records the facts of a node unless they equal its newest row, and deletes its oldest rows. */
export async function recordFacts(
  tx: Transaction,
  tenantId: string,
  nodeId: string,
  facts: RecordedFacts,
): Promise<void> {
  await tx.query(
    'record_node_facts',
    `WITH old AS (
       DELETE FROM node_facts WHERE id = ANY(ARRAY(SELECT id FROM node_facts WHERE node_id = $1 ORDER BY id DESC OFFSET $5))
     )
     INSERT INTO node_facts (id, tenant_id, node_id, facts)
     SELECT $2, $3, $1, $4::jsonb WHERE (SELECT facts FROM node_facts WHERE node_id = $1 ORDER BY id DESC LIMIT 1) IS DISTINCT FROM $4::jsonb`,
    [nodeId, newId(), tenantId, JSON.stringify(facts), maxRows - 1],
  );
}
