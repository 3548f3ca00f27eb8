import { hash } from 'node:crypto';
import { flows as flowsResource } from '../../../../shared/contract/automations/flows.ts';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import { runs as runsResource } from '../../../../shared/contract/automations/runs.ts';
import { runCallerOf } from '../../../platform/http/auth/principal.ts';
import { streamEvents } from '../../../platform/http/live/event-stream.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import { asQueued } from './present.ts';
import { isFinal } from './rerun.ts';
import type { Runs } from './service.ts';

/** Id of the event that closes the stream of an ended run. */
const endedId = 'ended';

/** A response that took longer is sent only to a caller whose credential is still valid, in milliseconds. */
const recheckAfterMs = 250;

export const runRoutes = (runs: Runs) =>
  implement(runsResource, {
    listAutomationRuns: ({ principal, query }) => runs.list(principal.tenantId, query),
    estimateAutomationRuns: ({ principal, query }) => runs.estimate(principal.tenantId, query),
    cancelAutomationRuns: ({ principal, body }) => runs.cancelMany(principal.tenantId, body, runCallerOf(principal)),
    retryAutomationRuns: ({ principal, body }) => runs.retryMany(principal.tenantId, body, runCallerOf(principal)),
    async getAutomationRun({ principal, params, query, signal, recheck, raw: { response } }) {
      const memory = runs.reader.openMemory(principal.tenantId);
      response.once('close', () => memory[Symbol.dispose]());
      // The client may have disconnected earlier.
      if (response.destroyed) memory[Symbol.dispose]();
      const startedAt = performance.now();
      const run = await runs.reader.get(principal.tenantId, params.id, {
        waitSeconds: query.waitSeconds,
        signal,
        memory,
      });
      // The credential can have been revoked during the wait.
      if (performance.now() - startedAt > recheckAfterMs) await recheck();
      return run;
    },
    cancelAutomationRun: ({ principal, params }) => runs.cancel(principal.tenantId, params.id, runCallerOf(principal)),
    retryAutomationRun: ({ principal, params, query }) =>
      runs.retry(principal.tenantId, params.id, query.fromStep, runCallerOf(principal)),
    replayAutomationRun: ({ principal, params, body }) =>
      runs.replay(principal.tenantId, params.id, body.fromStep, runCallerOf(principal)),
    async streamAutomationRun({ principal, params, signal, headers, raw: { response } }) {
      // An unknown run must be answered with 404 before the stream starts.
      const { status: statusNow } = await runs.reader.get(principal.tenantId, params.id);
      if (headers['last-event-id'] === endedId && isFinal(statusNow)) {
        // 204 stops an EventSource from reconnecting for ever.
        response.status(204).end();
        return;
      }
      await streamEvents(
        response,
        signal,
        { maxSeconds: runsResource.streamAutomationRun.maxOpenSeconds },
        async (stream) => {
          using follower = runs.follow(params.id);
          using memory = runs.reader.openMemory(principal.tenantId);
          // Only hashes are kept, because the texts of large runs in many streams would exhaust the memory.
          const shown = new Map<number, string>();
          let status: RunStatus | null = null;
          let isFirst = true;
          /** Sends the changes since the last read. @returns whether the run has ended. It keeps no data of the run. */
          const sendChanges = async () => {
            const run = await runs.reader.get(principal.tenantId, params.id, { signal: stream.signal, memory });
            // A run that starts when it is accepted is never stored as queued, but its event history starts with that
            // state.
            if (isFirst && run.status !== 'queued') await stream.send('run', asQueued(run));
            isFirst = false;
            for (const step of run.stepsResultJson) {
              const seen = hash('sha256', JSON.stringify(step), 'base64');
              if (shown.get(step.index) === seen || (step.status === 'pending' && !shown.has(step.index))) continue;
              shown.set(step.index, seen);
              await stream.send('step', step);
            }
            if (run.status !== status) {
              status = run.status;
              await stream.send('run', run, isFinal(status) ? endedId : undefined);
            }
            memory.tryResize(0);
            return isFinal(status);
          };
          while (!stream.signal.aborted) {
            if (await sendChanges()) return;
            await follower.next(stream.signal);
          }
        },
      );
    },
  });

export const flowRoutes = (runs: Runs) =>
  implement(flowsResource, {
    listAutomationFlows: ({ principal, query }) => runs.listFlows(principal.tenantId, query),
    getAutomationFlow: ({ principal, params }) => runs.getFlow(principal.tenantId, params.id),
  });
