import type { JsonObject } from '../../../../../shared/json.ts';
import { header, isHmac, listAt, postJson, textAt, valueAt } from './provider.ts';
import type { ChannelAdapter, InboundMessage } from './provider.ts';

/** WhatsApp's Cloud API: https://developers.facebook.com/docs/whatsapp/cloud-api */
export const whatsapp: ChannelAdapter = {
  isSigned: (config, { headers, rawBody }) =>
    isHmac(config['appSecret'], rawBody, header(headers, 'x-hub-signature-256'), 'sha256='),

  parse(body) {
    const values = listAt(body, 'entry').flatMap((entry) =>
      listAt(entry, 'changes').map((change) => valueAt(change, 'value')),
    );
    return values.flatMap((value) =>
      listAt(value, 'messages').flatMap((message): InboundMessage[] => {
        const from = textAt(message, 'from');
        const text =
          textAt(message, 'text', 'body') ?? textAt(message, 'button', 'text') ?? textAt(message, 'image', 'caption');
        if (from === undefined || text === undefined) return [];
        const contact = listAt(value, 'contacts').find((candidate) => textAt(candidate, 'wa_id') === from);
        return [
          {
            messageId: textAt(message, 'id') ?? null,
            from,
            replyTo: from,
            text,
            scope: 'dm',
            sessionKey: from,
            title: textAt(contact, 'profile', 'name') ?? from,
          },
        ];
      }),
    );
  },

  async send(config, { to, text, mediaUrl }, context) {
    const content: JsonObject =
      mediaUrl === undefined
        ? { type: 'text', text: { body: text } }
        : { type: 'image', image: { link: mediaUrl, caption: text.slice(0, 1024) } };
    const answer = await postJson(
      context,
      `${config['apiBaseUrl']}/${config['phoneNumberId']}/messages`,
      { authorization: `Bearer ${config['accessToken']}` },
      { messaging_product: 'whatsapp', recipient_type: 'individual', to, ...content },
    );
    return { providerMessageId: textAt(answer, 'messages', 0, 'id') ?? null };
  },
};
