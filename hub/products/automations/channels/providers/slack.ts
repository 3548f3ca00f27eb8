import { AppError } from '../../../../../shared/errors.ts';
import type { JsonObject } from '../../../../../shared/json.ts';
import { header, isHmac, postJson, textAt, valueAt } from './provider.ts';
import type { ChannelAdapter } from './provider.ts';

/** Maximum age of a signed call in seconds, which limits replays of recorded calls. */
const maxAgeSeconds = 300;

/** Slack's Events API and chat.postMessage: https://api.slack.com/apis/events-api */
export const slack: ChannelAdapter = {
  isSigned(config, { headers, rawBody }) {
    const timestamp = header(headers, 'x-slack-request-timestamp');
    if (
      timestamp === undefined ||
      !/^\d{1,12}$/.test(timestamp) ||
      Math.abs(Date.now() / 1000 - Number(timestamp)) > maxAgeSeconds
    )
      return false;
    return isHmac(
      config['signingSecret'],
      `v0:${timestamp}:${rawBody.toString('utf8')}`,
      header(headers, 'x-slack-signature'),
      'v0=',
    );
  },

  challenge: (body) => (textAt(body, 'type') === 'url_verification' ? (textAt(body, 'challenge') ?? null) : null),

  parse(body) {
    const event = valueAt(body, 'event');
    const type = textAt(event, 'type');
    const channel = textAt(event, 'channel');
    const from = textAt(event, 'user');
    const text = textAt(event, 'text');
    // Slack sends the messages of bots as events too. Answering them would cause an endless loop.
    const isOwn = valueAt(event, 'bot_id') !== undefined || valueAt(event, 'subtype') !== undefined;
    if (
      (type !== 'message' && type !== 'app_mention') ||
      channel === undefined ||
      from === undefined ||
      text === undefined ||
      isOwn
    )
      return [];
    const timestamp = textAt(event, 'ts');
    // Slack sends two events with different ids for one message that mentions the app. Their channel and timestamp are
    // the same.
    const messageId = timestamp === undefined ? (textAt(body, 'event_id') ?? null) : `${channel}:${timestamp}`;
    return [
      {
        messageId,
        from,
        replyTo: channel,
        text,
        scope: textAt(event, 'channel_type') === 'im' ? 'dm' : 'group',
        sessionKey: channel,
        title: channel,
      },
    ];
  },

  async send(config, { to, text, mediaUrl }, context) {
    const blocks: JsonObject =
      mediaUrl === undefined
        ? {}
        : {
            blocks: [
              { type: 'section', text: { type: 'mrkdwn', text: text.slice(0, 3000) } },
              { type: 'image', image_url: mediaUrl, alt_text: text.slice(0, 200) },
            ],
          };
    const answer = await postJson(
      context,
      `${config['apiBaseUrl']}/chat.postMessage`,
      { authorization: `Bearer ${config['botToken']}` },
      { channel: to, text, ...blocks },
    );
    // Slack also responds 200 to refused messages.
    if (valueAt(answer, 'ok') !== true)
      throw new AppError(
        'delivery_refused',
        `Slack refused the message: ${textAt(answer, 'error') ?? 'no reason given'}.`,
      );
    return { providerMessageId: textAt(answer, 'ts') ?? null };
  },
};
