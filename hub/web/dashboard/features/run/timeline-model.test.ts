import { expect, test } from 'vitest';
import type { Run, StepResult } from './run-model.ts';
import { placeOf, shownWait, ticksOf, timelineOf } from './timeline-model.ts';

const begin = Date.parse('2026-11-27T09:00:00.000Z');
const at = (seconds: number) => new Date(begin + seconds * 1000).toISOString();
const hour = 3600;

const step = (index: number, from: number | null, to: number | null, more: Partial<StepResult> = {}): StepResult => ({
  index,
  id: null,
  name: null,
  type: 'skill',
  skillId: 'node.ping',
  status: from === null ? 'pending' : to === null ? 'running' : 'succeeded',
  when: null,
  retry: null,
  timeoutSeconds: null,
  attempts: from === null ? 0 : 1,
  attemptHistory: [],
  startedAt: from === null ? null : at(from),
  finishedAt: to === null ? null : at(to),
  input: null,
  inputOmitted: false,
  output: null,
  outputText: null,
  outputBytes: 0,
  turns: null,
  error: null,
  approval: null,
  childRunId: null,
  commands: [],
  artifactIds: [],
  ...more,
});

const run = (steps: StepResult[], more: Partial<Run> = {}): Run => ({
  id: 'run',
  workflowId: 'workflow',
  workflowName: 'w',
  workflowVersion: 1,
  flowId: 'flow',
  status: 'succeeded',
  waitsFor: null,
  trigger: { type: 'manual' },
  attempt: 1,
  environment: 'live',
  parentRunId: null,
  depth: 0,
  error: null,
  queuedAt: at(0),
  startedAt: at(0),
  finishedAt: at(steps.length),
  context: null,
  payload: null,
  stepsResultJson: steps,
  ...more,
});

const command = (attempt: number, from: number, to: number): StepResult['commands'][number] => ({
  id: `command ${attempt}`,
  nodeId: 'node',
  type: 'node.ping',
  attempt,
  status: 'failed',
  createdAt: at(from),
  finishedAt: at(to),
  error: null,
});

test('a long wait for an approval folds, so that short steps keep their room', () => {
  const approval = { id: 'a', status: 'approved' as const, decider: null, decidedAt: at(2 * hour), note: null };
  const steps = [step(0, 0, 1), step(1, 1, 2 * hour, { type: 'approval', approval }), step(2, 2 * hour, 2 * hour + 1)];
  const timeline = timelineOf(
    run(steps, { finishedAt: at(2 * hour + 1) }),
    [{ stepIndex: 1, from: begin + 1000, to: begin + 2 * hour * 1000, who: 'ann@harbour.example' }],
    Number.NaN,
  );
  expect(timeline.stretches.map(({ isFold }) => isFold)).toEqual([false, true, false]);
  expect(timeline.lanes[1]?.segments).toMatchObject([{ tone: 'wait', reason: 'approval', who: 'ann@harbour.example' }]);
  const place = (seconds: number) => placeOf(timeline.stretches, begin + seconds * 1000);
  expect(place(1)).toBeCloseTo(0.44);
  expect(place(2 * hour)).toBeCloseTo(0.56);
  expect(place(2 * hour + 1)).toBeCloseTo(1);
  expect([timeline.workingMs, timeline.waitingMs]).toEqual([2_000, 2 * hour * 1000 - 1_000]);
  expect(ticksOf(timeline).map(({ ms }) => ms)).toContain(2 * hour * 1000);
});

const attempt = (number: number, from: number, to: number | null, hasFailed = false) => ({
  attempt: number,
  startedAt: at(from),
  finishedAt: to === null ? null : at(to),
  error: hasFailed ? { code: 'skill_failed', message: 'no' } : null,
  commandIds: [],
});
const partsOf = (only: StepResult, more: Partial<Run>, now: number) => {
  const [lane] = timelineOf(run([only], more), [], begin + now * 1000).lanes;
  return lane?.segments.map(({ tone, from, to }) => [tone, (from - begin) / 1000, (to - begin) / 1000]);
};

test.each(['skill', 'agent'])('each attempt of a step of type %s has its own bar', (type) => {
  const attemptHistory = [attempt(1, 0, 1, true), attempt(2, 3, 4, true), attempt(3, 8, 9)];
  const ended = step(0, 0, 9, { type, attempts: 3, attemptHistory });
  const known = [
    ['failed', 0, 1],
    ['wait', 1, 3],
    ['failed', 3, 4],
    ['wait', 4, 8],
  ];
  expect(partsOf(ended, { finishedAt: at(9) }, 9)).toEqual([...known, ['succeeded', 8, 9]]);
  const waiting = step(0, 0, null, { type, attempts: 2, attemptHistory: attemptHistory.slice(0, 2) });
  const waitsFor = { kind: 'retry' as const, stepIndex: 0, until: at(8) };
  expect(partsOf(waiting, { status: 'running', finishedAt: null, waitsFor }, 6)).toEqual([
    ...known.slice(0, 3),
    ['wait', 4, 6],
  ]);
  const waitingForSecond = step(0, 0, null, { type, attemptHistory: attemptHistory.slice(0, 1) });
  expect(partsOf(waitingForSecond, { status: 'running', finishedAt: null, waitsFor }, 2)).toEqual([
    ['failed', 0, 1],
    ['wait', 1, 2],
  ]);
  const cancelled = step(0, 0, 2, { type, status: 'failed', attemptHistory: attemptHistory.slice(0, 1) });
  expect(partsOf(cancelled, { status: 'cancelled', finishedAt: at(2) }, 2)).toEqual([
    ['failed', 0, 1],
    ['wait', 1, 2],
  ]);
  const running = step(0, 0, null, {
    type,
    attempts: 3,
    attemptHistory: [...attemptHistory.slice(0, 2), attempt(3, 8, null)],
  });
  expect(partsOf(running, { status: 'running', finishedAt: null }, 10)).toEqual([...known, ['running', 8, 10]]);
});

test('attempts with node commands have their own bars, and the pauses between them are waits', () => {
  const steps = [step(0, 0, 5, { attempts: 2, commands: [command(1, 0, 1), command(2, 4, 5)] })];
  const [lane] = timelineOf(run(steps, { finishedAt: at(5) }), [], Number.NaN).lanes;
  expect(lane?.segments.map(({ tone, from, to }) => [tone, (from - begin) / 1000, (to - begin) / 1000])).toEqual([
    ['failed', 0, 1],
    ['wait', 1, 4],
    ['succeeded', 4, 5],
  ]);
});

test('a step that a retry kept from an earlier run has no bar and does not stretch the axis', () => {
  const steps = [step(0, -9 * hour, -8 * hour), step(1, 0, 1)];
  const timeline = timelineOf(run(steps, { attempt: 2, finishedAt: at(1) }), [], Number.NaN);
  expect(timeline.lanes.map(({ isKept, segments }) => [isKept, segments.length])).toEqual([
    [true, 0],
    [false, 1],
  ]);
  expect(timeline.origin).toBe(begin);
});

test('a run that waits for an offline node shows the wait up to now', () => {
  const waitsFor: Run['waitsFor'] = {
    kind: 'node_command',
    stepIndex: 0,
    commandId: 'command 1',
    nodeId: 'node',
    nodeName: 'boat-pc',
    nodeOnline: false,
    handedOut: false,
    waitsForOwner: false,
    until: at(hour),
  };
  const pending = { ...command(1, 1, 1), status: 'pending' as const, finishedAt: null };
  const running = run([step(0, 0, null, { commands: [pending] })], { status: 'running', finishedAt: null, waitsFor });
  const { lanes, workingMs } = timelineOf(running, [], begin + hour * 1000);
  expect(lanes[0]?.segments).toMatchObject([
    { tone: 'running', from: begin, to: begin + 1000 },
    { tone: 'wait', reason: 'node', from: begin + 1000, to: begin + hour * 1000 },
  ]);
  expect(workingMs).toBe(1_000);
});

test('a command that its node has leased is work, and a wait while the owner of the node must allow it', () => {
  const wait = (waitsForOwner: boolean): Run['waitsFor'] => ({
    kind: 'node_command',
    stepIndex: 0,
    commandId: 'command 1',
    nodeId: 'node',
    nodeName: 'boat-pc',
    nodeOnline: true,
    handedOut: true,
    waitsForOwner,
    until: at(hour),
  });
  const leased = { ...command(1, 1, 1), status: 'leased' as const, finishedAt: null };
  const tones = (waitsForOwner: boolean) => {
    const steps = [step(0, 0, null, { commands: [leased] })];
    const running = run(steps, { status: 'running', finishedAt: null, waitsFor: wait(waitsForOwner) });
    return timelineOf(running, [], begin + 10_000).lanes[0]?.segments.map(({ tone, reason }) => [tone, reason]);
  };
  expect(tones(false)).toEqual([['running', undefined]]);
  expect(tones(true)).toEqual([
    ['running', undefined],
    ['wait', 'owner'],
  ]);
});

test('a lane names the wait that goes on now, and after the end the longest one', () => {
  const waitsFor: Run['waitsFor'] = {
    kind: 'node_command',
    stepIndex: 0,
    commandId: 'command 1',
    nodeId: 'node',
    nodeName: 'boat-pc',
    nodeOnline: true,
    handedOut: true,
    waitsForOwner: true,
    until: at(hour),
  };
  const approval = { id: 'a', status: 'approved' as const, decider: null, decidedAt: at(100), note: null };
  const approvals = [{ stepIndex: 0, from: begin, to: begin + 100_000, who: 'ann@harbour.example' }];
  const leased = { ...command(1, 100, 100), status: 'leased' as const, finishedAt: null };
  const waiting = run([step(0, 0, null, { approval, commands: [leased] })], {
    status: 'running',
    finishedAt: null,
    waitsFor,
  });
  const waitIn = (each: Run) => {
    const [lane] = timelineOf(each, approvals, begin + 102_000).lanes;
    const wait = lane === undefined ? null : shownWait(lane);
    return [wait?.ms, wait?.segment.reason, wait?.segment.who];
  };
  expect(waitIn(waiting)).toEqual([2_000, 'owner', undefined]);
  const ended = run([step(0, 0, 102, { approval, commands: [command(1, 100, 102)] })], { finishedAt: at(102) });
  expect(waitIn(ended)).toEqual([100_000, 'approval', 'ann@harbour.example']);
});

test('working and waiting are the parts of the time from the start to the end, and the queue before is not', () => {
  const ended = run([step(0, 10, 11), step(1, 11.5, 12)], { startedAt: at(10), finishedAt: at(13) });
  const { totalMs, workingMs, waitingMs, queuedMs, stretches } = timelineOf(ended, [], Number.NaN);
  expect({ totalMs, workingMs, waitingMs, queuedMs }).toEqual({
    totalMs: 3_000,
    workingMs: 1_500,
    waitingMs: 1_500,
    queuedMs: 10_000,
  });
  expect(stretches.at(-1)?.to).toBe(begin + 13_000);
  const queued = run([step(0, null, null)], { status: 'queued', startedAt: null, finishedAt: null });
  expect(timelineOf(queued, [], begin + 5_000)).toMatchObject({ totalMs: 5_000, workingMs: 0, waitingMs: 5_000 });
});
