import { queryOptions, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { client, keyOf, query } from '../../app/api.ts';
import { useRereads, useWorkspaceEvents } from '../../app/live-updates.tsx';
import { hubNow } from '../../app/now.ts';
import { isFinal } from './run-model.ts';

/** A run in progress is read again at least this often: not every reason to wait has an event. */
const pollMs = 5_000;

/** The run without its large values. The inspector reads the values of the selected step. */
export const runQuery = (runId: string) => query('getAutomationRun', { params: { id: runId }, query: { include: '' } });

/**
 * Reads a run, and again whenever it changes, until it has ended. Every part of the page shows this one response, so that
 * no part contradicts another. The workspace events of the browser's shared stream say when to read.
 */
export function useRun(runId: string) {
  const rereads = useRereads();
  const result = useQuery({
    ...runQuery(runId),
    refetchInterval: ({ state }) => (state.data === undefined || isFinal(state.data.status) ? false : pollMs),
  });
  const wait = result.data?.waitsFor;
  useWorkspaceEvents((events) => {
    const concerns = events.filter(
      (event) =>
        (event.type === 'run' && event.id === runId) ||
        ((event.type === 'step' || event.type === 'approval') && event.runId === runId) ||
        (event.type === 'node' && wait?.kind === 'node_command' && event.id === wait.nodeId),
    );
    if (concerns.length === 0) return;
    for (const { type, id } of concerns)
      if (type === 'approval' && id !== undefined) rereads.request(keyOf('getAutomationApproval', { params: { id } }));
    rereads.request(runQuery(runId).queryKey);
  });
  return result;
}

/** The time, each second while the page shows something that goes on. */
export function useClock(isRunning: boolean): number {
  const [now, setNow] = useState(hubNow);
  useEffect(() => {
    if (!isRunning) return;
    const interval = setInterval(() => setNow(hubNow()), 1_000);
    return () => clearInterval(interval);
  }, [isRunning]);
  return now;
}

/** What a run was started with, which never changes. The inputs of all steps come with it, so only these parts are kept. */
export const runInputQuery = (runId: string) =>
  queryOptions({
    queryKey: [...keyOf('getAutomationRun', { params: { id: runId } }), 'input'] as const,
    queryFn: async ({ signal }) => {
      const input = { params: { id: runId }, query: { include: 'inputs' } };
      const { payload, context } = await client.call('getAutomationRun', input, { signal });
      return { payload, context };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
