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

const maxKnown = 5_000;
/** The heap that all of them may use, in bytes. */
const maxKnownBytes = 32 * 1024 * 1024;
/** After so long without a start a workflow is forgotten, in milliseconds. */
const forgetAfterMs = 10 * 60_000;

export interface KnownStartsDependencies {
  db: Database;
  runs: Runs;
  /** Null where nothing is accepted that way. */
  intake: RunIntake | null;
  validateSteps: StepValidator;
}

/**
 * Workflows as their latest starts found them. A run of one is accepted only if all that the start depends on is still as it was found, which the
 * statement that accepts it looks at itself: so nobody has to be told of a change, and one takes effect at once, on every process. What would
 * be refused by what is known is not refused, but looked up again.
 */
export class WorkflowStartCache {
  readonly #deps: KnownStartsDependencies;
  readonly #known = new LRUCache<string, DefinedStart>({
    max: maxKnown,
    maxSize: maxKnownBytes,
    sizeCalculation: (start) => heapOf(start as unknown as JsonValue),
    ttl: forgetAfterMs,
    updateAgeOnGet: true,
  });
  readonly #valid = new WeakSet<DefinedStart>();

  constructor(dependencies: KnownStartsDependencies) {
    this.#deps = dependencies;
  }

  /** Keeps what a start found, under the key by which it looked. */
  learn(key: string, start: DefinedStart): void {
    if (this.#deps.intake !== null) this.#known.set(key, deepFreeze(start));
  }

  /** Accepts a run of what a key leads to; null, and nothing was accepted, when this has to be looked up. @throws DatabaseOutage. */
  async start(key: string, request: StartRequest): Promise<{ runId: string } | null> {
    const { db, intake, runs } = this.#deps;
    // What joins another transaction is committed with that.
    if (intake === null || db.isJoined) return null;
    const start = this.#known.get(key);
    if (start === undefined) return null;
    const { limits } = start;
    // Limits that drop or replace runs look at those that there are.
    if (limits !== null && limits.onLimit !== 'queue') return null;
    const payload = this.#accepts(start, request);
    if (payload === undefined || !runs.takeKnownRoom(start.tenant_id)) return null;
    const accepted = await intake.accept({
      definition: start,
      trigger: request.trigger,
      context: request.context ?? null,
      payload,
      environment: start.environment === 'test' ? 'test' : request.environment,
      depth: request.depth ?? 0,
      requestedBy: request.requestedBy ?? [],
    });
    if (accepted === null && this.#known.get(key) === start) this.#known.delete(key);
    return accepted;
  }

  /** The payload of a run that nothing known speaks against; undefined for any other. */
  #accepts(start: DefinedStart, request: StartRequest): ReturnType<typeof payloadOf> | undefined {
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

/** What many runs share is changed by none. */
function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
