import { hash } from 'node:crypto';
import { flows as flowsResource } from '../../../../shared/contract/automations/flows.ts';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import { runs as runsResource } from '../../../../shared/contract/automations/runs.ts';
import { runCallerOf } from '../../../platform/http/auth/principal.ts';
import { streamEvents } from '../../../platform/http/live/event-stream.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import { isFinal } from './again.ts';
import { asQueued } from './present.ts';
import type { Runs } from './service.ts';

/** Id of the event with which the stream of a run that has ended closes. */
const endedId = 'ended';

export const runRoutes = (runs: Runs) =>
  implement(runsResource, {
    listAutomationRuns: ({ principal, query }) => runs.list(principal.tenantId, query),
    cancelAutomationRuns: ({ principal, body }) => runs.cancelMany(principal.tenantId, body, runCallerOf(principal)),
    retryAutomationRuns: ({ principal, body }) => runs.retryMany(principal.tenantId, body, runCallerOf(principal)),
    getAutomationRun({ principal, params, query, signal, raw: { response } }) {
      const memory = runs.reader.openMemory(principal.tenantId);
      response.once('close', () => memory[Symbol.dispose]());
      // It may have closed before.
      if (response.destroyed) memory[Symbol.dispose]();
      return runs.reader.get(principal.tenantId, params.id, { waitSeconds: query.waitSeconds, signal, memory });
    },
    cancelAutomationRun: ({ principal, params }) => runs.cancel(principal.tenantId, params.id, runCallerOf(principal)),
    retryAutomationRun: ({ principal, params, query }) =>
      runs.retry(principal.tenantId, params.id, query.fromStep, runCallerOf(principal)),
    replayAutomationRun: ({ principal, params, body }) =>
      runs.replay(principal.tenantId, params.id, body.fromStep, runCallerOf(principal)),
    async streamAutomationRun({ principal, params, signal, headers, raw: { response } }) {
      // A run that there is not is an answer of its own, before the stream begins.
      const { status: statusNow } = await runs.reader.get(principal.tenantId, params.id);
      if (headers['last-event-id'] === endedId && isFinal(statusNow)) {
        // An EventSource would connect again for ever.
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
          // By hash: as texts, what many streams have shown of large runs would fill the memory.
          const shown = new Map<number, string>();
          let status: RunStatus | null = null;
          let isFirst = true;
          /** Sends what changed since the last look; answers whether the run has ended. Keeps nothing of the run. */
          const look = async () => {
            const run = await runs.reader.get(principal.tenantId, params.id, { signal: stream.signal, memory });
            // A run that begins as it is accepted is never seen in the queue; its history begins there all the same.
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
            if (await look()) return;
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
