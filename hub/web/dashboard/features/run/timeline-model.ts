import { beginOf, isKept } from './run-model.ts';
import type { Run, StepResult } from './run-model.ts';

/** Why a step waited. `node`, `owner`, `retry`, `delay` and `run` are known only while the run waits. */
export type WaitReason = 'approval' | 'node' | 'owner' | 'retry' | 'delay' | 'run';
export type SegmentTone = 'succeeded' | 'failed' | 'running' | 'wait';

/** A part of a lane: an attempt that works, or a wait. Times are in milliseconds since 1970. */
export interface Segment {
  tone: SegmentTone;
  from: number;
  to: number;
  reason?: WaitReason;
  /** Who decided, or can decide, an approval; empty when everybody with the permission can. */
  who?: string;
}

export interface Lane {
  step: StepResult;
  segments: Segment[];
  isKept: boolean;
}

/** An approval of the run. A step of an agent can have several. */
export interface ApprovalSpan {
  stepIndex: number;
  from: number;
  /** Time of the decision; null while it is pending. */
  to: number | null;
  who: string;
}

interface Span {
  from: number;
  to: number;
}

const timeOf = (at: string) => Date.parse(at);

/** The parts of a span that none of the others covers. */
function without({ from, to }: Span, others: readonly Span[]): Span[] {
  const rest: Span[] = [];
  let at = from;
  for (const other of others.toSorted((one, two) => one.from - two.from)) {
    if (other.from > at) rest.push({ from: at, to: Math.min(other.from, to) });
    at = Math.max(at, other.to);
    if (at >= to) return rest;
  }
  rest.push({ from: at, to });
  return rest;
}

const waitReasons: Partial<Record<NonNullable<Run['waitsFor']>['kind'], WaitReason>> = {
  node_command: 'node',
  retry: 'retry',
  delay: 'delay',
  run: 'run',
};

/** The wait that the run reports now, for the step that waits. Approvals are known exactly from their own times. */
function presentWait(run: Run, step: StepResult, since: number, now: number): Segment | null {
  const wait = run.waitsFor;
  if (wait === null || !('stepIndex' in wait) || wait.stepIndex !== step.index) return null;
  const waitsForOwner = wait.kind === 'node_command' && wait.waitsForOwner;
  const reason = waitsForOwner ? 'owner' : waitReasons[wait.kind];
  // A command that the node has leased is work, unless the owner of the node must allow it first.
  if (reason === undefined || (wait.kind === 'node_command' && wait.handedOut && !waitsForOwner)) return null;
  const command = step.commands.at(-1);
  const lastEnd = step.attemptHistory.at(-1)?.finishedAt ?? command?.finishedAt ?? null;
  const from = Math.max(
    since,
    lastEnd === null ? (command === undefined ? 0 : timeOf(command.createdAt)) : timeOf(lastEnd),
  );
  return { tone: 'wait', from, to: Math.max(from, now), reason };
}

/** Start and end of each attempt. Of steps that an earlier release executed, only node commands tell them. */
function attemptsOf(step: StepResult, span: Span): { span: Span; hasFailed: boolean }[] {
  const history = step.attemptHistory;
  if (step.attempts > 0 && history.length === step.attempts && history.every(({ startedAt }) => startedAt !== null))
    return history.map(({ startedAt, finishedAt, error }, position) => ({
      span: {
        from: position === 0 ? span.from : timeOf(startedAt as string),
        to: finishedAt === null ? span.to : timeOf(finishedAt),
      },
      hasFailed: error !== null,
    }));
  const numbers = [...new Set(step.commands.map(({ attempt }) => attempt))];
  if (step.attempts < 2 || numbers.length < 2 || step.type === 'agent')
    return [{ span, hasFailed: step.status === 'failed' }];
  return numbers.map((number, position) => {
    const commands = step.commands.filter(({ attempt }) => attempt === number);
    const isLast = position === numbers.length - 1;
    const from = position === 0 ? span.from : Math.min(...commands.map(({ createdAt }) => timeOf(createdAt)));
    const ends = commands.map(({ finishedAt }) => (finishedAt === null ? span.to : timeOf(finishedAt)));
    return {
      span: { from, to: isLast ? span.to : Math.max(...ends) },
      hasFailed: isLast ? step.status === 'failed' : true,
    };
  });
}

function laneOf(run: Run, step: StepResult, approvals: readonly ApprovalSpan[], since: number, now: number): Lane {
  if (isKept(step, run)) return { step, segments: [], isKept: true };
  const ended = run.finishedAt === null ? now : timeOf(run.finishedAt);
  if (step.startedAt === null || step.status === 'skipped') {
    const wait = step.status === 'skipped' ? null : presentWait(run, step, since, now);
    return { step, segments: wait === null ? [] : [wait], isKept: false };
  }
  const from = timeOf(step.startedAt);
  const span = { from, to: Math.max(from, step.finishedAt === null ? ended : timeOf(step.finishedAt)) };
  const known = approvals.filter(({ stepIndex }) => stepIndex === step.index);
  // Until the approvals are read, the wait is known only from the step.
  const decidedAt = step.approval?.decidedAt ?? null;
  const assumed = { stepIndex: step.index, from, to: decidedAt === null ? null : timeOf(decidedAt), who: '' };
  const waits: Segment[] = (known.length === 0 && step.approval !== null ? [assumed] : known)
    .map((approval) => ({
      tone: 'wait' as const,
      from: Math.max(span.from, approval.from),
      to: Math.min(span.to, approval.to ?? span.to),
      reason: 'approval' as const,
      who: approval.who,
    }))
    .filter((wait) => wait.to > wait.from);
  const present = presentWait(run, step, from, now);
  if (present !== null) waits.push({ ...present, to: Math.min(present.to, span.to) });
  const attempts = attemptsOf(step, span);
  const tone: SegmentTone = step.status === 'succeeded' ? 'succeeded' : step.status === 'failed' ? 'failed' : 'running';
  const work = attempts.flatMap((attempt) =>
    without(attempt.span, waits)
      // An approval step only waits.
      .filter((part) => part.to > part.from || (waits.length === 0 && part.to === part.from))
      .map((part): Segment => ({ ...part, tone: attempt.hasFailed ? 'failed' : tone })),
  );
  const pauses = without(span, [...attempts.map((attempt) => attempt.span), ...waits])
    .filter((pause) => pause.to > pause.from)
    .map((pause): Segment => ({ ...pause, tone: 'wait', reason: 'retry' }));
  const segments = [...work, ...pauses, ...waits].toSorted((one, two) => one.from - two.from || one.to - two.to);
  return { step, segments, isKept: false };
}

/** The wait that the text of a lane names: the present one, else the longest one with the time of all. */
export function shownWait({ step, segments }: Lane): { ms: number; segment: Segment } | null {
  const waits = segments.filter(({ tone }) => tone === 'wait');
  const last = segments.at(-1);
  if (step.finishedAt === null && last?.tone === 'wait') return { ms: lengthOf([last]), segment: last };
  const longest = waits.toSorted((one, two) => lengthOf([two]) - lengthOf([one]))[0];
  return longest === undefined ? null : { ms: lengthOf(waits), segment: longest };
}

/** A stretch of the axis. A fold shows a long time in which nothing worked in little room. */
export interface Stretch extends Span {
  isFold: boolean;
  /** Place on the axis, from 0 to 1. */
  start: number;
  size: number;
}

export interface Timeline {
  lanes: Lane[];
  stretches: Stretch[];
  origin: number;
  /** From the begin of the run to its end, or until now; `workingMs` and `waitingMs` are its parts. */
  totalMs: number;
  workingMs: number;
  waitingMs: number;
  /** Time in the queue before the start, which is no part of `totalMs`. */
  queuedMs: number;
}

/** The smallest idle time that folds, in milliseconds, and as a part of the time in which steps worked. */
const minFoldMs = 1_000;
const minFoldPart = 0.3;
/** Room of a fold, and of all of them, as a part of the axis. */
const foldSize = 0.12;
const maxFoldsSize = 0.5;

function union(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const span of spans.toSorted((one, two) => one.from - two.from)) {
    const last = result.at(-1);
    if (last !== undefined && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else result.push({ from: span.from, to: span.to });
  }
  return result;
}

const lengthOf = (spans: readonly Span[]) => spans.reduce((sum, { from, to }) => sum + to - from, 0);

function stretchesOf(range: Span, work: readonly Span[]): Stretch[] {
  const workMs = lengthOf(work);
  const folds = without(range, work).filter(
    (gap) => gap.to - gap.from > minFoldMs && gap.to - gap.from > workMs * minFoldPart,
  );
  const linear = without(range, folds).filter(({ from, to }) => to > from);
  const linearMs = lengthOf(linear);
  const each =
    folds.length === 0 ? 0 : linearMs === 0 ? 1 / folds.length : Math.min(foldSize, maxFoldsSize / folds.length);
  const perMs = linearMs === 0 ? 0 : (1 - each * folds.length) / linearMs;
  let start = 0;
  return [...folds.map((span) => ({ ...span, isFold: true })), ...linear.map((span) => ({ ...span, isFold: false }))]
    .toSorted((one, two) => one.from - two.from)
    .map((span) => {
      const size = span.isFold ? each : (span.to - span.from) * perMs;
      const stretch = { ...span, start, size };
      start += size;
      return stretch;
    });
}

/** Lays the steps of a run out on one axis. */
export function timelineOf(run: Run, approvals: readonly ApprovalSpan[], now: number): Timeline {
  const begin = timeOf(beginOf(run));
  let since = begin;
  const lanes = run.stepsResultJson.map((step) => {
    const lane = laneOf(run, step, approvals, since, now);
    since = Math.max(since, ...lane.segments.map(({ to }) => to));
    return lane;
  });
  const segments = lanes.flatMap((lane) => lane.segments);
  const work = union(segments.filter(({ tone }) => tone !== 'wait'));
  const origin = Math.min(begin, ...segments.map(({ from }) => from));
  const end = run.finishedAt === null ? now : timeOf(run.finishedAt);
  const range = { from: origin, to: Math.max(origin + 1, end, ...segments.map(({ to }) => to)) };
  const workingMs = lengthOf(work);
  const totalMs = Math.max(0, end - begin);
  return {
    lanes,
    stretches: stretchesOf(range, work),
    origin,
    totalMs,
    workingMs,
    waitingMs: Math.max(0, totalMs - workingMs),
    queuedMs: run.startedAt === null ? 0 : Math.max(0, timeOf(run.startedAt) - timeOf(run.queuedAt)),
  };
}

/** The place of a time on the axis, from 0 to 1. */
export function placeOf(stretches: readonly Stretch[], time: number): number {
  const stretch = stretches.find(({ to }) => time <= to);
  if (stretch === undefined) return 1;
  const length = stretch.to - stretch.from;
  return stretch.start + (length === 0 ? 0 : Math.max(0, (time - stretch.from) / length) * stretch.size);
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const niceSteps = [
  ...[1, 10, 100].flatMap((count) => [count, 2 * count, 5 * count]),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 5, 10, 30].map((count) => count * day),
];
/** Smallest distance of two labels, as a part of the axis. */
const minTickDistance = 0.14;

/**
 * Labels of the axis: the time since the start, in milliseconds.
 * @param minDistance smallest distance of two labels, as a part of the axis.
 */
export function ticksOf(
  { stretches, origin }: Timeline,
  minDistance = minTickDistance,
): { place: number; ms: number }[] {
  const ticks: { place: number; ms: number }[] = [];
  const add = (place: number, ms: number) => {
    const last = ticks.at(-1);
    if (place < 0.85 && (last === undefined || place - last.place >= minDistance)) ticks.push({ place, ms });
  };
  for (const { from, to, isFold, start, size } of stretches) {
    if (isFold) continue;
    const perPlace = (to - from) / size;
    const step = niceSteps.find((length) => length >= perPlace * minDistance * 1.4) ?? perPlace;
    if (from !== origin) {
      // The time since the start is long after a fold, so one label has to do, and it needs more room.
      if (size >= minDistance * 1.4) add(start, from - origin);
      continue;
    }
    // The end of the stretch is left free for the label of a fold.
    const last = start + size - minDistance * 0.7;
    for (let ms = 0; ms === 0 || start + ms / perPlace < last; ms += step) add(start + ms / perPlace, ms);
  }
  return ticks;
}
