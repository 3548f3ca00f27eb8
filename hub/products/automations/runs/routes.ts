import type { ServerResponse } from 'node:http';
import type { z } from 'zod';
import { flows as flowsResource } from '../../../../shared/contract/automations/flows.ts';
import { runs as runsResource } from '../../../../shared/contract/automations/runs.ts';
import { notFound } from '../../../../shared/errors.ts';
import { runCallerOf } from '../../../platform/http/auth/principal.ts';
import { streamEvents } from '../../../platform/http/live/event-stream.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import { isFinal } from './rerun.ts';
import { endedId } from './run-events.ts';
import type { Runs } from './service.ts';
import type { RunParts } from './store.ts';
import { streamRun } from './stream.ts';

/** A response that took longer is sent only to a caller whose credential is still valid, in milliseconds. */
const recheckAfterMs = 250;

type Include = z.output<typeof runsResource.getAutomationRun.query>['include'];

const partsOf = (include: Include): RunParts => ({
  inputs: include.includes('inputs'),
  outputs: include.includes('outputs'),
  turns: include.includes('turns') ? 'unfinished' : 'none',
  indexes: null,
});

export function runRoutes(runs: Runs) {
  /** A memory reservation until the response has been sent. */
  const memoryFor = (tenantId: string, response: ServerResponse) => {
    const memory = runs.reader.openMemory(tenantId);
    response.once('close', () => memory[Symbol.dispose]());
    // The client may have disconnected earlier.
    if (response.destroyed) memory[Symbol.dispose]();
    return memory;
  };
  return implement(runsResource, {
    listAutomationRuns: ({ principal, query }) => runs.list(principal.tenantId, query),
    estimateAutomationRuns: ({ principal, query }) => runs.estimate(principal.tenantId, query),
    cancelAutomationRuns: ({ principal, body }) => runs.cancelMany(principal.tenantId, body, runCallerOf(principal)),
    retryAutomationRuns: ({ principal, body }) => runs.retryMany(principal.tenantId, body, runCallerOf(principal)),
    async getAutomationRun({ principal, params, query, signal, recheck, raw: { response } }) {
      const memory = memoryFor(principal.tenantId, response);
      const startedAt = performance.now();
      const run = await runs.reader.get(principal.tenantId, params.id, {
        waitSeconds: query.waitSeconds,
        parts: partsOf(query.include),
        signal,
        memory,
      });
      // The credential can have been revoked during the wait.
      if (performance.now() - startedAt > recheckAfterMs) await recheck();
      return run;
    },
    async getAutomationRunStep({ principal: { tenantId }, params, signal, raw: { response } }) {
      const memory = memoryFor(tenantId, response);
      const parts: RunParts & { indexes: number[] } = {
        inputs: true,
        outputs: true,
        turns: 'all',
        indexes: [params.index],
      };
      const [step] = await runs.reader.steps(tenantId, params.id, parts, { signal, memory });
      if (step === undefined) throw notFound('step', String(params.index));
      return step;
    },
    async listAutomationRunArtifacts({ principal: { tenantId }, params, query }) {
      const runId = params.id.toLowerCase();
      const found = await runs.artifacts.list(tenantId, runId, query);
      // An unknown run is answered with 404.
      if (found.data.length === 0) await runs.reader.outline(tenantId, runId);
      return found;
    },
    cancelAutomationRun: ({ principal, params }) => runs.cancel(principal.tenantId, params.id, runCallerOf(principal)),
    retryAutomationRun: ({ principal, params, query }) =>
      runs.retry(principal.tenantId, params.id, query.fromStep, runCallerOf(principal)),
    replayAutomationRun: ({ principal, params, body }) =>
      runs.replay(principal.tenantId, params.id, body, runCallerOf(principal)),
    async streamAutomationRun({ principal: { tenantId }, params, query, signal, headers, raw: { response } }) {
      const runId = params.id.toLowerCase();
      // An unknown run must be answered with 404 before the stream starts.
      const { status } = await runs.reader.outline(tenantId, runId);
      if (headers['last-event-id'] === endedId && isFinal(status)) {
        // 204 stops an EventSource from reconnecting for ever.
        response.status(204).end();
        return;
      }
      const { maxOpenSeconds: maxSeconds } = runsResource.streamAutomationRun;
      await streamEvents(response, signal, { maxSeconds }, async (stream) => {
        using follower = runs.follow(runId);
        const run = { tenantId, runId, parts: partsOf(query.include) };
        await streamRun(runs.reader, run, { stream, follower });
      });
    },
  });
}

export const flowRoutes = (runs: Runs) =>
  implement(flowsResource, {
    listAutomationFlows: ({ principal, query }) => runs.listFlows(principal.tenantId, query),
    getAutomationFlow: ({ principal, params }) => runs.getFlow(principal.tenantId, params.id),
  });
