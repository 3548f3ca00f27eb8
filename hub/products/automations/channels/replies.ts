import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { ChannelConversations } from '../../chat/channels/index.ts';
import type { ChatEvent } from '../../chat/events/index.ts';
import type { Workflows } from '../workflows/index.ts';

/**
 * Maximum automatic replies (workflows and AI) per visitor of a channel and hour. The limit ends loops with programs
 * that answer each message.
 */
const maxAutomaticReplies = 60;

const steps: Step[] = [
  {
    type: 'skill',
    id: 'send',
    skillId: 'channel.deliver',
    input: { channelId: '{{payload.channelId}}', to: '{{payload.to}}', text: '{{payload.text}}' },
    when: '{{payload.isWithinLimit}}',
    continueOnError: true,
  },
  {
    type: 'skill',
    skillId: 'chat.post_message',
    input: {
      channelId: '{{payload.conversationId}}',
      private: true,
      content: `Not sent through the channel: ${maxAutomaticReplies} automatic replies per hour is the limit.`,
    },
    when: '{{payload.isOverLimit}}',
    continueOnError: true,
  },
  {
    type: 'skill',
    skillId: 'chat.post_message',
    input: {
      channelId: '{{payload.conversationId}}',
      private: true,
      content: 'Not sent through the channel ({{steps.send.error.code}}): {{steps.send.error.message}}',
    },
    when: '{{steps.send.error.code}}',
  },
];

interface Payload {
  environment: 'live' | 'test';
  conversation: { id: string };
  message: { content: string; senderType: string; attachments: { name: string }[] };
  visitor?: { id: string };
}

/**
 * Starts a run that sends a reply through the channel of its visitor, in the transaction that stores the reply. A
 * stored reply is sent once. @throws AppError when the run cannot start; then the reply is not stored.
 */
export async function sendReply(
  tx: Transaction,
  deps: { conversations: ChannelConversations; workflows: Workflows },
  { type, tenantId, payload, depth }: ChatEvent,
): Promise<void> {
  if (type !== 'message.created') return;
  const { environment, conversation, message, visitor } = payload as unknown as Payload;
  if (visitor === undefined || !['agent', 'api', 'ai'].includes(message.senderType)) return;
  const isAutomatic = depth > 0 || message.senderType === 'ai';
  const address = await deps.conversations.replyAddress(tx, visitor.id, isAutomatic);
  if (address === null) return;
  const isOverLimit = isAutomatic && address.automaticReplies > maxAutomaticReplies;
  const files = message.attachments.map(({ name }) => `[${name}]`);
  await deps.workflows.startDerived(
    tx,
    tenantId,
    // Lists of workflows hide this workflow, like the workflows of single skill calls.
    {
      origin: { kind: 'skill', id: 'channel-replies' },
      name: 'Replies through channels',
      steps,
      changedBy: null,
    },
    {
      trigger: { type: 'event', event: type, channelId: address.channelId },
      payload: {
        conversationId: conversation.id,
        channelId: address.channelId,
        to: address.replyTo,
        text: [message.content, ...files].filter((line) => line !== '').join('\n'),
        isOverLimit,
        isWithinLimit: !isOverLimit,
      },
      environment,
      depth,
      subjectId: conversation.id,
    },
  );
}
