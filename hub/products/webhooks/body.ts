import { maxWebhookBodyBytes } from '../../../shared/contract/webhooks/webhooks.ts';
import type { JsonObject } from '../../../shared/json.ts';

interface Told {
  event: string;
  eventId: string;
  payload: JsonObject;
  /** When it happened. */
  timestamp: string;
}

const bytesOf = (told: Told) => Buffer.byteLength(textOf(told));
const textOf = ({ event, eventId, payload, timestamp }: Told) => JSON.stringify({ event, eventId, payload, timestamp });

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The body of a delivery, of at most 64 KiB: the content of a message that is too long for that is cut, which `contentTruncated: true` beside
 * it tells. All else that an event tells is bounded far below.
 */
export const deliveryBody = (told: Told): string =>
  textOf(bytesOf(told) > maxWebhookBodyBytes ? cutContent(told) : told);

function cutContent(told: Told): Told {
  const { message } = told.payload;
  if (!isObject(message) || typeof message['content'] !== 'string') return told;
  const characters = [...message['content']];
  const cutTo = (length: number): Told => ({
    ...told,
    payload: {
      ...told.payload,
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
