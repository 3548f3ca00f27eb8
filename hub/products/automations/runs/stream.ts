import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { Follower } from '../../../platform/events/live-topics.ts';
import type { SerializedEventStream } from '../../../platform/http/live/event-stream.ts';
import type { RunReader } from './reader.ts';
import { isFinal } from './rerun.ts';
import type { RunEvents } from './run-events.ts';
import type { RunParts } from './store.ts';

/**
 * Sends the changes of a run until it has ended. Each wake-up reads only the versions of the steps, and then the steps
 * whose version changed. The whole run is read when its status changes. Streams of the same run share these reads.
 */
export async function streamRun(
  reader: RunReader,
  { tenantId, runId, parts }: { tenantId: string; runId: string; parts: RunParts },
  { stream, follower }: { stream: SerializedEventStream; follower: Follower },
): Promise<void> {
  let versions: ReadonlyMap<number, string> = new Map();
  // Only hashes are kept, because the texts of large runs in many streams would exhaust the memory.
  const hashes = new Map<number, string>();
  let status: RunStatus | null = null;
  /** Sends steps, except for those that were written without a change of what is sent. */
  const sendSteps = async (steps: RunEvents['steps'], indexes: readonly number[]) => {
    for (const step of steps) {
      if (!indexes.includes(step.index) || hashes.get(step.index) === step.hash) continue;
      if (step.status === 'pending' && !hashes.has(step.index)) continue;
      hashes.set(step.index, step.hash);
      await stream.sendBytes(step.event);
    }
  };
  /** @returns whether to wait for the next change. The function keeps no data of the run. */
  const sendChanges = async (): Promise<boolean> => {
    const outline = await reader.outline(tenantId, runId);
    const indexes = [...outline.versions.keys()].filter((index) => outline.versions.get(index) !== versions.get(index));
    if (outline.status !== status) {
      using events = await reader.events(tenantId, runId, parts, { indexes: null, isFirst: status === null });
      const { queued, steps, run, ...read } = events.value;
      // The status changed between the two reads. The steps of the outline can be older than the status.
      if (read.status !== outline.status) return false;
      if (queued !== null) await stream.sendBytes(queued);
      await sendSteps(steps, indexes);
      if (run !== null) await stream.sendBytes(run);
      ({ status } = read);
    } else if (indexes.length > 0) {
      using events = await reader.events(tenantId, runId, parts, { indexes, isFirst: false });
      await sendSteps(events.value.steps, indexes);
    }
    ({ versions } = outline);
    return true;
  };
  while (!stream.signal.aborted) {
    const isCurrent = await sendChanges();
    if (status !== null && isFinal(status)) return;
    if (isCurrent) await follower.next(stream.signal);
  }
}
