import { maxWebhookBodyBytes } from '../../../shared/contract/webhooks/webhooks.ts';
import type { JsonObject } from '../../../shared/json.ts';

interface DeliveryContent {
  event: string;
  eventId: string;
  payload: JsonObject;
  /** When the event occurred. */
  timestamp: string;
}

const bytesOf = (content: DeliveryContent) => Buffer.byteLength(textOf(content));
const textOf = ({ event, eventId, payload, timestamp }: DeliveryContent) =>
  JSON.stringify({ event, eventId, payload, timestamp });

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The body of a delivery, 64 KiB at most. A longer message content is truncated and marked `contentTruncated: true`.
 * All other fields of an event are limited far below 64 KiB.
 */
export const deliveryBody = (content: DeliveryContent): string =>
  textOf(bytesOf(content) > maxWebhookBodyBytes ? cutContent(content) : content);

function cutContent(content: DeliveryContent): DeliveryContent {
  const { message } = content.payload;
  if (!isObject(message) || typeof message['content'] !== 'string') return content;
  const characters = [...message['content']];
  const cutTo = (length: number): DeliveryContent => ({
    ...content,
    payload: {
      ...content.payload,
      message: { ...message, content: characters.slice(0, length).join(''), contentTruncated: true },
    },
  });
  let [fits, tooLong] = [0, characters.length];
  while (tooLong - fits > 1) {
    const middle = Math.floor((fits + tooLong) / 2);
    if (bytesOf(cutTo(middle)) <= maxWebhookBodyBytes) fits = middle;
    else tooLong = middle;
  }
  return cutTo(fits);
}
