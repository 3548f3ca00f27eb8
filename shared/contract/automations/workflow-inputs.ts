import { z } from 'zod';
import { problemsOfInputs } from '../../inputs-problems.ts';
import type { WorkflowInputs } from '../../inputs-schema.ts';
import { jsonObject } from '../../json.ts';
import { named } from '../common.ts';

/** Schema of the payload of a workflow's runs: a subset of JSON Schema that can be checked in bounded time. */
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
        'JSON Schema of the payload of a run, of type `object`. Supported keywords: `type` (string, number, integer, boolean, array or object; in each schema), `title`, `description`, `default`, `enum`,',
        '`minimum`, `maximum`, `minLength`, `maxLength`, `pattern`, `items`, `minItems`, `maxItems`, `properties`, `required` and `additionalProperties` (true or false).',
        'At most 64 KiB, 500 schemas and 8 levels; a `pattern` cannot contain back references or lookarounds.',
        'Payloads of callers are validated (API, dry run, sequence, inbound hook, `subagent.spawn`); payloads of schedules, channels and events are not. Defaults are applied to all of them.',
      ].join(' '),
    }),
  { type: 'object', properties: { city: { type: 'string' } } },
);
