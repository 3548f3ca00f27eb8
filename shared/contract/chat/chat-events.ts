import { z } from 'zod';
import { jsonValue } from '../../json.ts';
import { conversation, message, visitor } from './shapes.ts';

/** Live Chat events for webhooks and event triggers. `visitor.created` is accepted but not emitted yet. */
export const chatEventTypes = [
  'message.created',
  'conversation.created',
  'conversation.closed',
  'conversation.assigned',
  'csat.submitted',
  'visitor.created',
] as const;
export type ChatEventType = (typeof chatEventTypes)[number];

/**
 * Origin of a message or conversation. `widget`: a visitor on a page. `agent`: a reply by a user, an API key, a
 * workflow or the AI agent. `support`: a conversation that the workspace started. `omnichannel`: a channel.
 */
const chatEventOrigins = ['widget', 'agent', 'support', 'omnichannel'] as const;
export type ChatEventOrigin = (typeof chatEventOrigins)[number];

const entity = z.looseObject({ id: z.string() });

/** Payload of every event. Each object has the shape that its own read operation returns. */
export const chatEventPayload = z.object({
  tenantId: z.uuid(),
  /** Number of the event in its conversation, without gaps. */
  sequence: z.int().min(1),
  environment: z.enum(['live', 'test']),
  /** `token:<id>`, `user:<id>`, `visitor:<id>`, `ai` or `system`. */
  actor: z.string(),
  /** Only for events about new messages and new conversations. */
  origin: z.enum(chatEventOrigins).optional(),
  conversation: z.looseObject({ id: z.uuid() }),
  message: entity.optional(),
  visitor: entity.optional(),
  /** Null when the conversation was unassigned. */
  assignee: entity.nullable().optional(),
  csat: z.record(z.string(), jsonValue).optional(),
});
export type ChatEventPayload = z.output<typeof chatEventPayload>;

const requiredField: Partial<Record<ChatEventType, keyof ChatEventPayload>> = {
  'message.created': 'message',
  'conversation.assigned': 'assignee',
  'csat.submitted': 'csat',
};

/** Payload schema of one event type, which requires the object that the event is about. */
export const chatEventPayloadOf = (type: ChatEventType) =>
  chatEventPayload.refine(
    (payload) => requiredField[type] === undefined || payload[requiredField[type]] !== undefined,
    `a ${type} event needs ${requiredField[type] ?? 'nothing more'}`,
  );

const objects = {
  conversation: Object.keys(conversation.shape),
  visitor: Object.keys(visitor.shape),
  message: Object.keys(message.shape),
  assignee: ['id', 'email'],
  csat: ['score', 'comment'],
};
const plainFields = ['tenantId', 'sequence', 'environment', 'actor', 'origin'];
/** Fields whose inner fields workspaces and visitors define. */
const openFields = ['visitor.attributes', 'message.attachments'];

/** Suggestions for a path that events of the type never contain; null for a valid path. */
export function suggestedEventFields(type: ChatEventType, path: string): string[] | null {
  const own = Object.entries(objects).filter(([name]) =>
    ['conversation', 'visitor', requiredField[type]].includes(name),
  );
  const [first = '', second, ...deeper] = path.split('.');
  const fields = own.find(([name]) => name === first)?.[1];
  if (fields === undefined)
    return plainFields.includes(path) ? null : [...plainFields, ...own.map(([name]) => `${name}.…`)];
  const isKnown =
    second === undefined ||
    (fields.includes(second) && (deeper.length === 0 || openFields.includes(`${first}.${second}`)));
  return isKnown ? null : fields.map((name) => `${first}.${name}`);
}
