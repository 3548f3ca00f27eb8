import { createHash } from 'node:crypto';
import { maxMessageLength, maxSourceLength } from '../../../../shared/contract/chat/shapes.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Assignment } from '../assignment/index.ts';
import { conversationColumns, upsertVisitor } from '../conversations/index.ts';
import type { ChatActor, ConversationRow, ConversationWriter, MessageWriter } from '../conversations/index.ts';

const maxExternalIdLength = 200;
const maxNameLength = 200;

/** An inbound message of a channel, for Live Chat. */
export interface ChannelMessage {
  channelId: string;
  /** The source of a conversation that the message opens: the name of the channel. */
  source: string;
  environment: 'live' | 'test';
  /** Identifies the sender within the channel. */
  sender: string;
  senderName: string;
  /** Where replies are sent, as the provider names it. */
  replyTo: string;
  text: string;
}

/** Live Chat, as channels use it. Both functions work in the caller's transaction. */
export interface ChannelConversations {
  /**
   * Writes a message into the sender's conversation, and opens one if needed. The message of a blocked visitor is not
   * written.
   */
  receive(tx: Transaction, tenantId: string, message: ChannelMessage): Promise<void>;
  /**
   * Where a reply to a visitor is sent; null for a visitor of no channel. An automatic reply counts towards
   * `automaticReplies`, the automatic replies of the last hour.
   */
  replyAddress(
    tx: Transaction,
    visitorId: string,
    isAutomatic: boolean,
  ): Promise<{ channelId: string; replyTo: string; automaticReplies: number } | null>;
}

/** The external id of a sender. The id of the channel keeps senders of different channels apart. */
function externalIdOf(channelId: string, sender: string): string {
  const id = `channel:${channelId}:${sender}`;
  if (id.length <= maxExternalIdLength) return id;
  return `channel:${channelId}:sha256:${createHash('sha256').update(sender).digest('hex')}`;
}

/** Conversations of senders who write through channels. */
export function createChannelConversations({
  conversationWriter,
  messageWriter,
  assignment,
}: {
  conversationWriter: ConversationWriter;
  messageWriter: MessageWriter;
  assignment: Assignment;
}): ChannelConversations {
  return {
    async receive(tx, tenantId, { channelId, source, environment, sender, senderName, replyTo, text }) {
      const known = {
        externalId: externalIdOf(channelId, sender),
        displayName: (senderName === '' ? sender : senderName).slice(0, maxNameLength),
      };
      // Locks the visitor, so that two messages at the same time open one conversation.
      const visitor = await upsertVisitor(tx, tenantId, environment, known, 'body');
      if (visitor.is_blocked) return;
      const { rows } = await tx.query<ConversationRow>(
        'find_channel_conversation',
        `SELECT ${conversationColumns} FROM chat_conversations WHERE visitor_id = $1 AND status <> 'closed' ORDER BY moved_at DESC, id DESC LIMIT 1
         FOR NO KEY UPDATE`,
        [visitor.id],
      );
      const actor: ChatActor = { actor: `visitor:${visitor.id}`, environment, origin: 'omnichannel' };
      let conversation = rows[0];
      if (conversation === undefined || conversation.status === 'closed') {
        const [, opened] = await Promise.all([
          assignment.lockForNew(tx, tenantId),
          conversationWriter.open(
            tx,
            tenantId,
            {
              name: known.displayName,
              source: source.slice(0, maxSourceLength),
              priority: 'normal',
              visitor,
              hasStarted: false,
            },
            actor,
          ),
        ]);
        conversation = opened;
      } else await assignment.lock(tx, tenantId, conversation.id, 'message');
      const written = await messageWriter.write(
        tx,
        tenantId,
        conversation.id,
        { content: text.slice(0, maxMessageLength), senderType: 'visitor', senderId: visitor.id },
        actor,
      );
      // After the lock of the conversation, as a reply does.
      await tx.query(
        'know_visitor_channel',
        `INSERT INTO chat_visitor_channels (visitor_id, tenant_id, channel_id, reply_to) VALUES ($1, $2, $3, $4)
         ON CONFLICT (visitor_id) DO UPDATE SET reply_to = excluded.reply_to`,
        [visitor.id, tenantId, channelId, replyTo],
      );
      if (written.hasReopened || written.hasStarted)
        await assignment.auto(tx, tenantId, await conversationWriter.lock(tx, conversation.id));
    },

    async replyAddress(tx, visitorId, isAutomatic) {
      const { rows } = await tx.query<{ channel_id: string; reply_to: string; automatic_replies: number }>(
        isAutomatic ? 'count_channel_reply' : 'find_channel_reply_address',
        isAutomatic
          ? `UPDATE chat_visitor_channels SET
               automatic_replies = CASE WHEN counted_from < now() - interval '1 hour' THEN 1 ELSE automatic_replies + 1 END,
               counted_from = CASE WHEN counted_from < now() - interval '1 hour' THEN now() ELSE counted_from END
             WHERE visitor_id = $1 RETURNING channel_id, reply_to, automatic_replies`
          : 'SELECT channel_id, reply_to, automatic_replies FROM chat_visitor_channels WHERE visitor_id = $1',
        [visitorId],
      );
      const [row] = rows;
      return row === undefined
        ? null
        : { channelId: row.channel_id, replyTo: row.reply_to, automaticReplies: row.automatic_replies };
    },
  };
}
