import type { ChatEventType } from '../../../../shared/contract/chat/chat-events.ts';
import { AppError } from '../../../../shared/errors.ts';
import { canonicalJson } from '../../../../shared/json.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { maxRunDepth } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { Runs } from '../runs/index.ts';
import { startRun } from './start.ts';
import type { StepValidator } from './startable.ts';
import { findStartable } from './store.ts';
import { listEventWorkflows } from './triggered.ts';

/** An event in the form that workflows receive. */
export interface TriggeringEvent {
  tenantId: string;
  type: ChatEventType;
  eventId: string;
  payload: JsonObject;
  /**
   * Length of the chain of runs that led to this event. It is 0 for an event that a person caused, otherwise the depth
   * of the causing run plus one.
   */
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

/**
 * Compares other values with one value. Its canonical form is computed at most once, because a stored filter may list
 * 100,000 values.
 */
function comparison(value: JsonValue): (other: JsonValue) => boolean {
  if (typeof value !== 'object' || value === null) return (other) => other === value;
  let text: string | undefined;
  return (other) => {
    if (typeof other !== 'object' || other === null || Array.isArray(other) !== Array.isArray(value)) return false;
    text ??= canonicalJson(value);
    return canonicalJson(other) === text;
  };
}

/** Whether each field of a filter has the required value, or one of the required values, in a payload. */
export function matchesFilter(payload: JsonObject, filter: Record<string, JsonValue> | undefined): boolean {
  return Object.entries(filter ?? {}).every(([path, wanted]) => {
    const value = lookUp(payload, path);
    if (value === undefined) return false;
    const isWanted = comparison(value);
    return isWanted(wanted) || (Array.isArray(wanted) && wanted.some(isWanted));
  });
}

/**
 * Starts every workflow that subscribes to an event, in the transaction that causes the event. A live event starts no
 * test workflows, which would delay what live users do. A workflow that cannot start does not block the others.
 */
export async function startByEvent(
  tx: Transaction,
  deps: { runs: Runs; validateSteps: StepValidator; logger: Logger },
  event: TriggeringEvent,
): Promise<void> {
  let hasFollowers = false;
  const starting: string[] = [];
  // An event of the test environment starts test runs, which send nothing outside the platform.
  const environment = event.payload['environment'] === 'test' ? 'test' : 'live';
  for await (const page of listEventWorkflows(tx, event.tenantId, event.type, environment)) {
    hasFollowers ||= page.length > 0;
    for (const { id, trigger } of page)
      if (trigger.type === 'event' && matchesFilter(event.payload, trigger.event.filter)) starting.push(id);
  }
  if (!hasFollowers) return;
  if (event.depth >= maxRunDepth) {
    deps.logger.warn(
      { tenantId: event.tenantId, eventId: event.eventId, depth: event.depth },
      'an event started no workflow: the chain of runs is too long',
    );
    return;
  }
  for (const workflowId of starting) {
    try {
      // Steps are read one workflow at a time, because a workspace may have a thousand workflows.
      const workflow = await findStartable(tx, event.tenantId, workflowId);
      if (workflow === null) continue;
      await startRun(tx, deps, { ...workflow, tenantId: event.tenantId }, workflow.entitlements, {
        trigger: { type: 'event', event: event.type, eventId: event.eventId },
        payload: event.payload,
        subjectId: (event.payload as { conversation: { id: string } }).conversation.id,
        environment,
        depth: event.depth,
      });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      deps.logger.warn({ workflowId, eventId: event.eventId, err: error }, 'an event could not start a workflow');
    }
  }
}
