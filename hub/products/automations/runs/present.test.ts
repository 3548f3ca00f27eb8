import { describe, expect, test } from 'vitest';
import { asQueued, presentRun } from './present.ts';
import type { FoundRun, RunStepRow } from './store.ts';

const queuedAt = new Date('2026-03-01T10:00:00.000Z');

const succeeded = (index: number, finishedAt: Date): RunStepRow => ({
  index,
  status: 'succeeded',
  attempts: 1,
  input: null,
  input_omitted: null,
  output: null,
  output_text: null,
  output_bytes: 0,
  error: null,
  started_at: finishedAt,
  finished_at: finishedAt,
  retried_attempts: null,
  attempt_started_at: null,
  approval: null,
  child_run_id: null,
  commands: null,
  artifact_ids: null,
});

const running = (attempt: number, results: RunStepRow[]): FoundRun => ({
  id: 'r',
  workflowId: 'w',
  workflowName: 'w',
  workflowVersion: 1,
  flowId: 'f',
  status: 'running',
  wait: null,
  trigger: { type: 'manual' },
  attempt,
  environment: 'live',
  parentRunId: null,
  depth: 0,
  error: null,
  queuedAt,
  startedAt: queuedAt,
  finishedAt: null,
  context: null,
  payload: null,
  steps: [
    { type: 'log', level: 'info', message: 'x' },
    { type: 'log', level: 'info', message: 'y' },
  ],
  results,
});

const queuedStatuses = (run: FoundRun) => asQueued(presentRun(run)).stepsResultJson.map(({ status }) => status);

describe('a run as it was queued', () => {
  test.each([0, -50])('has no finished steps if the first one finished %d ms after the acceptance', (ms) => {
    const run = running(1, [succeeded(0, new Date(queuedAt.getTime() + ms))]);
    expect(presentRun(run).stepsResultJson.map(({ status }) => status)).toEqual(['succeeded', 'pending']);
    expect(queuedStatuses(run)).toEqual(['pending', 'pending']);
  });

  test('has the steps that a retry keeps, without those that the retry itself finished', () => {
    const run = running(2, [succeeded(0, new Date(queuedAt.getTime() - 1_000)), succeeded(1, queuedAt)]);
    expect(queuedStatuses(run)).toEqual(['succeeded', 'pending']);
  });
});
