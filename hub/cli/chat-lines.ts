import type { InboxConversation, InboxMessage } from '../../shared/contract/chat/agent-shapes.ts';
import { visibleLine, visibleText } from '../../shared/visible-text.ts';

/**
 * A message as lines of a terminal. All but the first are indented as far as the text of the first, so that nothing which somebody wrote reads like a
 * message of its own.
 * @param conversation is named before it, where messages of several are shown.
 */
export function messageLines(message: InboxMessage, conversation?: Pick<InboxConversation, 'id' | 'name'>): string {
  // In quotation marks, since people choose their own names.
  const where =
    conversation === undefined ? '' : `${conversation.id} ${JSON.stringify(visibleLine(conversation.name))} `;
  const author = message.senderName === null ? '' : ` ${JSON.stringify(visibleLine(message.senderName))}`;
  const prefix = `${where}${message.createdAt.slice(11, 19)} ${message.private ? 'note by ' : ''}${message.senderType}${author}: `;
  const attachments = message.attachments.map(({ name, bytes }) => ` [${visibleLine(name)}, ${bytes} bytes]`).join('');
  return `${prefix}${visibleText(message.content).replaceAll('\n', `\n${' '.repeat(prefix.length)}`)}${attachments}`;
}
