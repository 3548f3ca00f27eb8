import { createHmac } from 'node:crypto';
import { AppError } from '../../../../../shared/errors.ts';
import type { JsonObject } from '../../../../../shared/json.ts';
import { postJson, textAt } from './provider.ts';
import type { ChannelAdapter, InboundMessage } from './provider.ts';

/** The message format of the generic webhook provider. */
export function parsePlain(body: JsonObject): InboundMessage[] {
  const text = textAt(body, 'text');
  if (text === undefined) return [];
  const from = textAt(body, 'from') ?? 'unknown';
  const sessionKey = textAt(body, 'sessionKey') ?? from;
  return [
    {
      messageId: textAt(body, 'messageId') ?? null,
      from,
      replyTo: textAt(body, 'replyTo') ?? from,
      text,
      scope: 'dm',
      sessionKey,
      title: from,
    },
  ];
}

/** Any program that sends JSON over HTTP. */
export const webhook: ChannelAdapter = {
  // This provider has no signature. The inbound secret of the channel, which is checked for every provider,
  // authenticates its calls.
  isSigned: () => false,
  parse: parsePlain,

  async send(config, { to, text, mediaUrl }, context) {
    const url = config['url'];
    if (url === undefined)
      throw new AppError('validation_failed', 'This channel has no URL to send to. Set config.url.');
    const body = { to, text, mediaUrl: mediaUrl ?? null, messageId: context.idempotencyKey };
    const timestamp = String(Math.floor(Date.now() / 1000));
    const secret = config['signingSecret'];
    const signature: Record<string, string> =
      secret === undefined
        ? {}
        : {
            'x-service-timestamp': timestamp,
            'x-service-signature': createHmac('sha256', secret)
              .update(`${timestamp}.${JSON.stringify(body)}`)
              .digest('hex'),
          };
    const answer = await postJson(context, url, { 'idempotency-key': context.idempotencyKey, ...signature }, body);
    return { providerMessageId: textAt(answer, 'id') ?? null };
  },
};
