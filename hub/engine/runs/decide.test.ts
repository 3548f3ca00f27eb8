import { describe, expect, test } from 'vitest';
import type { Step } from '../../../shared/contract/automations/steps.ts';
import { StepFailure } from '../failure.ts';
import { decide, deathsAt, outcomeOfFailedWrite, refusalOf } from './decide.ts';
import type { Decision, FinalOutcome, Situation, StepEnd } from './decide.ts';
import { maxRunOutputBytes, outputBytesOf } from './run-outputs.ts';
import type { ClaimedRun } from './store.ts';

const step = (rest: Partial<Step> = {}) => ({ type: 'skill', skillId: 'test.skill', input: {}, ...rest }) as Step;

interface Options extends Partial<Omit<Situation, 'run'>> {
  run?: Partial<Situation['run']>;
}

const situation = ({ run = {}, ...rest }: Options = {}): Situation => ({
  run: {
    steps: [step(), step()],
    parent_run_id: null,
    workflow_id: 'workflow',
    error_workflow_id: null,
    trigger: { type: 'manual' },
    ...run,
  },
  index: 0,
  retry: undefined,
  otherOutputBytes: 0,
  ...rest,
});

type Succeeded = Extract<FinalOutcome, { kind: 'succeeded' }>;
const succeeded = (rest: Partial<Succeeded> = {}): Succeeded => ({
  kind: 'succeeded',
  attempt: 1,
  output: { a: 1 },
  outputText: 'a',
  effect: 'pure',
  rows: [],
  ...rest,
});
const failed = (attempt = 1, options: Partial<ConstructorParameters<typeof StepFailure>[2]> = {}): FinalOutcome => ({
  kind: 'failed',
  attempt,
  failure: new StepFailure('timeout', 'It took too long.', { retryable: true, ...options }),
});

function ended(decision: Decision): StepEnd {
  if (decision.kind !== 'end') throw new Error('the step is retried');
  return decision;
}

describe('a step that succeeds', () => {
  test('moves the run to the next step, and ends the run if it is the last step', () => {
    const first = ended(decide(situation(), succeeded()));
    expect(first.advance).toEqual({ fromStep: 0, nextStep: 1, ends: null, error: null });
    expect(first.record).toEqual({
      index: 0,
      status: 'succeeded',
      attempts: 1,
      wait: null,
      state: null,
      output: { a: 1 },
      outputText: 'a',
      outputBytes: outputBytesOf({ a: 1 }, 'a'),
      error: null,
      finished: true,
    });
    const last = ended(decide(situation({ index: 1 }), succeeded()));
    expect(last.advance).toEqual({ fromStep: 1, nextStep: 2, ends: 'succeeded', error: null });
  });

  test.each([
    ['pure', 0, { write: 'deferred', durable: false, completesIntent: false }],
    ['keyed', 0, { write: 'deferred', durable: true, completesIntent: true }],
    ['once', 0, { write: 'batched', durable: true, completesIntent: true }],
    ['pure', 1, { write: 'batched', durable: true, completesIntent: false }],
    ['keyed', 1, { write: 'batched', durable: true, completesIntent: true }],
    ['once', 1, { write: 'batched', durable: true, completesIntent: true }],
  ] as const)('with the effect %s as step %d is written as its effect requires', (effect, index, expected) => {
    expect(ended(decide(situation({ index }), succeeded({ effect })))).toMatchObject(expected);
  });

  test('is written in a transaction of its own if that transaction writes more', () => {
    const persist = () => Promise.resolve();
    expect(ended(decide(situation(), succeeded({ persist })))).toMatchObject({ write: 'alone', persist });
    const child = { parent_run_id: 'parent' };
    expect(ended(decide(situation({ run: child }), succeeded())).write).toBe('deferred');
    expect(ended(decide(situation({ run: child, index: 1 }), succeeded())).write).toBe('alone');
  });

  test('fails if its output exceeds the limit of the run, and is not retried', () => {
    const bytes = outputBytesOf({ a: 1 }, 'a');
    const retry = { maxAttempts: 5, backoffSeconds: 1, factor: 1 };
    const most = situation({ otherOutputBytes: maxRunOutputBytes - bytes, retry });
    expect(ended(decide(most, succeeded())).record.status).toBe('succeeded');
    const tooMuch = situation({ otherOutputBytes: maxRunOutputBytes - bytes + 1, retry });
    expect(ended(decide(tooMuch, succeeded()))).toMatchObject({
      advance: { nextStep: 0, ends: 'failed', error: { code: 'run_outputs_too_large', stepIndex: 0 } },
      record: { status: 'failed', output: null, outputBytes: 0 },
    });
  });

  test('has its text truncated to whole characters', () => {
    const text = `${'a'.repeat(199_999)}😀`;
    const { outputText } = ended(decide(situation(), succeeded({ outputText: text }))).record;
    expect(outputText).toBe(`${'a'.repeat(199_999)}\ufffd`);
  });
});

test('a skipped step moves the run on without an output', () => {
  expect(ended(decide(situation(), { kind: 'skipped', attempt: 0 }))).toMatchObject({
    advance: { nextStep: 1, ends: null },
    record: { status: 'skipped', attempts: 0, output: null, outputText: null, outputBytes: 0, finished: true },
    write: 'deferred',
    durable: false,
  });
});

describe('a step that fails', () => {
  test('fails the run at this step, so that a retry continues there', () => {
    expect(ended(decide(situation(), failed()))).toMatchObject({
      advance: { fromStep: 0, nextStep: 0, ends: 'failed', error: { code: 'timeout', stepIndex: 0 } },
      record: { status: 'failed', error: { code: 'timeout', stepIndex: 0 } },
      write: 'batched',
      durable: true,
    });
  });

  test('moves the run on if the step has continueOnError', () => {
    const steps = [step({ continueOnError: true }), step({ continueOnError: true })];
    const first = ended(decide(situation({ run: { steps } }), failed()));
    expect(first.advance).toEqual({ fromStep: 0, nextStep: 1, ends: null, error: null });
    expect(first.record.error).toMatchObject({ code: 'timeout' });
    expect(ended(decide(situation({ run: { steps }, index: 1 }), failed())).advance.ends).toBe('succeeded');
  });

  test('is retried up to its number of attempts, after a back-off that grows by the factor', () => {
    const retry = { maxAttempts: 3, backoffSeconds: 10, factor: 2 };
    const at = (attempt: number) => decide(situation({ retry }), failed(attempt));
    expect(at(1)).toMatchObject({ kind: 'retry', attempt: 1, afterSeconds: 10, error: { code: 'timeout' } });
    expect(at(2)).toMatchObject({ kind: 'retry', afterSeconds: 20 });
    expect(at(3).kind).toBe('end');
    expect(decide(situation({ retry }), failed(1, { retryable: false })).kind).toBe('end');
  });

  test.each([
    ['the longer Retry-After', { backoffSeconds: 10, factor: 1 }, 60, 60],
    ['the longer back-off', { backoffSeconds: 120, factor: 1 }, 60, 120],
    ['at most an hour of Retry-After', { backoffSeconds: 10, factor: 1 }, 86_400, 3_600],
    ['at most a day', { backoffSeconds: 50_000, factor: 1_000 }, 0, 86_400],
  ])('waits %s before it is retried', (_what, policy, retryAfterSeconds, afterSeconds) => {
    const retry = { maxAttempts: 9, ...policy };
    expect(decide(situation({ retry }), failed(2, { retryAfterSeconds }))).toMatchObject({ afterSeconds });
  });

  test('keeps its output unless that exceeds the limit of the run', () => {
    const outcome = failed(1, { output: { exitCode: 1 } });
    const bytes = outputBytesOf({ exitCode: 1 }, null);
    expect(ended(decide(situation(), outcome)).record).toMatchObject({ output: { exitCode: 1 }, outputBytes: bytes });
    const full = situation({ otherOutputBytes: maxRunOutputBytes });
    expect(ended(decide(full, outcome)).record).toMatchObject({ output: null, outputBytes: 0 });
  });

  test.each([
    ['starts the error workflow', { error_workflow_id: 'other' }, 'other'],
    ['of the error workflow itself starts none', { error_workflow_id: 'workflow' }, null],
    ['of a run that an error started starts none', { error_workflow_id: 'other', trigger: { type: 'error' } }, null],
  ])('and with it a run %s', (_what, run, errorWorkflow) => {
    expect(ended(decide(situation({ run }), failed()))).toMatchObject({
      errorWorkflow,
      write: errorWorkflow === null ? 'batched' : 'alone',
    });
    expect(ended(decide(situation({ run, index: 1 }), succeeded())).errorWorkflow).toBeNull();
  });
});

test.each([
  ['pure', true],
  ['keyed', false],
  ['once', false],
] as const)('a result of a %s call that cannot be written fails the step, retryable: %s', (effect, retryable) => {
  const failure = new StepFailure('internal', 'It failed.', { retryable: true });
  const outcome = outcomeOfFailedWrite(succeeded({ effect, attempt: 2, state: { turns: [] } }), failure);
  expect(outcome).toMatchObject({ kind: 'failed', attempt: 2, state: { turns: [] }, failure: { code: 'internal' } });
  expect(outcome.failure.retryable).toBe(retryable);
});

describe('a claimed run', () => {
  const run = (rest: Partial<ClaimedRun> = {}) =>
    ({
      next_step: 2,
      lost_leases: 0,
      process_deaths: null,
      entitlements: { automations: true },
      ...rest,
    }) as ClaimedRun;

  test.each([
    ['is executed', {}, undefined],
    ['is executed after four lost leases', { lost_leases: 4 }, undefined],
    ['fails after five lost leases', { lost_leases: 5 }, 'worker_lost'],
    ['is executed after one process death', { process_deaths: { step: 2, fences: ['1'] } }, undefined],
    ['fails after two process deaths at its step', { process_deaths: { step: 2, fences: ['1', '2'] } }, 'worker_lost'],
    ['is executed after deaths at another step', { process_deaths: { step: 3, fences: ['1', '2'] } }, undefined],
    ['fails without the entitlement', { entitlements: { automations: false } }, 'product_not_entitled'],
  ])('%s', (_what, rest, code) => {
    const refusal = refusalOf(run(rest as Partial<ClaimedRun>));
    expect(refusal?.code).toBe(code);
    if (refusal !== null) expect(refusal.retryable).toBe(false);
  });

  test('fails at a later step at which two processes ended', () => {
    const { process_deaths } = run({ process_deaths: { step: 3, fences: ['1', '2'] } });
    expect(deathsAt({ process_deaths }, 3)?.code).toBe('worker_lost');
    expect(deathsAt({ process_deaths }, 2)).toBeNull();
  });
});
