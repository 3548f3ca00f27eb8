import { z } from 'zod';
import { jsonValue } from '../../json.ts';
import { conversation, message, visitor } from './shapes.ts';

/** The events of Live Chat, which webhooks and event triggers can follow. `visitor.created` is accepted and not emitted yet. */
export const chatEventTypes = [
  'message.created',
  'conversation.created',
  'conversation.closed',
  'conversation.assigned',
  'csat.submitted',
  'visitor.created',
] as const;
export type ChatEventType = (typeof chatEventTypes)[number];

/** `widget`: a visitor on a page. `agent`: a reply by a user, an API key, a workflow or the AI. `support`: a conversation that the workspace started. `omnichannel`: a channel. */
const chatEventOrigins = ['widget', 'agent', 'support', 'omnichannel'] as const;
export type ChatEventOrigin = (typeof chatEventOrigins)[number];

const entity = z.looseObject({ id: z.string() });

/** What every event tells; each object is the one that its own read operation shows. */
export const chatEventPayload = z.object({
  tenantId: z.uuid(),
  /** Counts the events of a conversation without a gap. */
  sequence: z.int().min(1),
  environment: z.enum(['live', 'test']),
  /** Who did it: `token:<id>`, `user:<id>`, `visitor:<id>`, `ai` or `system`. */
  actor: z.string(),
  /** Where a message or a conversation comes from; events of other types have no origin. */
  origin: z.enum(chatEventOrigins).optional(),
  conversation: z.looseObject({ id: z.uuid() }),
  message: entity.optional(),
  visitor: entity.optional(),
  /** Null where an assignment was taken back. */
  assignee: entity.nullable().optional(),
  csat: z.record(z.string(), jsonValue).optional(),
});
export type ChatEventPayload = z.output<typeof chatEventPayload>;

const needs: Partial<Record<ChatEventType, keyof ChatEventPayload>> = {
  'message.created': 'message',
  'conversation.assigned': 'assignee',
  'csat.submitted': 'csat',
};

/** The payload of one type of event, with the object that this type is about. */
export const chatEventPayloadOf = (type: ChatEventType) =>
  chatEventPayload.refine(
    (payload) => needs[type] === undefined || payload[needs[type]] !== undefined,
    `a ${type} event needs ${needs[type] ?? 'nothing more'}`,
  );

const objects = {
  conversation: Object.keys(conversation.shape),
  visitor: Object.keys(visitor.shape),
  message: Object.keys(message.shape),
  assignee: ['id', 'email'],
  csat: ['score', 'comment'],
};
const plainFields = ['tenantId', 'sequence', 'environment', 'actor', 'origin'];
/** What these hold is the workspace's and the visitors' own. */
const openFields = ['visitor.attributes', 'message.attachments'];

/** The fields among which a path that no event of a type ever has could have been meant; null for one that it may have. */
export function eventFieldsInstead(type: ChatEventType, path: string): string[] | null {
  const own = Object.entries(objects).filter(([name]) => ['conversation', 'visitor', needs[type]].includes(name));
  const [first = '', second, ...deeper] = path.split('.');
  const fields = own.find(([name]) => name === first)?.[1];
  if (fields === undefined)
    return plainFields.includes(path) ? null : [...plainFields, ...own.map(([name]) => `${name}.…`)];
  const isKnown =
    second === undefined ||
    (fields.includes(second) && (deeper.length === 0 || openFields.includes(`${first}.${second}`)));
  return isKnown ? null : fields.map((name) => `${first}.${name}`);
}
