import { z } from 'zod';
import { chatText, maxMessageLength } from '../../../shared/contract/chat/shapes.ts';
import { id } from '../../../shared/contract/common.ts';
import { defineSkill, withAliases } from '../../engine/skill.ts';
import type { DirectSkill, SkillContext } from '../../engine/skill.ts';
import type { Database } from '../../platform/db/database.ts';
import type { ConversationWriter, MessageWriter } from './conversations/index.ts';

export interface ChatSkillsDependencies {
  db: Database;
  conversationWriter: ConversationWriter;
  messageWriter: MessageWriter;
}

const channelId = id.describe('The conversation. In a run that an event started: {{payload.conversation.id}}');
const postInput = z.strictObject({
  channelId,
  content: chatText(1, maxMessageLength),
  private: z.boolean().default(false).describe('A note that only agents see'),
  as: z.enum(['api', 'ai']).default('api').describe('`ai` where a model wrote it'),
});
const assignInput = z.strictObject({
  channelId,
  assigneeId: id.nullable().describe('A member of the workspace; null to remove the assignment'),
  onlyIfUnassigned: z.boolean().default(false).describe('Keeps the present assignee'),
});
type Aliased<Input, Names extends string> = Input & { [Name in Names]?: string | null };
const conversationOf = (input: { channelId?: string | null; conversationId?: string | null }) =>
  (input.channelId ?? input.conversationId) as string;

const actorOf = ({ environment }: SkillContext) => ({ actor: 'system', environment });

/**
 * Chat skills of workflows and AI agents. Their events carry the depth of the run plus one, so that loops of runs end.
 */
export const chatSkills = ({ db, conversationWriter, messageWriter }: ChatSkillsDependencies): DirectSkill[] => [
  defineSkill({
    id: 'chat.post_message',
    title: 'Write in a chat',
    summary: 'Sends a message to the visitor of a conversation, or leaves a private note for its agents.',
    requires: ['conversations_suite'],
    // The skill only writes to the database, and the idempotency key makes a repeated call return the same message.
    effect: 'pure',
    input: withAliases(postInput, { conversationId: 'channelId' }),
    output: z.object({
      conversationId: id,
      messageId: id,
      seq: z.int().nullable().describe('Null for a note'),
    }),
    async execute(given, context) {
      const {
        content,
        as,
        private: isPrivate,
        ...named
      } = given as Aliased<z.output<typeof postInput>, 'conversationId'>;
      const conversationId = conversationOf(named);
      const { row } = await db.workspace(context.tenantId, (tx) =>
        messageWriter.write(
          tx,
          context.tenantId,
          conversationId,
          {
            content,
            private: isPrivate,
            senderType: as,
            senderId: context.workflowId,
            clientId: context.idempotencyKey,
          },
          actorOf(context),
          context.depth + 1,
        ),
      );
      return { output: { conversationId, messageId: row.id, seq: row.seq } };
    },
  }),
  defineSkill({
    id: 'chat.assign',
    title: 'Assign a chat',
    summary: 'Gives a conversation to a member of the workspace, or takes it back.',
    requires: ['conversations_suite'],
    effect: 'pure',
    input: withAliases(assignInput, { conversationId: 'channelId', userId: 'assigneeId' }),
    output: z.object({ conversationId: id, assignedUserId: id.nullable() }),
    async execute(given, context) {
      const { onlyIfUnassigned, assigneeId, userId, ...named } = given as Aliased<
        z.output<typeof assignInput>,
        'conversationId' | 'userId'
      >;
      const conversationId = conversationOf(named);
      const { assigned_user_id: assignedUserId } = await db.workspace(context.tenantId, async (tx) => {
        const now = await conversationWriter.lock(tx, conversationId, context.environment);
        if (onlyIfUnassigned && now.assigned_user_id !== null) return now;
        return conversationWriter.assign(
          tx,
          context.tenantId,
          conversationId,
          {
            userId: assigneeId ?? userId ?? null,
            field: assigneeId === undefined ? 'input.userId' : 'input.assigneeId',
          },
          actorOf(context),
          context.depth + 1,
        );
      });
      return { output: { conversationId, assignedUserId } };
    },
  }),
];
