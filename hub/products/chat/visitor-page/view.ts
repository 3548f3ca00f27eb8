import type { ChatSettings } from '../../../../shared/contract/chat/settings.ts';
import { ratingChangeHours, ratingDays } from '../../../../shared/contract/chat/shapes.ts';
import type { ChatPageSettings, VisitorConversation } from '../../../../shared/contract/chat/visitor-page.ts';
import { picturePath } from '../../../../shared/contract/common.ts';
import { notFound } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { someAgentIsOnline } from '../conversations/index.ts';
import { completeSettings } from '../settings/index.ts';
import { isOpen } from './business-hours.ts';

/** A row of `visitorViewColumns`. */
export interface VisitorViewRow {
  id: string;
  status: VisitorConversation['status'];
  last_seq: number;
  visitor_read_seq: number;
  agent_read_seq: number;
  closed_at: Date | null;
  is_continued: boolean;
  agent_name: string | null;
  agent_picture: string | null;
  agent_online: boolean;
  /** Null if the conversation has no owner. */
  has_assistant: boolean | null;
  disclosure: string | null;
  score: number | null;
  comment: string;
  rated_at: Date;
  rating_changed_at: Date;
  can_be_rated: boolean;
  settings: Partial<ChatSettings> | null;
}

/**
 * Columns of a conversation `c` with `visitorViewJoins`. Visitors see the display name of a member, never the email
 * address.
 */
export const visitorViewColumns = `c.id, c.status, c.last_seq, c.visitor_read_seq, c.agent_read_seq, c.closed_at,
       (SELECT u.display_name FROM users u WHERE u.id = c.assigned_user_id AND u.tenant_id = c.tenant_id) AS agent_name,
       (SELECT p.id FROM member_pictures p WHERE p.user_id = c.assigned_user_id AND p.tenant_id = c.tenant_id) AS agent_picture,
       ${someAgentIsOnline('c.tenant_id')} AS agent_online, c.owner = 'ai' AND c.status <> 'closed' AS has_assistant, w.ai_settings->>'disclosure' AS disclosure,
       r.score, r.comment, r.created_at AS rated_at, r.updated_at AS rating_changed_at,
       c.status = 'closed' AND EXISTS (SELECT FROM chat_conversations n WHERE n.visitor_id = c.visitor_id AND n.environment = c.environment
         AND n.status <> 'closed') AS is_continued,
       c.status = 'closed' AND c.closed_at > now() - make_interval(days => ${ratingDays})
         AND (r.id IS NULL OR r.created_at > now() - make_interval(hours => ${ratingChangeHours})) AS can_be_rated,
       w.settings`;
export const visitorViewJoins = `LEFT JOIN chat_ratings r ON r.conversation_id = c.id AND r.closing = c.closings
       LEFT JOIN chat_widgets w ON w.tenant_id = c.tenant_id`;

/** A conversation as its visitor sees it. */
export const presentVisitorConversation = (row: VisitorViewRow): VisitorConversation => ({
  id: row.id,
  status: row.status,
  lastSeq: row.last_seq,
  visitorReadSeq: row.visitor_read_seq,
  agentReadSeq: row.agent_read_seq,
  agentName: row.agent_name,
  agentPicture: row.agent_picture === null ? null : picturePath(row.agent_picture),
  agentOnline: row.agent_online,
  assistant: row.has_assistant === true ? { disclosure: row.disclosure ?? '' } : null,
  closedAt: row.closed_at?.toISOString() ?? null,
  isContinued: row.is_continued,
  rating:
    row.score === null
      ? null
      : {
          score: row.score,
          comment: row.comment,
          createdAt: row.rated_at.toISOString(),
          updatedAt: row.rating_changed_at.toISOString(),
        },
  ratingOffered: completeSettings(row.settings ?? {}).ratings && row.can_be_rated,
});

/**
 * Reads a conversation as its visitor sees it and the chat settings, in one round trip.
 * @throws AppError `not_found`.
 */
export async function readVisitorView(
  tx: Transaction,
  id: string,
): Promise<{ conversation: VisitorConversation; settings: ChatSettings }> {
  const { rows } = await tx.query<VisitorViewRow>(
    'read_visitor_conversation',
    `SELECT ${visitorViewColumns} FROM chat_conversations c ${visitorViewJoins} WHERE c.id = $1`,
    [id],
  );
  const [row] = rows;
  if (row === undefined) throw notFound('conversation', id);
  return { settings: completeSettings(row.settings ?? {}), conversation: presentVisitorConversation(row) };
}

/** The settings that the page shows at a given time. */
export function presentPage(settings: ChatSettings, now: Date): ChatPageSettings {
  const open = isOpen(settings.businessHours, now);
  const { title, greeting, colour, locale, allowAnonymous, preChat, ratings } = settings;
  return {
    title,
    greeting,
    colour,
    locale,
    allowAnonymous,
    preChat,
    ratings,
    open,
    awayMessage: open ? '' : (settings.businessHours?.awayMessage ?? ''),
  };
}
