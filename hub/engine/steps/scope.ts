import type { JsonObject } from '../../../shared/json.ts';
import type { TemplateScope } from '../../../shared/template.ts';
import type { RunContext } from '../runs/run-context.ts';

/** Builds the values that templates of a step can refer to: the input of the run and the results of earlier steps. */
export function buildTemplateScope(ctx: RunContext, index: number, now = new Date()): TemplateScope {
  const { run, results } = ctx;
  const steps: JsonObject = {};
  let last: JsonObject = { output: null, outputText: '' };
  for (let earlier = 0; earlier < index; earlier += 1) {
    const result = results.get(earlier);
    if (result === undefined) continue;
    const entry: JsonObject = {
      output: result.output,
      outputText: result.output_text ?? '',
      status: result.status,
      error:
        result.error === null || result.error === undefined
          ? null
          : { code: result.error.code, message: result.error.message },
    };
    const id = run.steps[earlier]?.id;
    if (id !== undefined) steps[id] = entry;
    if (result.status === 'succeeded') last = entry;
  }
  return {
    context: run.context ?? '',
    payload: run.payload ?? {},
    last,
    steps,
    trigger: run.trigger,
    run: { id: run.id, workflowId: run.workflow_id, attempt: run.attempt, depth: run.depth },
    now: now.toISOString(),
  };
}
