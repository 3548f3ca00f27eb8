import { z } from 'zod';
import { jsonValue } from '../../json.ts';

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

const entity = z.looseObject({ id: z.string() });

/** What every event tells; each object is the one that its own read operation shows. */
export const chatEventPayload = z.object({
  tenantId: z.uuid(),
  /** Counts the events of a conversation without a gap. */
  sequence: z.int().min(1),
  environment: z.enum(['live', 'test']),
  /** Who did it: `token:<id>`, `user:<id>`, `visitor:<id>`, `ai` or `system`. */
  actor: z.string(),
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
