import type { InboxConversation, InboxMessage } from '../../shared/contract/chat/agent-shapes.ts';
import { visibleLine, visibleText } from '../../shared/visible-text.ts';

/**
 * Formats a message for the terminal. Further lines are indented, so that text of a user cannot look like another
 * message.
 * @param conversation is shown before the message in lists of several conversations.
 */
export function messageLines(message: InboxMessage, conversation?: Pick<InboxConversation, 'id' | 'name'>): string {
  // Quoted, because users choose their own names.
  const where =
    conversation === undefined ? '' : `${conversation.id} ${JSON.stringify(visibleLine(conversation.name))} `;
  const author = message.senderName === null ? '' : ` ${JSON.stringify(visibleLine(message.senderName))}`;
  const prefix = `${where}${message.createdAt.slice(11, 19)} ${message.private ? 'note by ' : ''}${message.senderType}${author}: `;
  const attachments = message.attachments.map(({ name, bytes }) => ` [${visibleLine(name)}, ${bytes} bytes]`).join('');
  return `${prefix}${visibleText(message.content).replaceAll('\n', `\n${' '.repeat(prefix.length)}`)}${attachments}`;
}
