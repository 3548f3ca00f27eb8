import { createHash } from 'node:crypto';
import { parseTraceParent, withinSpan } from '../../platform/observability/tracing/trace-context.ts';
import type { TraceContext } from '../../platform/observability/tracing/trace-context.ts';
import type { Tracing } from '../../platform/observability/tracing/tracing.ts';
import type { CommandOutcome } from '../ports.ts';
import type { ClaimedRun } from './store.ts';

/** The span id of an object with an id of its own, the same in every process. The second half of such an id is random. */
const spanIdOf = (id: string) => id.replaceAll('-', '').slice(-16);

const stepSpanId = (runId: string, index: number) =>
  createHash('sha256').update(`${runId}:${index}`).digest('hex').slice(0, 16);

/** The columns of a run that its spans contain. */
export type TracedRun = Pick<
  ClaimedRun,
  'id' | 'tenant_id' | 'workflow_id' | 'environment' | 'attempt' | 'queued_at' | 'trace_parent'
>;

interface EndedStep {
  type: string | undefined;
  /** The skill that the step called, or the type of the step. */
  what: string;
  status: string;
  attempts: number;
  code?: string;
}

/**
 * The spans of a run, its steps and their commands. The span ids are derived from the ids of these objects, so that different processes
 * can record a step and the end of its run.
 */
export class RunTrace {
  readonly #tracing: Tracing;
  readonly #run: TracedRun;
  readonly #context: TraceContext;
  readonly #parentSpanId: string | null;
  readonly #starts = new Map<number, number>();
  /** Commands that ended and whose results are not written yet. An execution that ends before the write is repeated. */
  #commands: (() => void)[] = [];

  constructor(tracing: Tracing, run: TracedRun) {
    const parent = parseTraceParent(run.trace_parent);
    const traceId = parent?.traceId ?? run.id.replaceAll('-', '');
    this.#tracing = tracing;
    this.#run = run;
    this.#parentSpanId = parent?.spanId ?? null;
    this.#context = { traceId, spanId: spanIdOf(run.id), sampled: parent?.sampled ?? tracing.isSampled(traceId) };
  }

  /**
   * Executes a step within its span. Spans that the step starts are its children.
   * @param startedAt when the step began, if it began before this execution.
   */
  withinStep<Result>(index: number, startedAt: string | null, work: () => Result): Result {
    if (!this.#starts.has(index))
      this.#starts.set(index, startedAt === null ? Date.now() : new Date(startedAt).getTime());
    return withinSpan(this.#stepContext(index), work);
  }

  stepEnded(index: number, { type, what, status, attempts, code }: EndedStep): void {
    const { id, tenant_id: tenantId } = this.#run;
    this.#tracing.record({
      name: what,
      kind: 'internal',
      context: this.#stepContext(index),
      parentSpanId: this.#context.spanId,
      startedAt: this.#starts.get(index) ?? Date.now(),
      endedAt: Date.now(),
      attributes: {
        'outrigger.run_id': id,
        'outrigger.workspace': tenantId,
        'outrigger.step.index': index,
        'outrigger.step.type': type,
        'outrigger.skill': what,
        'outrigger.status': status,
        'outrigger.attempts': attempts,
        'error.type': code,
      },
      failed: status === 'failed',
    });
  }

  ended(status: 'succeeded' | 'failed' | 'cancelled', code?: string): void {
    const run = this.#run;
    this.#tracing.record({
      name: 'run',
      kind: 'internal',
      context: this.#context,
      parentSpanId: this.#parentSpanId,
      startedAt: run.queued_at,
      endedAt: Date.now(),
      attributes: {
        'outrigger.run_id': run.id,
        'outrigger.workflow_id': run.workflow_id,
        'outrigger.workspace': run.tenant_id,
        'outrigger.environment': run.environment,
        'outrigger.attempt': run.attempt,
        'outrigger.status': status,
        'error.type': code,
      },
      failed: status === 'failed',
    });
  }

  /** Records a command that ended, from its insertion to its result. */
  command(index: number, commandId: string, outcome: CommandOutcome): void {
    const { createdAt, handedOutAt, output } = outcome;
    const endedAt = outcome.finishedAt ?? new Date();
    const measured =
      typeof output === 'object' && output !== null && !Array.isArray(output) ? output['durationMs'] : undefined;
    const record = () =>
      this.#tracing.record({
        name: outcome.type,
        kind: 'client',
        context: { ...this.#context, spanId: spanIdOf(commandId) },
        parentSpanId: stepSpanId(this.#run.id, index),
        startedAt: createdAt,
        endedAt,
        attributes: {
          'outrigger.run_id': this.#run.id,
          'outrigger.workspace': this.#run.tenant_id,
          'outrigger.command_id': commandId,
          'outrigger.node_id': outcome.nodeId,
          'outrigger.command': outcome.type,
          'outrigger.status': outcome.status,
          'outrigger.command.waited_ms': (handedOutAt ?? endedAt).getTime() - createdAt.getTime(),
          'outrigger.command.device_ms': typeof measured === 'number' ? measured : undefined,
          'error.type': outcome.error?.code,
        },
        failed: outcome.status !== 'succeeded',
      });
    this.#commands.push(record);
  }

  /** To be called when the progress of the run is written. */
  written(): void {
    for (const record of this.#commands.splice(0)) record();
  }

  #stepContext(index: number): TraceContext {
    return { ...this.#context, spanId: stepSpanId(this.#run.id, index) };
  }
}
