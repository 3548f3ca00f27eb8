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

/** Statuses by which a model says that only an admin can help. */
const refusals = new Set([401, 403, 404]);
const maxKeptCalls = 1_000;
const maxKeptModels = 5_000;
/** When to come back to a model that another call is finding out about, in milliseconds. */
const probedMs = 1_000;

/** Tells configurations of a model apart. @param parts what it is called by, its API key included. */
export function fingerprintOf(key: Buffer, parts: readonly (string | null)[]): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}

/** What this process has seen of a model and not written yet. */
interface Seen {
  fingerprint: string;
  calls: { at: number; isFailed: boolean }[];
  isUnauthorised: boolean;
  refusedStatus: number | null;
  probe: Observation['probe'];
  isDue: boolean;
  isWriting: boolean;
}

export interface BreakersDependencies {
  db: Database;
  logger: Logger;
  clock: Clock;
  /** Told after a change. */
  onChange: (change: 'opened' | 'reopened' | 'closed') => void;
}

/**
 * The breakers of all models, shared by processes over one table. Their state comes with the configuration, so that a healthy call costs nothing; what calls come to is
 * written behind their answers, and of a model that does well not at all.
 */
export class Breakers implements AsyncDisposable {
  readonly #deps: BreakersDependencies;
  readonly #seen = new LRUCache<string, Seen>({ max: maxKeptModels });
  readonly #writes = new Set<Promise<void>>();

  constructor(dependencies: BreakersDependencies) {
    this.#deps = dependencies;
  }

  /** Whether a model may be asked that is not paused: a half-open one by whoever claims its probe. */
  async admit(key: BreakerKey, view: BreakerView | null): Promise<Admission> {
    if (view === null || view.openMs === null) return { kind: 'call', isProbe: false };
    if (view.openMs <= 0 && !view.isProbed && (await claimProbe(this.#deps.db, key)))
      return { kind: 'call', isProbe: true };
    return { kind: 'paused', forMs: Math.max(probedMs, view.openMs) };
  }

  /** Takes note of how a call ended; never waits. */
  record(key: BreakerKey, view: BreakerView | null, { health, status, isProbe }: CallEnd): void {
    if (health === 'unknown' && !isProbe) return;
    const name = `${key.scope}/${key.modelId}`;
    const known = this.#seen.get(name);
    const seen: Seen =
      known?.fingerprint === key.fingerprint
        ? known
        : {
            fingerprint: key.fingerprint,
            calls: [],
            isUnauthorised: false,
            refusedStatus: null,
            probe: null,
            isDue: false,
            isWriting: false,
          };
    this.#seen.set(name, seen);
    const now = this.#deps.clock.now();
    const isFailed = health === 'failed';
    if (health !== 'unknown') seen.calls.push({ at: now, isFailed });
    while (seen.calls.length > maxKeptCalls || (seen.calls[0]?.at ?? now) < now - windowMs) seen.calls.shift();
    seen.isUnauthorised ||= status === 401;
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

  /** Resolves once all that was noted so far is written. */
  async written(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.written();
  }

  async #write(key: BreakerKey, seen: Seen): Promise<void> {
    const { db, logger, clock, onChange } = this.#deps;
    while (seen.isDue) {
      const { calls, isUnauthorised, refusedStatus, probe } = seen;
      Object.assign(seen, { calls: [], isUnauthorised: false, refusedStatus: null, probe: null, isDue: false });
      const now = clock.now();
      try {
        const { change, tells } = await writeObservation(db, key, refusedStatus, {
          calls: calls.map(({ at, isFailed }) => ({ ageMs: now - at, isFailed })),
          isUnauthorised,
          isRefused: refusedStatus !== null,
          probe,
        });
        const about = { tenantId: key.tenantId, modelId: key.modelId };
        if (change !== null) {
          logger[change === 'closed' ? 'info' : 'warn'](about, `a breaker of a model ${change}`);
          onChange(change);
        }
        if (tells && key.tenantId === null)
          logger.error(
            { ...about, status: refusedStatus },
            "the hub's own model refuses its calls: check AI_BASE_URL, AI_MODEL and AI_API_KEY",
          );
      } catch (error) {
        // Without it the model is asked as before.
        logger.warn({ err: error, modelId: key.modelId }, 'how a model fared could not be written');
      }
    }
  }
}
