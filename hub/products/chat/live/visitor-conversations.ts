import { ratingChangeHours, ratingDays } from '../../../../shared/contract/chat/shapes.ts';
import type { ConversationStatus } from '../../../../shared/contract/chat/shapes.ts';
import type { VisitorConversation } from '../../../../shared/contract/chat/visitor-page.ts';
import type { Database } from '../../../platform/db/database.ts';
import { awaySeconds } from '../assignment/index.ts';
import { completeSettings } from '../settings/index.ts';

interface Row {
  ask: number;
  id: string;
  status: ConversationStatus;
  last_seq: number;
  visitor_read_seq: number;
  agent_read_seq: number;
  agent_name: string | null;
  agent_online: boolean;
  closed_at: Date | null;
  score: number | null;
  comment: string | null;
  rated_at: Date | null;
  rating_changed_at: Date | null;
  settings: Parameters<typeof completeSettings>[0] | null;
  now: Date;
}

/** Conversations as their visitors see them; null for one that there is not. */
export async function readVisitorConversations(
  db: Database,
  asked: readonly { tenantId: string; conversationId: string }[],
): Promise<(VisitorConversation | null)[]> {
  const rows = await db.systemStatement<Row>(
    'read_visitor_conversations',
    `WITH asked AS (SELECT * FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS asked (tenant_id, id, ask)),
       workspaces AS (SELECT w.tenant_id, (SELECT settings FROM chat_widgets s WHERE s.tenant_id = w.tenant_id) AS settings,
         EXISTS (SELECT FROM chat_agents a WHERE a.tenant_id = w.tenant_id AND a.presence = 'online' AND a.seen_at > now() - make_interval(secs => $3)) AS agent_online
         FROM (SELECT DISTINCT tenant_id FROM asked) w)
     SELECT asked.ask::int, c.id, c.status, c.last_seq, c.visitor_read_seq, c.agent_read_seq, split_part(u.email, '@', 1) AS agent_name,
       w.agent_online, w.settings, c.closed_at, r.score, r.comment, r.created_at AS rated_at, r.updated_at AS rating_changed_at, now()
     FROM asked JOIN workspaces w ON w.tenant_id = asked.tenant_id JOIN chat_conversations c ON c.tenant_id = asked.tenant_id AND c.id = asked.id
       LEFT JOIN users u ON u.id = c.assigned_user_id AND u.tenant_id = c.tenant_id
       LEFT JOIN chat_ratings r ON r.conversation_id = c.id AND r.closing = c.closings`,
    [asked.map(({ tenantId }) => tenantId), asked.map(({ conversationId }) => conversationId), awaySeconds],
  );
  const found: (VisitorConversation | null)[] = asked.map(() => null);
  for (const row of rows) found[row.ask - 1] = present(row);
  return found;
}

function present(row: Row): VisitorConversation {
  const hoursSince = (at: Date | null) => (at === null ? 0 : (row.now.getTime() - at.getTime()) / 3_600_000);
  const isRated = row.score !== null;
  return {
    id: row.id,
    status: row.status,
    lastSeq: row.last_seq,
    visitorReadSeq: row.visitor_read_seq,
    agentReadSeq: row.agent_read_seq,
    agentName: row.agent_name,
    agentOnline: row.agent_online,
    closedAt: row.closed_at?.toISOString() ?? null,
    rating: isRated
      ? {
          score: row.score as number,
          comment: row.comment ?? '',
          createdAt: (row.rated_at as Date).toISOString(),
          updatedAt: (row.rating_changed_at as Date).toISOString(),
        }
      : null,
    ratingOffered:
      row.closed_at !== null &&
      row.status === 'closed' &&
      completeSettings(row.settings ?? {}).ratings &&
      hoursSince(row.closed_at) < ratingDays * 24 &&
      (!isRated || hoursSince(row.rated_at) < ratingChangeHours),
  };
}
