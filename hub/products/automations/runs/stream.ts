import { hash } from 'node:crypto';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { StepResult } from '../../../../shared/contract/automations/runs.ts';
import type { Follower } from '../../../platform/events/live-topics.ts';
import type { EventStream } from '../../../platform/http/live/event-stream.ts';
import type { MemoryReservation } from '../../../platform/process/memory-budget.ts';
import { asQueued } from './present.ts';
import type { RunReader } from './reader.ts';
import { isFinal } from './rerun.ts';
import type { RunParts } from './store.ts';

/** Id of the event that closes the stream of an ended run. */
export const endedId = 'ended';

/**
 * Sends the changes of a run until it has ended. Each wake-up reads only the versions of the steps, and then the steps
 * whose version changed. The whole run is read when its status changes. Streams of the same run share these reads.
 */
export async function streamRun(
  reader: RunReader,
  { tenantId, runId, parts }: { tenantId: string; runId: string; parts: RunParts },
  { stream, follower, memory }: { stream: EventStream; follower: Follower; memory: MemoryReservation },
): Promise<void> {
  const options = { signal: stream.signal, memory, shared: true };
  let versions: ReadonlyMap<number, string> = new Map();
  // Only hashes are kept, because the texts of large runs in many streams would exhaust the memory.
  const hashes = new Map<number, string>();
  let status: RunStatus | null = null;
  /** Sends steps, except for those that were written without a change of what is sent. */
  const sendSteps = async (steps: readonly StepResult[]) => {
    for (const step of steps) {
      const seen = hash('sha256', JSON.stringify(step), 'base64');
      if (hashes.get(step.index) === seen || (step.status === 'pending' && !hashes.has(step.index))) continue;
      hashes.set(step.index, seen);
      await stream.send('step', step);
    }
  };
  /** @returns whether to wait for the next change. The function keeps no data of the run. */
  const sendChanges = async (): Promise<boolean> => {
    const outline = await reader.outline(tenantId, runId);
    const indexes = [...outline.versions.keys()].filter((index) => outline.versions.get(index) !== versions.get(index));
    if (outline.status !== status) {
      const run = await reader.get(tenantId, runId, { ...options, parts });
      // The status changed between the two reads. The steps of the outline can be older than the status.
      if (run.status !== outline.status) return false;
      // A run that starts when it is accepted is never stored as queued, but its event history starts with that state.
      if (status === null && run.status !== 'queued') await stream.send('run', asQueued(run));
      await sendSteps(run.stepsResultJson.filter(({ index }) => indexes.includes(index)));
      await stream.send('run', run, isFinal(run.status) ? endedId : undefined);
      ({ status } = run);
    } else if (indexes.length > 0) await sendSteps(await reader.steps(tenantId, runId, { ...parts, indexes }, options));
    ({ versions } = outline);
    return true;
  };
  while (!stream.signal.aborted) {
    const isCurrent = await sendChanges();
    memory.tryResize(0);
    if (status !== null && isFinal(status)) return;
    if (isCurrent) await follower.next(stream.signal);
  }
}
