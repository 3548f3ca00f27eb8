import type { z } from 'zod';
import { nodes as resource } from '../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../shared/errors.ts';
import type { JsonObject } from '../../../shared/json.ts';
import type { Database } from '../../platform/db/database.ts';
import { and, eq, gt, isNull, sql } from '../../platform/db/orm.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';
import { addressBlock } from '../../platform/rate-limiter/address-block.ts';
import type { RateLimiter } from '../../platform/rate-limiter/rate-limiter.ts';
import { recordAudit } from '../core/audit/index.ts';
import type { NodeCommands } from './commands.ts';
import { Heartbeats } from './heartbeats.ts';
import type { HeartbeatBody } from './heartbeats.ts';
import { deviceSecretHash, newDeviceSecret, normalisePairingCode, pairingCodeHash } from './pairing-code.ts';
import { nodes } from './schema.ts';
import type { KnownDevice } from './store.ts';

export interface DevicesDependencies {
  db: Database;
  rateLimiter: RateLimiter;
  commands: NodeCommands;
  pairingKey: Buffer;
  pollSeconds: number;
  heartbeatSeconds: number;
}

type ClaimBody = z.output<typeof resource.claimAutomationNode.body>;

const claimWindowSeconds = 600;
const wrongClaimsAllowed = 10;

/** The device's side of nodes: claim and heartbeat. */
export class Devices {
  readonly #deps: DevicesDependencies;
  readonly #heartbeats: Heartbeats;
  constructor(dependencies: DevicesDependencies) {
    this.#deps = dependencies;
    this.#heartbeats = new Heartbeats(dependencies);
  }

  /**
   * Trades a pairing code for a device secret, once.
   * @throws AppError `pairing_code_invalid` for a wrong, used or expired code alike, `rate_limited` after too many of them.
   */
  async claim(body: ClaimBody, address: string) {
    const limitKey = `wrong-claims:${addressBlock(address)}`;
    const failures = await this.#deps.rateLimiter.peek(limitKey, {
      limit: wrongClaimsAllowed,
      windowSeconds: claimWindowSeconds,
    });
    if (!failures.allowed) {
      const retryAfterSeconds = Math.max(1, Math.ceil((failures.resetAt.getTime() - Date.now()) / 1000));
      throw new AppError(
        'rate_limited',
        `Too many wrong pairing codes from this address; try again in ${retryAfterSeconds} seconds.`,
        { retryAfterSeconds },
      );
    }
    const code = normalisePairingCode(body.pairingCode);
    const secret = newDeviceSecret();
    const claimed = code === null ? null : await this.#claim(code, secret, body);
    if (claimed === null) {
      await this.#deps.rateLimiter.take(limitKey, { limit: wrongClaimsAllowed, windowSeconds: claimWindowSeconds });
      throw new AppError(
        'pairing_code_invalid',
        'This pairing code is wrong, used or expired; make a new one at the hub.',
      );
    }
    return { nodeId: claimed, deviceSecret: secret, hub: this.#pace };
  }

  /** Records that the device lives and what changed of it, extends the leases of what it runs, and says what it should stop. */
  async heartbeat(device: KnownDevice, body: HeartbeatBody) {
    const heard = await this.#heartbeats.hear(device, body);
    return { ok: true as const, ...heard, endedRuns: await this.#endedRuns(device, body.browserRuns), hub: this.#pace };
  }

  /** Which of some runs are over, or are no runs of the device's workspace. */
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

  get #pace() {
    return { pollSeconds: this.#deps.pollSeconds, heartbeatSeconds: this.#deps.heartbeatSeconds };
  }

  async #claim(code: string, secret: string, body: ClaimBody): Promise<string | null> {
    return this.#deps.db.system(async (tx) => {
      const [row] = await tx
        .update(nodes)
        .set({
          name: sql`case when ${nodes.name} = 'New node' then ${body.device.name} else ${nodes.name} end`,
          device: body.device as JsonObject,
          secretHash: deviceSecretHash(secret),
          pairingCodeHash: null,
          pairedAt: sql`now()`,
          lastSeenAt: sql`now()`,
          online: true,
          updatedAt: sql`now()`,
        })
        .where(
          and(
            eq(nodes.pairingCodeHash, pairingCodeHash(this.#deps.pairingKey, code)),
            gt(nodes.pairingExpiresAt, sql`now()`),
            isNull(nodes.revokedAt),
          ),
        )
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
