import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { claimProbe, writeObservation } from './breaker-store.ts';
import type { BreakerKey, BreakerView } from './breaker-store.ts';
import { windowMs } from './breaker.ts';
import type { Observation } from './breaker.ts';
import type { Admission, CallEnd } from './failover.ts';

/** Statuses that only an admin can fix. */
const refusals = new Set([401, 403, 404]);
const maxPendingCalls = 1_000;
const maxTrackedModels = 5_000;
/** Minimum pause for a model that another call is probing, in milliseconds. */
const probePauseMs = 1_000;

/** Identifies a configuration of a model. @param parts provider, address, model and API key. */
export function fingerprintOf(key: Buffer, parts: readonly (string | null)[]): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}

/** Observations of this process that are not written yet. */
interface PendingObservation {
  fingerprint: string;
  calls: { at: number; isFailed: boolean }[];
  isUnauthorized: boolean;
  refusedStatus: number | null;
  probe: Observation['probe'];
  isDue: boolean;
  isWriting: boolean;
}

export interface BreakersDependencies {
  db: Database;
  logger: Logger;
  clock: Clock;
  /** Called after a change of a breaker. */
  onChange: (change: 'opened' | 'reopened' | 'closed') => void;
}

/**
 * The breakers of all models, shared by all processes in one table.
 * The state is read with the configuration, so a call needs no extra statement. Results are written after the answer,
 * and successes of a healthy model are not written.
 */
export class Breakers implements AsyncDisposable {
  readonly #deps: BreakersDependencies;
  readonly #pending = new LRUCache<string, PendingObservation>({ max: maxTrackedModels });
  readonly #writes = new Set<Promise<void>>();

  constructor(dependencies: BreakersDependencies) {
    this.#deps = dependencies;
  }

  /** Decides whether a model may be called. Only the caller that claims the probe may call a half-open model. */
  async admit(key: BreakerKey, view: BreakerView | null): Promise<Admission> {
    if (view === null || view.openMs === null) return { kind: 'call', isProbe: false };
    if (view.openMs <= 0 && !view.isProbed && (await claimProbe(this.#deps.db, key)))
      return { kind: 'call', isProbe: true };
    return { kind: 'paused', forMs: Math.max(probePauseMs, view.openMs) };
  }

  /** Records the result of a call without waiting. */
  record(key: BreakerKey, view: BreakerView | null, { health, status, isProbe }: CallEnd): void {
    if (health === 'unknown' && !isProbe) return;
    const name = `${key.scope}/${key.modelId}`;
    const known = this.#pending.get(name);
    const seen: PendingObservation =
      known?.fingerprint === key.fingerprint
        ? known
        : {
            fingerprint: key.fingerprint,
            calls: [],
            isUnauthorized: false,
            refusedStatus: null,
            probe: null,
            isDue: false,
            isWriting: false,
          };
    this.#pending.set(name, seen);
    const now = this.#deps.clock.now();
    const isFailed = health === 'failed';
    if (health !== 'unknown') seen.calls.push({ at: now, isFailed });
    while (seen.calls.length > maxPendingCalls || (seen.calls[0]?.at ?? now) < now - windowMs) seen.calls.shift();
    seen.isUnauthorized ||= status === 401;
    if (refusals.has(status ?? 0)) seen.refusedStatus = status;
    if (isProbe) seen.probe = health === 'unknown' ? 'released' : health;
    seen.isDue ||= isFailed || isProbe || view?.isTroubled === true;
    if (!seen.isDue || seen.isWriting) return;
    seen.isWriting = true;
    const write = this.#write(key, seen).finally(() => {
      seen.isWriting = false;
      this.#writes.delete(write);
    });
    this.#writes.add(write);
  }

  /** Resolves when everything recorded so far is written. */
  async written(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.written();
  }

  async #write(key: BreakerKey, seen: PendingObservation): Promise<void> {
    const { db, logger, clock, onChange } = this.#deps;
    while (seen.isDue) {
      const { calls, isUnauthorized, refusedStatus, probe } = seen;
      Object.assign(seen, { calls: [], isUnauthorized: false, refusedStatus: null, probe: null, isDue: false });
      const now = clock.now();
      try {
        const { change, notifies } = await writeObservation(db, key, refusedStatus, {
          calls: calls.map(({ at, isFailed }) => ({ ageMs: now - at, isFailed })),
          isUnauthorized,
          isRefused: refusedStatus !== null,
          probe,
        });
        const about = { tenantId: key.tenantId, modelId: key.modelId };
        if (change !== null) {
          logger[change === 'closed' ? 'info' : 'warn'](about, `the breaker of a model ${change}`);
          onChange(change);
        }
        if (notifies && key.tenantId === null)
          logger.error(
            { ...about, status: refusedStatus },
            "the hub's own model refuses its calls: check AI_BASE_URL, AI_MODEL and AI_API_KEY",
          );
      } catch (error) {
        // The breaker keeps its state, and the model is called as before.
        logger.warn({ err: error, modelId: key.modelId }, 'writing the state of a model breaker failed');
      }
    }
  }
}
