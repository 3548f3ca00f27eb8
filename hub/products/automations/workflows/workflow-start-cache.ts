import { LRUCache } from 'lru-cache';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import type { RunIntake } from '../../../engine/index.ts';
import type { Database } from '../../../platform/db/database.ts';
import { heapOf } from '../../../platform/process/memory-budget.ts';
import type { Runs } from '../runs/index.ts';
import { payloadOf } from './start.ts';
import type { StartRequest } from './start.ts';
import { assertStartable } from './startable.ts';
import type { StepValidator } from './startable.ts';
import type { DefinedStart } from './store.ts';

const maxCachedWorkflows = 5_000;
/** Maximum heap use of the cached workflows, in bytes. */
const maxCachedBytes = 32 * 1024 * 1024;
/** A workflow without a start for this time is evicted, in milliseconds. */
const evictAfterMs = 10 * 60_000;

export interface WorkflowStartCacheDependencies {
  db: Database;
  runs: Runs;
  /** Null in a process that accepts no runs in batches. */
  intake: RunIntake | null;
  validateSteps: StepValidator;
}

/**
 * Caches workflows as their latest starts found them.
 * The cache is never trusted on its own: the statement that accepts a run also checks that the cached workflow is
 * current. A change therefore takes effect immediately on every process, without invalidation. A start that the cached
 * state would refuse is looked up again.
 */
export class WorkflowStartCache {
  readonly #deps: WorkflowStartCacheDependencies;
  readonly #starts = new LRUCache<string, DefinedStart>({
    max: maxCachedWorkflows,
    maxSize: maxCachedBytes,
    sizeCalculation: (start) => heapOf(start as unknown as JsonValue),
    ttl: evictAfterMs,
    updateAgeOnGet: true,
  });
  readonly #valid = new WeakSet<DefinedStart>();

  constructor(dependencies: WorkflowStartCacheDependencies) {
    this.#deps = dependencies;
  }

  /** Caches the workflow of a start under its lookup key. */
  store(key: string, start: DefinedStart): void {
    if (this.#deps.intake !== null) this.#starts.set(key, deepFreeze(start));
  }

  /**
   * Accepts a run of the cached workflow of a key. @returns null without accepting a run when the workflow must be
   * looked up. @throws DatabaseOutage.
   */
  async start(key: string, request: StartRequest): Promise<{ runId: string } | null> {
    const { db, intake, runs } = this.#deps;
    // A joined transaction must commit the run together with its other changes.
    if (intake === null || db.isJoined) return null;
    const start = this.#starts.get(key);
    if (start === undefined) return null;
    const { limits } = start;
    // Limits that drop or replace runs depend on the current runs.
    if (limits !== null && limits.onLimit !== 'queue') return null;
    const payload = this.#payloadFor(start, request);
    if (payload === undefined) return null;
    const environment = start.environment === 'test' ? 'test' : request.environment;
    if (!runs.reserveCachedQueueSlot({ tenantId: start.tenant_id, environment })) return null;
    const accepted = await intake.accept({
      definition: start,
      trigger: request.trigger,
      context: request.context ?? null,
      payload,
      environment,
      depth: request.depth ?? 0,
      requestedBy: request.requestedBy ?? [],
    });
    if (accepted === null && this.#starts.get(key) === start) this.#starts.delete(key);
    return accepted;
  }

  /** The payload of a run that the cached state allows; undefined for other runs. */
  #payloadFor(start: DefinedStart, request: StartRequest): ReturnType<typeof payloadOf> | undefined {
    try {
      if (!this.#valid.has(start)) {
        const { entitlements }: { entitlements: Record<Entitlement, boolean> } = start;
        assertStartable(start, entitlements, this.#deps.validateSteps);
        this.#valid.add(start);
      }
      return payloadOf(start, request.payload ?? null, request.payloadPath);
    } catch (error) {
      if (error instanceof AppError) return undefined;
      throw error;
    }
  }
}

/** Many runs share the cached value, so it must not change. */
function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
