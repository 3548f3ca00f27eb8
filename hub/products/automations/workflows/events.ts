import type { ChatEventType } from '../../../../shared/contract/chat/chat-events.ts';
import { AppError } from '../../../../shared/errors.ts';
import { canonicalJson } from '../../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { maxRunDepth } from '../../../engine/index.ts';
import type { PromisedJob } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { Runs } from '../runs/index.ts';
import { startRun } from './start.ts';
import type { StepValidator } from './startable.ts';
import { findStartable } from './store.ts';
import { listEventWorkflows } from './triggered.ts';

/** An event as the workflows that follow it get it. */
export interface TriggeringEvent {
  tenantId: string;
  type: ChatEventType;
  eventId: string;
  payload: JsonObject;
  /** Runs that led to this event: 0 for one that a person caused, else the depth of the run that caused it and one. */
  depth: number;
}

function lookUp(payload: JsonValue, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = payload;
  for (const name of path.split('.')) {
    if (Array.isArray(value)) value = value[Number(name)];
    else if (typeof value === 'object' && value !== null && Object.hasOwn(value, name)) value = value[name];
    else return undefined;
  }
  return value;
}

/** Compares other values with one. The canonical form of that one is computed at most once: a stored filter may list 100,000 values. */
function comparison(value: JsonValue): (other: JsonValue) => boolean {
  if (typeof value !== 'object' || value === null) return (other) => other === value;
  let text: string | undefined;
  return (other) => {
    if (typeof other !== 'object' || other === null || Array.isArray(other) !== Array.isArray(value)) return false;
    text ??= canonicalJson(value);
    return canonicalJson(other) === text;
  };
}

/** Whether a payload has in each named field the value that is asked for, or one of those. */
export function matchesFilter(payload: JsonObject, filter: Record<string, JsonValue> | undefined): boolean {
  return Object.entries(filter ?? {}).every(([path, wanted]) => {
    const value = lookUp(payload, path);
    if (value === undefined) return false;
    const isWanted = comparison(value);
    return isWanted(wanted) || (Array.isArray(wanted) && wanted.some(isWanted));
  });
}

/** Starts every workflow that follows an event, in the transaction of what caused it; one that can't be started holds nothing up. */
export async function startByEvent(
  tx: Transaction,
  deps: { runs: Runs; validateSteps: StepValidator; logger: Logger },
  event: TriggeringEvent,
): Promise<{ jobs: PromisedJob[]; committed: () => void }> {
  const jobs: PromisedJob[] = [];
  const after: (() => void)[] = [];
  let hasFollowers = false;
  const starting: string[] = [];
  for await (const page of listEventWorkflows(tx, event.tenantId, event.type)) {
    hasFollowers ||= page.length > 0;
    for (const { id, trigger } of page)
      if (trigger.type === 'event' && matchesFilter(event.payload, trigger.event.filter)) starting.push(id);
  }
  if (!hasFollowers) return { jobs, committed: () => undefined };
  if (event.depth >= maxRunDepth) {
    deps.logger.warn(
      { tenantId: event.tenantId, eventId: event.eventId, depth: event.depth },
      'an event out of a loop of runs started nothing',
    );
    return { jobs, committed: () => undefined };
  }
  for (const workflowId of starting) {
    try {
      // Their steps are read one workflow at a time: a workspace may have a thousand.
      const workflow = await findStartable(tx, event.tenantId, workflowId);
      if (workflow === null) continue;
      const run = await startRun(tx, deps, { ...workflow, tenantId: event.tenantId }, workflow.entitlements, {
        trigger: { type: 'event', event: event.type, eventId: event.eventId },
        payload: event.payload,
        subjectId: (event.payload as { conversation: { id: string } }).conversation.id,
        // What happens in a test leads to nothing that leaves the platform.
        environment: event.payload['environment'] === 'test' ? 'test' : 'live',
        depth: event.depth,
      });
      jobs.push(run.job);
      after.push(run.committed);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      deps.logger.warn({ workflowId, eventId: event.eventId, err: error }, 'an event could not start a workflow');
    }
  }
  return { jobs, committed: () => after.forEach((tell) => tell()) };
}
