import type { z } from 'zod';
import { nodes as resource } from '../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../shared/errors.ts';
import type { JsonObject } from '../../../shared/json.ts';
import type { Database } from '../../platform/db/database.ts';
import { and, eq, gt, isNull, sql } from '../../platform/db/orm.ts';
import type { Events } from '../../platform/events/events.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';
import { addressBlock } from '../../platform/rate-limiter/address-block.ts';
import type { RateLimiter } from '../../platform/rate-limiter/rate-limiter.ts';
import { recordAudit } from '../core/audit/index.ts';
import { NodeCommands, nodeTopic } from './commands.ts';
import type { HandOut } from './commands.ts';
import { changedFacts, noteFacts } from './facts.ts';
import type { KnownOfNode } from './facts.ts';
import { deviceSecretHash, newDeviceSecret, normalisePairingCode, pairingCodeHash } from './pairing-code.ts';
import type { QuietNode } from './quiet-node.ts';
import { nodes } from './schema.ts';
import type { DeviceIdentity } from './store.ts';
import { Wake } from './wake.ts';

export interface DevicesDependencies {
  db: Database;
  events: Events;
  rateLimiter: RateLimiter;
  commands: NodeCommands;
  pairingKey: Buffer;
  pollSeconds: number;
  heartbeatSeconds: number;
}

type ClaimBody = z.output<typeof resource.claimAutomationNode.body>;
type HeartbeatBody = z.output<typeof resource.heartbeatAutomationNode.body>;
/** What a device asks for in a poll, by its operation or through its channel. */
type PollQuery = z.output<typeof resource.pollAutomationNodeCommands.query>;

/** After events were missed all polls look again, spread over so long for each of them, in milliseconds. */
const lookAgainMs = 2.5;

/** Polls of one device that wait at one process, at most; a companion needs one, and another while the connection of the first dies. */
const maxPollsOfDevice = 8;

const claimWindowSeconds = 600;
const wrongClaimsAllowed = 10;

/** The device's side of nodes: claim, heartbeat, long poll. */
export class Devices {
  readonly #deps: DevicesDependencies;
  readonly #parked = new Set<Wake>();
  /** The polls of each device that have not ended, the oldest first. */
  readonly #polls = new Map<string, Set<Wake>>();

  constructor(dependencies: DevicesDependencies) {
    this.#deps = dependencies;
    dependencies.events.onReconnect(() => {
      // Each look takes a connection of the database; thousands at once would leave none to anybody else.
      const withinMs = this.#parked.size * lookAgainMs;
      for (const parked of this.#parked) parked.wakeWithin(withinMs);
    });
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

  /** The device that a secret belongs to, or null. */
  async authenticate(nodeId: string, secret: string): Promise<DeviceIdentity | null> {
    const rows = await this.#deps.db.systemStatement<{ tenant_id: string }>(
      'authenticate_device',
      'SELECT tenant_id FROM nodes WHERE id = $1 AND secret_hash = $2 AND revoked_at IS NULL',
      [nodeId, deviceSecretHash(secret)],
    );
    const row = rows[0];
    return row === undefined ? null : { tenantId: row.tenant_id, nodeId };
  }

  /** Records that the device lives and what changed of it, extends the leases of what it runs, and says what it should stop. */
  async heartbeat(device: DeviceIdentity, body: HeartbeatBody) {
    const { tenantId, nodeId } = device;
    return this.#deps.db.workspace(
      tenantId,
      async (tx) => {
        const { rows } = await tx.query<HeardNode>(
          'hear_heartbeat',
          `UPDATE nodes SET last_seen_at = now(), online = true, paused = $2, facts = coalesce($3, facts), device = coalesce($4, device)
           WHERE id = $1 AND revoked_at IS NULL
           RETURNING allow_system, allow_browser, device, facts,
             (SELECT f.facts FROM node_facts f WHERE f.node_id = nodes.id ORDER BY f.id DESC LIMIT 1) AS noted,
             (SELECT before.online FROM nodes before WHERE before.id = $1) AS was_online`,
          [nodeId, body.paused, json(body.facts), json(body.device)],
        );
        const row = rows[0];
        if (row === undefined) throw revoked();
        const { allow_system: allowSystem, allow_browser: allowBrowser, facts, noted, was_online: wasOnline } = row;
        if (!wasOnline) noteWorkspaceChange(tx, tenantId);
        const known = { device: row.device, facts, paused: body.paused, allowSystem, allowBrowser } as KnownOfNode;
        const changed = changedFacts(known, noted);
        if (changed !== null) await noteFacts(tx, tenantId, nodeId, changed);
        const withdrawn = await this.#deps.commands.extendLeases(tx, nodeId, body.running);
        return { ok: true as const, allowSystem, allowBrowser, withdrawn, hub: this.#pace };
      },
      { durable: false },
    );
  }

  /**
   * Waits up to `wait` seconds for commands, or for one of those running to be withdrawn. What it answers was leased to the
   * device: `putBack` its leases when the answer can't be sent.
   * @throws AppError `device_secret_invalid` as soon as the node is revoked.
   */
  async poll(
    device: DeviceIdentity,
    query: PollQuery,
    signal: AbortSignal,
    quiet: QuietNode | null = null,
  ): Promise<HandOut> {
    const { max, running, runningIsComplete } = query;
    const { nodeId } = device;
    const { commands: sent } = this.#deps;
    const deadline = performance.now() + query.wait * 1000;
    using waiting = new Wake(runningIsComplete);
    // Subscribed before the first look, so that no command between the two is missed.
    using _subscription = this.#deps.events.subscribe(nodeTopic(nodeId), () => waiting.wake());
    this.#parked.add(waiting);
    using _place = this.#makePlace(nodeId, waiting);
    try {
      let mayRest = runningIsComplete && quiet?.isQuiet(running) === true;
      // Only the first look can rest on what the device said: what is leased later may be on its way there.
      for (let isRunningComplete = runningIsComplete; !signal.aborted && !waiting.isEnded; isRunningComplete = false) {
        if (!mayRest) {
          const looked = quiet?.looks();
          const handedOut = await sent.handOut(device, { max, running, isRunningComplete }, signal);
          if (handedOut === null) throw revoked();
          const { commands, withdrawn } = handedOut.answer;
          if (isRunningComplete && commands.length < max && withdrawn.length === 0)
            looked?.([...running, ...commands.map(({ id }) => id)]);
          if (commands.length > 0 || withdrawn.length > 0) return handedOut;
        }
        mayRest = false;
        const leftMs = deadline - performance.now();
        // What was missed until then the next poll finds.
        if (leftMs <= 0) break;
        using _parked = max > 0 && !waiting.isWoken ? sent.parked.park(device, waiting) : null;
        const wasWoken = await waiting.wait(leftMs, signal);
        if (waiting.handedOver !== null) {
          for (const { id } of waiting.handedOver.answer.commands) quiet?.handedOut(id);
          return waiting.handedOver;
        }
        if (!wasWoken) break;
      }
      return { answer: { commands: [], withdrawn: [] }, leases: [] };
    } finally {
      this.#parked.delete(waiting);
    }
  }

  /** Ends the polls of a device that a new one leaves no place: empty, for what a poll was handed it brings along. */
  #makePlace(nodeId: string, poll: Wake): Disposable {
    const polls = this.#polls.get(nodeId) ?? new Set();
    const leave = (one: Wake) => {
      polls.delete(one);
      if (polls.size === 0 && this.#polls.get(nodeId) === polls) this.#polls.delete(nodeId);
    };
    const end = (one: Wake) => {
      one.end();
      leave(one);
    };
    // A device that waits in one poll at a time has given up the one before, whose connection may not know it yet.
    if (poll.isOnlyOne) for (const older of polls) if (older.isOnlyOne) end(older);
    const [oldest] = polls;
    if (oldest !== undefined && polls.size >= maxPollsOfDevice) end(oldest);
    polls.add(poll);
    this.#polls.set(nodeId, polls);
    return { [Symbol.dispose]: () => leave(poll) };
  }

  /** Gives commands back whose answer could not be sent. When that fails, too, their leases run out. */
  async putBack(device: DeviceIdentity, { leases }: HandOut): Promise<void> {
    await this.#deps.commands.putBack(device, leases).catch(() => undefined);
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

/** A node after a heartbeat, and how it was before. */
interface HeardNode {
  allow_system: boolean;
  allow_browser: boolean;
  device: JsonObject | null;
  facts: JsonObject | null;
  noted: unknown;
  was_online: boolean;
}

function json(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

function revoked(): AppError {
  return new AppError('device_secret_invalid', 'This device is not paired any more; pair it again.');
}
