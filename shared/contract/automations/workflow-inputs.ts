import { z } from 'zod';
import { problemsOfInputs } from '../../inputs-problems.ts';
import type { WorkflowInputs } from '../../inputs-schema.ts';
import { jsonObject } from '../../json.ts';
import { named } from '../common.ts';

/** Which payload a run of a workflow takes: a part of JSON Schema that can be checked in bounded time. */
export const workflowInputs = named(
  'WorkflowInputs',
  z
    .custom<WorkflowInputs>()
    .superRefine((value, context) => {
      const object = jsonObject.safeParse(value);
      const problems = object.success ? problemsOfInputs(object.data) : object.error.issues;
      for (const { path, message } of problems) context.addIssue({ code: 'custom', path, message });
    })
    .meta({
      type: 'object',
      description: [
        'JSON Schema of the payload that a run takes, of type `object`. Known are `type` (string, number, integer, boolean, array or object; in each schema), `title`, `description`, `default`, `enum`,',
        '`minimum`, `maximum`, `minLength`, `maxLength`, `pattern`, `items`, `minItems`, `maxItems`, `properties`, `required` and `additionalProperties` (true or false).',
        'At most 64 KiB, 500 schemas and 8 levels; a `pattern` has neither back references nor looks around.',
        'Whatever a caller starts a run with is checked by it (by hand, a dry run, a sequence, the inbound hook, `subagent.spawn`); what schedules, channels and events bring is not. Defaults are filled in for all of them.',
      ].join(' '),
    }),
  { type: 'object', properties: { city: { type: 'string' } } },
);
