import { hash } from 'node:crypto';
import type { RunStatus, StepStatus } from '../../../../shared/contract/automations/run-status.ts';
import { eventBytes } from '../../../platform/http/live/event-stream.ts';
import type { MemoryReservation } from '../../../platform/process/memory-budget.ts';
import { asQueued, presentRun, presentSteps } from './present.ts';
import { isFinal } from './rerun.ts';
import type { FoundRun } from './store.ts';

/** Id of the event that closes the stream of an ended run. */
export const endedId = 'ended';

interface StepEvent {
  index: number;
  status: StepStatus;
  /** Hash of the step result. */
  hash: string;
  event: Buffer;
}

/** Events of a run, serialized once for all streams that read it at the same time. */
export interface RunEvents {
  status: RunStatus;
  /** The first event of a stream; null when no caller needs it. */
  queued: Buffer | null;
  steps: StepEvent[];
  /** Null when only steps were read. */
  run: Buffer | null;
  /** Size of all events. */
  bytes: number;
  memory: MemoryReservation;
}

/** The parts of the events that a stream needs. */
export interface WantedEvents {
  /** The steps by index, without the run; null for the run and all steps. */
  indexes: readonly number[] | null;
  /** Whether the stream has sent nothing yet. */
  isFirst: boolean;
}

export function serializeRun(
  found: FoundRun,
  { indexes, isFirst }: WantedEvents,
  memory: MemoryReservation,
): RunEvents {
  const run = presentRun(found);
  const results = indexes === null ? run.stepsResultJson : presentSteps(found, indexes);
  const steps = results.map((step) => {
    const json = JSON.stringify(step);
    const { index, status } = step;
    return { index, status, hash: hash('sha256', json, 'base64'), event: eventBytes('step', json) };
  });
  // A run that starts when it is accepted is never stored as queued, but its event history starts with that state.
  const queued = isFirst && run.status !== 'queued' ? eventBytes('run', JSON.stringify(asQueued(run))) : null;
  const whole =
    indexes === null ? eventBytes('run', JSON.stringify(run), isFinal(run.status) ? endedId : undefined) : null;
  const all = [queued, whole, ...steps.map(({ event }) => event)];
  const bytes = all.reduce((sum, event) => sum + (event?.length ?? 0), 0);
  return { status: run.status, queued, steps, run: whole, bytes, memory };
}
