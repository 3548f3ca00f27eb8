import { Resumption } from '../../engine/index.ts';
import type { NodePort, RunIntake } from '../../engine/index.ts';
import type { Blobs } from '../../platform/blobs/blobs.ts';
import type { RowRetention } from '../../platform/db/row-retention.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Product } from '../../product.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import {
  ArtifactQuota,
  ArtifactUploads,
  Artifacts,
  Thumbnails,
  foldArtifactUsage,
  removeOrphanBlobs,
} from './artifacts/index.ts';
import { NodeCommands, Reachability } from './commands/index.ts';
import { DevicePolls, NodeChannels } from './connections/index.ts';
import { DeviceSecrets, Devices, NodeHistory } from './devices/index.ts';
import { nodePort } from './engine-port.ts';
import { CommandResults } from './results/index.ts';
import { artifactRoutes, nodeRoutes, pollRoute } from './routes.ts';
import { Nodes } from './service.ts';
import { nodeSkills } from './skills.ts';

export interface NodesSettings {
  nodes: { pollSeconds: number; heartbeatSeconds: number };
  artifacts: { maxWorkspaceBytes: number };
  retention: { commands: number; artifacts: number };
}

export interface NodesDependencies {
  limits: WorkspaceLimits;
  /** Null in a process that executes no runs. */
  intake: RunIntake | null;
}

/** Companion nodes: pairing, commands, results and artifacts. */
export interface NodesProduct extends Product {
  nodes: Nodes;
  commands: NodeCommands;
  port: NodePort;
  secrets: DeviceSecrets;
  /** Starts the beats of this process. */
  announce(servesDevices: boolean): Promise<Reachability>;
}

/** @param stack ends the process that makes small copies of pictures. */
export function createNodes(
  stack: AsyncDisposableStack,
  { db, events, cursors, rateLimiter, secrets, blobs, logger }: Platform,
  settings: NodesSettings,
  { limits, intake }: NodesDependencies,
): NodesProduct {
  const { pollSeconds, heartbeatSeconds } = settings.nodes;
  const pairingKey = secrets.subkey('pairing');
  const commands = new NodeCommands({ db });
  const nodes = new Nodes({ db, cursors, limits, pairingKey, heartbeatSeconds });
  const devices = new Devices({ db, rateLimiter, commands, pairingKey, pollSeconds, heartbeatSeconds });
  const deviceSecrets = new DeviceSecrets(db);
  let reachability: Reachability | null = null;
  const hasInterruption = () => reachability?.hasInterruption === true;
  const polls = new DevicePolls({ events, hasInterruption, commands, secrets: deviceSecrets });
  const quota = new ArtifactQuota(settings.artifacts.maxWorkspaceBytes);
  const resumption = (tenantId: string) => intake?.resumption(tenantId) ?? new Resumption(null);
  const results = new CommandResults({ db, blobs, quota, commands, resumption });
  const uploads = new ArtifactUploads({ db, blobs, quota });
  const artifacts = new Artifacts({ db, blobs });
  return {
    nodes,
    commands,
    port: nodePort(commands, heartbeatSeconds),
    secrets: deviceSecrets,
    async announce(servesDevices) {
      reachability = await Reachability.announce({ db, events, logger, servesDevices });
      return reachability;
    },
    routes: [
      ...nodeRoutes({
        nodes,
        devices,
        polls,
        history: new NodeHistory(db, cursors),
        results,
        uploads,
        quota,
        partials: blobs.partials,
      }),
      ...artifactRoutes(artifacts, stack.use(new Thumbnails(logger))),
    ],
    sockets: [new NodeChannels({ devices, polls, results, events, logger }).route],
    longPolls: [pollRoute(polls)],
    skills: nodeSkills(),
    tasks: [
      { name: 'node commands', everyMs: 1_000, run: (stopping) => commands.sweep(stopping) },
      { name: 'silent nodes', everyMs: 2_000, run: (stopping) => nodes.markSilentNodesOffline(stopping) },
      { name: 'uploads', everyMs: 60_000, run: () => uploads.sweep() },
      { name: 'artifact usage', everyMs: 60_000, run: (stopping) => foldArtifactUsage(db, stopping) },
      { name: 'unclaimed nodes', everyMs: 600_000, run: () => nodes.pruneUnclaimed() },
      {
        name: 'orphaned artifact bytes',
        everyMs: 21_600_000,
        run: (stopping) => removeOrphanBlobs({ db, blobs, logger }, stopping),
      },
    ],
    retention: nodesRetention(settings.retention, blobs),
  };
}

export const nodesRetention = (days: NodesSettings['retention'], blobs: Blobs): RowRetention => ({
  aged: [
    {
      table: 'node_commands',
      days: days.commands,
      condition: `status IN ('succeeded', 'failed', 'withdrawn')`,
    },
    {
      table: 'artifacts',
      days: days.artifacts,
      async onRemoved(rows) {
        for (const row of rows) await blobs.delete(`${row.tenant_id}/${row.id}`);
      },
    },
  ],
});
