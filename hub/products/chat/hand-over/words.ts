import type { ChatLocale } from '../../../../shared/contract/chat/settings.ts';

/** The message to a visitor when agents take over the conversation, unless the workspace sets its own. */
const messages: Record<ChatLocale, string> = {
  en: 'I am handing you over to a person. They will answer here as soon as they can.',
  de: 'Ich übergebe an einen Menschen. Die Antwort kommt hier, sobald jemand da ist.',
  fr: 'Je vous confie à une personne. Elle vous répondra ici dès que possible.',
  es: 'Te paso con una persona. Te responderá aquí en cuanto pueda.',
  ar: 'سأحوّلك إلى أحد الموظفين، وسيرد عليك هنا في أقرب وقت ممكن.',
  ja: '担当者におつなぎします。できるだけ早くこちらでお返事します。',
};

/**
 * The message in the first supported language of the list, otherwise in English.
 * @param languages codes such as `de` or `pt-BR`.
 */
export function handOverMessage(languages: readonly (string | null | undefined)[]): string {
  for (const language of languages) {
    const known = messages[(language ?? '').slice(0, 2).toLowerCase() as ChatLocale];
    if (known !== undefined) return known;
  }
  return messages.en;
}
