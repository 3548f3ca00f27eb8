import type { JsonObject, Workflow } from '../../../../../shared/client/operations.ts';
import type { Input } from '../../app/api.ts';

/** Fields of a workflow that the hub sets. All others are part of the document, also those that this page does not know. */
const readOnly = new Set(['id', 'version', 'environment', 'createdAt', 'updatedAt', 'nextRunAt']);

/** The part of a workflow that a person edits. The token of a webhook is left out: an update without it keeps it. */
export function documentOf(workflow: Workflow): JsonObject {
  const document = Object.fromEntries(Object.entries(workflow).filter(([name]) => !readOnly.has(name)));
  return { ...document, triggerJson: withoutToken(workflow.triggerJson) } as unknown as JsonObject;
}

/** The trigger without the token of its webhook, which starts the workflow. */
function withoutToken(trigger: Workflow['triggerJson']): Workflow['triggerJson'] {
  if (trigger.type !== 'webhook') return trigger;
  const { token: _token, ...webhook } = trigger.webhook;
  return { ...trigger, webhook };
}

export const textOf = (document: unknown) => JSON.stringify(document, null, 2);

/** A workflow to begin with. */
export const newDocument: JsonObject = {
  name: 'My workflow',
  active: true,
  triggerJson: { schemaVersion: 1, type: 'manual' },
  stepsJson: [{ type: 'log', message: 'Hello {{payload.name}}' }],
  limits: null,
  inputs: { type: 'object', properties: { name: { type: 'string', title: 'Name' } }, required: ['name'] },
};

// The hub validates the document, so its type is asserted here only.
export const asCreateBody = (document: JsonObject) =>
  document as unknown as NonNullable<Input<'createAutomationWorkflow'>['body']>;
export const asUpdateBody = (document: JsonObject) =>
  document as unknown as NonNullable<Input<'updateAutomationWorkflow'>['body']>;
