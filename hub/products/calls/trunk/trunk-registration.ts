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

/** How long a registration is asked for. */
const expiresSeconds = 600;
/** Attempts to take back what was removed; then it ends by itself, at the carrier. */
const maxFarewells = 5;
/** How soon is tried again what the hub itself could not do. */
const ownFailureMs = 5_000;

export interface TrunkRegistrationDependencies {
  db: Database;
  egress: Egress;
  secrets: Secrets;
  logger: Logger;
  clock: Clock;
  userAgent: string;
  /** Of the operator's SIP server, which calls are to come to; null for this hub itself. */
  contact: { host: string; parameters: string } | null;
  /** Writes a call that nobody took. */
  recordMissed: (call: MissedCall) => Promise<void>;
  /** How many such calls of a workspace were written since a time, but no more than a limit. */
  countMissed: (tenantId: string, since: Date, limit: number) => Promise<number>;
  /** Told what came of each attempt. */
  onAttempt: (outcome: string) => void;
}

/** One trunk that this process has leased: registers it and answers its carrier until it is ended, lost to another, stopped or gone. */
export class TrunkRegistration {
  readonly trunk: ClaimedTrunk;
  /** Resolves when it does nothing more. */
  readonly ended: Promise<void>;
  readonly #deps: TrunkRegistrationDependencies;
  readonly #stop = new AbortController();
  readonly #budget: CallBudget;
  #connection: TrunkConnection | null = null;
  /** Cuts the pause between two attempts short. */
  #wake: AbortController | null = null;
  /** How often the connection was lost between two attempts, in a row. */
  #drops = 0;
  /** Why the connection that there was is gone, while there is no other. */
  #loss: Error | null = null;

  /** @param delayMs before it begins, so that many that were claimed at once do not begin at once. */
  constructor(dependencies: TrunkRegistrationDependencies, trunk: ClaimedTrunk, delayMs: number) {
    this.#deps = dependencies;
    this.trunk = trunk;
    this.#budget = new CallBudget(dependencies.clock, (since, limit) =>
      dependencies.countMissed(trunk.tenant_id, since, limit),
    );
    // What another held needs a connection of this one; what failed waits for its time.
    const isWaiting = !trunk.is_removed && (trunk.state === 'rejected' || trunk.state === 'unreachable');
    this.ended = this.#live(delayMs + (isWaiting ? trunk.due_ms : 0));
  }

  /** Ends it at once; what the carrier has of it stays. */
  end(): void {
    this.#stop.abort(new Error('the trunk is held no longer'));
    this.#connection?.[Symbol.dispose]();
  }

  async #live(delayMs: number): Promise<void> {
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
            'a SIP trunk could not be tried; it is tried again',
          );
          pauseMs = ownFailureMs;
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#connection?.[Symbol.dispose]();
    }
  }

  /** LongPolls, but not longer than the connection lives, and then at least a back-off. */
  async #pause(ms: number): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stop;
    const startedAt = clock.now();
    this.#wake = new AbortController();
    // It may be gone before this pause began.
    if (this.#loss !== null) this.#wake.abort();
    try {
      await waitFor(clock, ms, AbortSignal.any([signal, this.#wake.signal]));
      this.#drops = 0;
    } catch {
      signal.throwIfAborted();
      this.#drops += 1;
      const leftMs = ms - (clock.now() - startedAt);
      const waitMs = Math.min(leftMs, backOffMs(this.#drops));
      await this.#recordLost(waitMs);
      await waitFor(clock, waitMs, signal);
    } finally {
      this.#wake = null;
    }
  }

  /** Answers how long to wait for the next; null when there is none. */
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
    // Another address, or a new connection, may be what it takes.
    if (result.state !== 'registered') this.#drop();
    return trunk.is_removed ? this.#sayFarewell(result, outcome) : this.#record(result);
  }

  /** Null where it was sealed with another key. */
  #openPassword(): string | null {
    try {
      return this.#deps.secrets.open(passwordPurpose, this.trunk.sealed_password);
    } catch {
      return null;
    }
  }

  /** Null for a trunk that is another's by now. */
  async #register(password: string, signal: AbortSignal): Promise<RegisterOutcome | null> {
    const { db, userAgent } = this.#deps;
    const { trunk } = this;
    const connection = await this.#connect(signal);
    trunk.local_port ??= trunk.transport === 'udp' ? connection.local.port : null;
    trunk.contact = this.#contactFor(connection.local);
    const first = await reserveSequence(db, trunk, maxRegisterRequests);
    if (first === null) return null;
    if (this.#loss !== null) throw this.#loss;
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
      turn: trunk.failures,
      signal,
      answer: (request) =>
        answerCarrier(request, async (call) => {
          // Where calls go to the operator's server, that one knows of them.
          if (contact !== null) return;
          try {
            if (await this.#mayRecord()) await recordMissed({ tenantId: trunk.tenant_id, ...call });
          } catch (error) {
            logger.warn({ err: error, trunkId: trunk.id }, 'a missed call could not be recorded');
          }
        }),
      onLost: (reason) => {
        this.#connection = null;
        this.#loss = reason;
        this.#wake?.abort();
      },
    });
    this.#connection = connection;
    this.#loss = null;
    // Whoever ended it meanwhile knew of none.
    if (signal.aborted) this.#drop();
    signal.throwIfAborted();
    return connection;
  }

  #mayRecord(): Promise<boolean> {
    const { logger } = this.#deps;
    const { id: trunkId, tenant_id: tenantId } = this.trunk;
    return this.#budget.take(() =>
      logger.warn({ tenantId, trunkId }, 'more calls came to a SIP trunk than are recorded; those are refused alone'),
    );
  }

  #drop(): void {
    this.#connection?.[Symbol.dispose]();
    this.#connection = null;
    this.#loss = null;
  }

  #contactFor(local: { address: string; port: number }): string {
    const { contact } = this.#deps;
    const { id, transport, username, contact: before } = this.trunk;
    if (contact !== null) return `sip:${escapeUser(username)}@${contact.host}${contact.parameters}`;
    // A carrier tells bindings apart by it: whoever takes over keeps it, wherever that one is.
    const own = `sip:${id.replaceAll('-', '')}@`;
    if (before?.startsWith(own) === true) return before;
    return `${own}${hostPort(local)}${transport === 'udp' ? '' : `;transport=${transport}`}`;
  }

  async #sayFarewell(result: AttemptResult, outcome: RegisterOutcome | null): Promise<number | null> {
    // A carrier that could not now may be able to in a while; one that does not want to is not asked again.
    const isSettled = outcome !== null && outcome.code < 500;
    return isSettled || result.failures >= maxFarewells ? this.#forget() : this.#record(result);
  }

  async #recordLost(nextMs: number): Promise<void> {
    const { db, logger } = this.#deps;
    const { trunk } = this;
    try {
      await recordLost(db, trunk, nextMs);
      trunk.state = 'registering';
    } catch (error) {
      logger.warn({ err: error, trunkId: trunk.id }, 'the loss of a connection of a SIP trunk could not be written');
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
    const isHeld =
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
    if (!isHeld) return null;
    if (result.state !== trunk.state)
      logger.info(
        { tenantId, trunkId: id, state: result.state, code: result.lastCode },
        'a SIP trunk changed its state',
      );
    trunk.state = result.state;
    trunk.failures = result.failures;
    trunk.refused_credentials = result.refusedCredentials;
    return result.nextMs;
  }
}
