import { createHmac } from 'node:crypto';
import type { z } from 'zod';
import { hubProofText } from '../../../../shared/contract/nodes/device.ts';
import { nodes as resource } from '../../../../shared/contract/nodes/nodes.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import type { Database } from '../../../platform/db/database.ts';
import { and, eq, gt, isNull, sql } from '../../../platform/db/orm.ts';
import { noteWorkspaceChange } from '../../../platform/events/workspace-topic.ts';
import { addressBlock } from '../../../platform/rate-limiter/address-block.ts';
import type { RateLimiter, RateLimitState } from '../../../platform/rate-limiter/rate-limiter.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { NodeCommands } from '../commands/index.ts';
import { nodes } from '../schema.ts';
import { lockNodeNames, unnamedNode } from '../store.ts';
import type { KnownDevice } from '../store.ts';
import { Heartbeats } from './heartbeats.ts';
import type { HeartbeatBody } from './heartbeats.ts';
import { deviceSecretHash, newDeviceSecret, normalisePairingCode, pairingCodeHash } from './pairing-code.ts';

export interface DevicesDependencies {
  db: Database;
  rateLimiter: RateLimiter;
  commands: NodeCommands;
  pairingKey: Buffer;
  pollSeconds: number;
  heartbeatSeconds: number;
}

type ClaimBody = z.output<typeof resource.claimAutomationNode.body>;

/** Wrong pairing codes of an address. */
const wrongClaimLimit = { limit: 10, windowSeconds: 600 };

/** SQL for the name of a newly paired node: its own name or the name of its device, with a number when it is in use. */
const freeNameSql = (deviceName: string) => sql`coalesce((
  SELECT candidate.name
  FROM (SELECT CASE WHEN nodes.name = ${unnamedNode} THEN ${deviceName} ELSE nodes.name END AS name) wanted,
    generate_series(1, 100) position,
    LATERAL (SELECT CASE WHEN position = 1 THEN wanted.name ELSE left(wanted.name, 190) || ' ' || position END AS name) candidate
  WHERE NOT EXISTS (
    SELECT 1 FROM nodes taken
    WHERE taken.tenant_id = nodes.tenant_id AND taken.name = candidate.name AND taken.paired_at IS NOT NULL AND taken.revoked_at IS NULL
  )
  ORDER BY position LIMIT 1
), left(${deviceName}, 180) || ' ' || right(nodes.id::text, 12))`;

/** Operations of devices: claim, proof of the hub and heartbeat. */
export class Devices {
  readonly #deps: DevicesDependencies;
  readonly #heartbeats: Heartbeats;
  constructor(dependencies: DevicesDependencies) {
    this.#deps = dependencies;
    this.#heartbeats = new Heartbeats(dependencies);
  }

  /**
   * Exchanges a pairing code for a device secret, once.
   * @param onLimit receives the state of the limit of wrong codes.
   * @throws AppError `pairing_code_invalid` for a wrong, used or expired code, `rate_limited` after too many of them.
   */
  async claim(body: ClaimBody, address: string, onLimit: (state: RateLimitState) => void) {
    const limitKey = `wrong-claims:${addressBlock(address)}`;
    const failures = await this.#deps.rateLimiter.peek(limitKey, wrongClaimLimit);
    onLimit(failures);
    if (!failures.allowed) {
      const retryAfterSeconds = Math.max(1, Math.ceil((failures.resetAt.getTime() - Date.now()) / 1000));
      throw new AppError(
        'rate_limited',
        `Too many wrong pairing codes from this address; try again in ${retryAfterSeconds} seconds.`,
        { retryAfterSeconds, limit: failures.limit },
      );
    }
    const code = normalisePairingCode(body.pairingCode);
    const secret = newDeviceSecret();
    const claimed = code === null ? null : await this.#claim(code, secret, body);
    if (claimed === null) {
      onLimit(await this.#deps.rateLimiter.take(limitKey, wrongClaimLimit));
      throw new AppError(
        'pairing_code_invalid',
        'This pairing code is wrong, used or expired; make a new one at the hub.',
      );
    }
    return { nodeId: claimed, deviceSecret: secret, hub: this.#intervals };
  }

  /**
   * Proves to a device that this is the hub that it is paired with.
   * @param baseUrl the address of this hub.
   * @throws AppError `not_found`; `conflict` when `challenge.hub` is not the address of this hub.
   */
  async proveHub(
    nodeId: string,
    challenge: { hub: string; nonce: string },
    baseUrl: string,
  ): Promise<{ proof: string }> {
    if (challenge.hub.replace(/(?<!\/)\/+$/, '') !== baseUrl)
      throw new AppError(
        'conflict',
        "body.hub is not this hub's address, so it proves nothing; set PUBLIC_URL of the hub to the address that its devices use.",
      );
    const secretHash = await this.#deps.db.system(
      async (tx) => {
        const [row] = await tx
          .select({ secretHash: nodes.secretHash })
          .from(nodes)
          .where(and(eq(nodes.id, nodeId), isNull(nodes.revokedAt)));
        return row?.secretHash ?? null;
      },
      { durable: false },
    );
    if (secretHash === null) throw notFound('node', nodeId);
    return { proof: createHmac('sha256', secretHash).update(hubProofText(nodeId, challenge)).digest('hex') };
  }

  /** Records a heartbeat, extends the leases of running commands, and returns the commands and runs to stop. */
  async heartbeat(device: KnownDevice, body: HeartbeatBody) {
    const response = await this.#heartbeats.record(device, body);
    return {
      ok: true as const,
      ...response,
      endedRuns: await this.#endedRuns(device, body.browserRuns),
      hub: this.#intervals,
    };
  }

  /** Returns the runs that have ended or do not belong to the workspace of the device. */
  async #endedRuns({ tenantId }: KnownDevice, runIds: readonly string[]): Promise<string[]> {
    if (runIds.length === 0) return [];
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<{ id: string }>(
        'read_unfinished_runs',
        'SELECT id FROM runs WHERE id = ANY($1::uuid[]) AND finished_at IS NULL',
        [runIds],
      ),
    );
    const unfinished = new Set(rows.map(({ id }) => id));
    return runIds.filter((id) => !unfinished.has(id));
  }

  get #intervals() {
    return { pollSeconds: this.#deps.pollSeconds, heartbeatSeconds: this.#deps.heartbeatSeconds };
  }

  async #claim(code: string, secret: string, body: ClaimBody): Promise<string | null> {
    return this.#deps.db.system(async (tx) => {
      const hasCode = and(
        eq(nodes.pairingCodeHash, pairingCodeHash(this.#deps.pairingKey, code)),
        gt(nodes.pairingExpiresAt, sql`now()`),
        isNull(nodes.revokedAt),
      );
      const [pending] = await tx.select({ tenantId: nodes.tenantId }).from(nodes).where(hasCode);
      if (pending === undefined) return null;
      await lockNodeNames(tx, pending.tenantId);
      const [row] = await tx
        .update(nodes)
        .set({
          name: freeNameSql(body.device.name),
          device: body.device as JsonObject,
          secretHash: deviceSecretHash(secret),
          pairingCodeHash: null,
          pairedAt: sql`now()`,
          updatedAt: sql`now()`,
        })
        .where(hasCode)
        .returning({ id: nodes.id, tenantId: nodes.tenantId });
      if (row === undefined) return null;
      noteWorkspaceChange(tx, row.tenantId);
      await recordAudit(tx, {
        tenantId: row.tenantId,
        actor: `node:${row.id}`,
        action: 'node.paired',
        targetType: 'node',
        targetId: row.id,
        details: { platform: body.device.platform, name: body.device.name },
      });
      return row.id;
    });
  }
}
