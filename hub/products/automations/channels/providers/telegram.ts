import type { JsonObject } from '../../../../../shared/json.ts';
import { equalSecrets, header, postJson, textAt, valueAt } from './provider.ts';
import type { ChannelAdapter } from './provider.ts';

/** Telegram's Bot API: https://core.telegram.org/bots/api */
export const telegram: ChannelAdapter = {
  isSigned: (config, { headers }) =>
    equalSecrets(header(headers, 'x-telegram-bot-api-secret-token'), config['inboundSecret']),

  parse(body) {
    const message = valueAt(body, 'message');
    const chat = textAt(message, 'chat', 'id');
    const text = textAt(message, 'text') ?? textAt(message, 'caption');
    if (chat === undefined || text === undefined || valueAt(message, 'from', 'is_bot') === true) return [];
    const isPrivate = textAt(message, 'chat', 'type') === 'private';
    const from = textAt(message, 'from', 'id') ?? chat;
    const title = textAt(message, 'chat', 'title') ?? textAt(message, 'from', 'first_name') ?? chat;
    return [
      {
        messageId: textAt(body, 'update_id') ?? null,
        from,
        replyTo: chat,
        text,
        scope: isPrivate ? 'dm' : 'group',
        sessionKey: chat,
        title,
      },
    ];
  },

  async send(config, { to, text, mediaUrl }, context) {
    const method = mediaUrl === undefined ? 'sendMessage' : 'sendPhoto';
    const body: JsonObject =
      mediaUrl === undefined ? { chat_id: to, text } : { chat_id: to, photo: mediaUrl, caption: text.slice(0, 1024) };
    const delay = (answer: Parameters<typeof textAt>[0]) => {
      const seconds = Number(textAt(answer, 'parameters', 'retry_after'));
      return Number.isFinite(seconds) ? seconds : undefined;
    };
    const answer = await postJson(
      context,
      `${config['apiBaseUrl']}/bot${config['botToken']}/${method}`,
      {},
      body,
      delay,
    );
    return { providerMessageId: textAt(answer, 'result', 'message_id') ?? null };
  },
};
