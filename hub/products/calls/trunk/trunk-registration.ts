import { waitFor } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { escapeUser, hostPort, maxRegisterRequests, register } from '../sip/index.ts';
import type { RegisterOutcome } from '../sip/index.ts';
import { answered, unreachable, unreachableReason, unreadable } from './attempt.ts';
import { backOffMs } from './back-off.ts';
import { CallBudget } from './call-budget.ts';
import { answerCarrier } from './incoming.ts';
import type { MissedCall } from './incoming.ts';
import { passwordPurpose } from './service.ts';
import { forgetTrunk, recordLost, recordResult, recordStop, reserveSequence } from './store.ts';
import type { AttemptResult, ClaimedTrunk } from './store.ts';
import { TrunkConnection } from './trunk-connection.ts';

/** Requested lifetime of a registration. */
const expiresSeconds = 600;
/** Attempts to unregister a removed trunk. Afterwards the binding expires at the carrier. */
const maxUnregisterAttempts = 5;
/** Delay after a failure inside the hub. */
const internalRetryMs = 5_000;

export interface TrunkRegistrationDependencies {
  db: Database;
  egress: Egress;
  secrets: Secrets;
  logger: Logger;
  clock: Clock;
  userAgent: string;
  /** Contact at the operator's SIP server. Null if calls go to this hub. */
  contact: { host: string; parameters: string } | null;
  /** Records a missed call. */
  recordMissed: (call: MissedCall) => Promise<void>;
  /** Counts the recorded missed calls of a workspace since a time, up to a limit. */
  countMissed: (tenantId: string, since: Date, limit: number) => Promise<number>;
  /** Called with the state after each attempt. */
  onAttempt: (outcome: string) => void;
}

/**
 * Keeps one leased trunk registered and answers its carrier, until it is ended, stopped or removed, or until its lease
 * is lost.
 */
export class TrunkRegistration {
  readonly trunk: ClaimedTrunk;
  /** Resolves when all work has ended. */
  readonly ended: Promise<void>;
  readonly #deps: TrunkRegistrationDependencies;
  readonly #stop = new AbortController();
  readonly #budget: CallBudget;
  #connection: TrunkConnection | null = null;
  /** Aborts the pause between two attempts. */
  #wake: AbortController | null = null;
  /** Consecutive pauses during which the connection was lost. */
  #losses = 0;
  /** Why the last connection was lost. Null while there is a connection, and before the first one. */
  #lossReason: Error | null = null;

  /** @param delayMs delay of the first attempt, which spreads trunks that were claimed together. */
  constructor(dependencies: TrunkRegistrationDependencies, trunk: ClaimedTrunk, delayMs: number) {
    this.#deps = dependencies;
    this.trunk = trunk;
    this.#budget = new CallBudget(dependencies.clock, (since, limit) =>
      dependencies.countMissed(trunk.tenant_id, since, limit),
    );
    // A registered trunk needs a connection of this process immediately. A failed trunk waits for its next attempt.
    const isWaiting = !trunk.is_removed && (trunk.state === 'rejected' || trunk.state === 'unreachable');
    this.ended = this.#run(delayMs + (isWaiting ? trunk.due_ms : 0));
  }

  /** Ends the work of this process. The binding at the carrier stays. */
  end(): void {
    this.#stop.abort(new Error('the registration was ended'));
    this.#connection?.[Symbol.dispose]();
  }

  async #run(delayMs: number): Promise<void> {
    const { logger } = this.#deps;
    const { signal } = this.#stop;
    const part = 'SIP trunks';
    let pauseMs: number | null = delayMs;
    try {
      while (pauseMs !== null) {
        await this.#pause(pauseMs);
        try {
          pauseMs = await this.#attempt(signal);
          logRecovery(logger, part);
        } catch (error) {
          if (signal.aborted) return;
          logger.warn(
            { err: error, part, trunkId: this.trunk.id },
            'an attempt to register a SIP trunk failed; the hub retries it',
          );
          pauseMs = internalRetryMs;
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#connection?.[Symbol.dispose]();
    }
  }

  /** Waits for `ms`. If the connection is lost meanwhile, waits only for the back-off. */
  async #pause(ms: number): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stop;
    const startedAt = clock.now();
    this.#wake = new AbortController();
    // The connection may have been lost before this pause.
    if (this.#lossReason !== null) this.#wake.abort();
    try {
      await waitFor(clock, ms, AbortSignal.any([signal, this.#wake.signal]));
      this.#losses = 0;
    } catch {
      signal.throwIfAborted();
      this.#losses += 1;
      const leftMs = ms - (clock.now() - startedAt);
      const waitMs = Math.min(leftMs, backOffMs(this.#losses));
      await this.#recordLost(waitMs);
      await waitFor(clock, waitMs, signal);
    } finally {
      this.#wake = null;
    }
  }

  /** Makes one attempt. Returns the delay before the next attempt, or null if there is none. */
  async #attempt(signal: AbortSignal): Promise<number | null> {
    const { onAttempt } = this.#deps;
    const { trunk } = this;
    const password = this.#openPassword();
    if (password === null) return trunk.is_removed ? this.#forget() : this.#record(unreadable(trunk));
    let outcome: RegisterOutcome | null = null;
    let result: AttemptResult;
    try {
      outcome = await this.#register(password, signal);
      if (outcome === null) return null;
      result = answered(trunk, outcome);
    } catch (error) {
      const reason = signal.aborted ? null : unreachableReason(error);
      if (reason === null) throw error;
      result = unreachable(trunk, reason);
    }
    onAttempt(result.state);
    // The next attempt uses a new connection and possibly another address.
    if (result.state !== 'registered') this.#drop();
    return trunk.is_removed ? this.#recordUnregister(result, outcome) : this.#record(result);
  }

  /** Null if the password was sealed with another key. */
  #openPassword(): string | null {
    try {
      return this.#deps.secrets.open(passwordPurpose, this.trunk.sealed_password);
    } catch {
      return null;
    }
  }

  /** Sends REGISTER. Returns null if another process has claimed the trunk. */
  async #register(password: string, signal: AbortSignal): Promise<RegisterOutcome | null> {
    const { db, userAgent } = this.#deps;
    const { trunk } = this;
    const connection = await this.#connect(signal);
    trunk.local_port ??= trunk.transport === 'udp' ? connection.local.port : null;
    trunk.contact = this.#contactFor(connection.local);
    const first = await reserveSequence(db, trunk, maxRegisterRequests);
    if (first === null) return null;
    if (this.#lossReason !== null) throw this.#lossReason;
    let sequence = first;
    return register(
      connection.endpoint,
      {
        registrar: trunk.host.includes(':') ? `[${trunk.host}]` : trunk.host,
        username: trunk.username,
        password,
        contact: trunk.contact,
        instanceId: trunk.id,
        callId: trunk.id,
        expiresSeconds: trunk.is_removed ? 0 : expiresSeconds,
        nextSequence: () => sequence++,
        userAgent,
      },
      signal,
    );
  }

  async #connect(signal: AbortSignal): Promise<TrunkConnection> {
    if (this.#connection !== null) return this.#connection;
    const { egress, clock, contact, recordMissed, logger } = this.#deps;
    const { trunk } = this;
    const connection = await TrunkConnection.open(trunk, {
      egress,
      clock,
      firstCandidate: trunk.failures,
      signal,
      answer: (request) =>
        answerCarrier(request, async (call) => {
          // The operator's SIP server records the calls that it receives.
          if (contact !== null) return;
          try {
            if (await this.#mayRecord()) await recordMissed({ tenantId: trunk.tenant_id, ...call });
          } catch (error) {
            logger.warn({ err: error, trunkId: trunk.id }, 'recording a missed call failed');
          }
        }),
      onLost: (reason) => {
        this.#connection = null;
        this.#lossReason = reason;
        this.#wake?.abort();
      },
    });
    this.#connection = connection;
    this.#lossReason = null;
    // `end` may have run before the connection was open.
    if (signal.aborted) this.#drop();
    signal.throwIfAborted();
    return connection;
  }

  #mayRecord(): Promise<boolean> {
    const { logger } = this.#deps;
    const { id: trunkId, tenant_id: tenantId } = this.trunk;
    return this.#budget.take(() =>
      logger.warn(
        { tenantId, trunkId },
        'a SIP trunk received more calls than the limit; further calls are refused without a record',
      ),
    );
  }

  #drop(): void {
    this.#connection?.[Symbol.dispose]();
    this.#connection = null;
    this.#lossReason = null;
  }

  #contactFor(local: { address: string; port: number }): string {
    const { contact } = this.#deps;
    const { id, transport, username, contact: before } = this.trunk;
    if (contact !== null) return `sip:${escapeUser(username)}@${contact.host}${contact.parameters}`;
    // Carriers identify bindings by the Contact, so every process keeps the first one.
    const own = `sip:${id.replaceAll('-', '')}@`;
    if (before?.startsWith(own) === true) return before;
    return `${own}${hostPort(local)}${transport === 'udp' ? '' : `;transport=${transport}`}`;
  }

  async #recordUnregister(result: AttemptResult, outcome: RegisterOutcome | null): Promise<number | null> {
    // A 5xx response or no response is retried. Any other response is final.
    const isSettled = outcome !== null && outcome.code < 500;
    return isSettled || result.failures >= maxUnregisterAttempts ? this.#forget() : this.#record(result);
  }

  async #recordLost(nextMs: number): Promise<void> {
    const { db, logger } = this.#deps;
    const { trunk } = this;
    try {
      await recordLost(db, trunk, nextMs);
      trunk.state = 'registering';
    } catch (error) {
      logger.warn({ err: error, trunkId: trunk.id }, 'recording the lost connection of a SIP trunk failed');
    }
  }

  async #forget(): Promise<null> {
    await forgetTrunk(this.#deps.db, this.trunk);
    return null;
  }

  async #record(result: AttemptResult): Promise<number | null> {
    const { db, logger } = this.#deps;
    const { trunk } = this;
    const { id, tenant_id: tenantId } = trunk;
    const ownsLease =
      result.state === 'stopped'
        ? await db.workspace(tenantId, async (tx) => {
            if (!(await recordStop(tx, trunk, result))) return false;
            await recordAudit(tx, {
              tenantId,
              actor: 'system',
              action: 'sip_trunk.stopped',
              targetType: 'sip_trunk',
              targetId: id,
              details: { reason: result.lastReason },
            });
            return true;
          })
        : await recordResult(db, trunk, result);
    if (!ownsLease) return null;
    if (result.state !== trunk.state)
      logger.info(
        { tenantId, trunkId: id, state: result.state, code: result.lastCode },
        'the state of a SIP trunk changed',
      );
    trunk.state = result.state;
    trunk.failures = result.failures;
    trunk.refused_credentials = result.refusedCredentials;
    return result.nextMs;
  }
}
