import { useEffect, useState } from 'react';
import { background } from '../../../../../shared/web/background.ts';
import { client } from '../../app/api.ts';
import { followStream } from '../../app/follow-stream.ts';
import type { StepResult } from './run-model.ts';

export type AgentTurns = NonNullable<StepResult['turns']>;

/**
 * The turns of an agent step while it runs; null before the first response. Workspace events do not announce turns, so
 * they come from the stream of the run, which is open only while they are shown.
 */
export function useLiveTurns(runId: string, { index, startedAt, finishedAt }: StepResult): AgentTurns | null {
  const [turns, setTurns] = useState<AgentTurns | null>(null);
  const isLive = startedAt !== null && finishedAt === null;
  useEffect(() => {
    if (!isLive) return;
    const stop = new AbortController();
    setTurns(null);
    const stream = {
      open: (signal: AbortSignal) =>
        client.open('streamAutomationRun', { params: { id: runId }, query: { include: 'turns' } }, { signal }),
      onEvent: ({ event, data }: { event: string; data: string }) => {
        if (event !== 'step') return;
        const step = JSON.parse(data) as StepResult;
        if (step.index === index && step.turns !== null) setTurns(step.turns);
      },
    };
    background(followStream(stream, stop.signal));
    return () => stop.abort();
  }, [runId, index, isLive]);
  return turns;
}
