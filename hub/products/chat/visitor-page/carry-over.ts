import type { Transaction } from '../../../platform/db/database.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { hashOf } from './sessions.ts';

export interface SignIn {
  /** Session token of the anonymous visitor. */
  anonymousSession: string;
  /** The link that names the identified visitor. */
  link: { id: string; visitorId: string; conversationId: string };
}

export interface CarriedOver {
  /** All conversations that changed their visitor. */
  conversationIds: string[];
  /** The conversation in which the visitor continues. It is the link's conversation if the anonymous one is closed. */
  conversationId: string;
  /**
   * Text for a private note: the details that the anonymous visitor entered, and titles from agents. May be empty.
   */
  introduction: string;
}

/**
 * Moves the conversations of an anonymous visitor to the identified visitor of a link. The caller proves both
 * identities by a session token and a link token. The anonymous visitor and its sessions are deleted, so that a session
 * carries over once.
 * Messages keep their `seq`; conversations keep their ids and event numbers.
 * @returns null, and changes nothing, when the session is unknown, expired, of an identified or blocked visitor, or of
 * another environment.
 */
export async function carryOver(
  tx: Transaction,
  tenantId: string,
  { anonymousSession, link }: SignIn,
): Promise<CarriedOver | null> {
  const {
    rows: [session],
  } = await tx.query<{ visitor_id: string; conversation_id: string }>(
    'find_anonymous_session',
    `SELECT s.visitor_id, s.conversation_id FROM chat_sessions s JOIN chat_visitors v ON v.id = s.visitor_id
       JOIN chat_conversations c ON c.id = s.conversation_id JOIN chat_conversations l ON l.id = $3
     WHERE s.tenant_id = $1 AND s.token_hash = $2 AND s.expires_at > now() AND v.external_id IS NULL AND v.blocked_at IS NULL
       AND v.erased_at IS NULL AND c.visitor_id = v.id AND c.environment = l.environment`,
    [tenantId, hashOf(anonymousSession), link.conversationId],
  );
  if (session === undefined) return null;
  const [anonymous, visitor] = [session.visitor_id, link.visitorId];
  // The lock order of all transactions: conversations, then visitors, then their dependent rows.
  const { rows: locked } = await tx.query<{ id: string; name: string; status: string; is_theirs: boolean }>(
    'lock_conversations_to_carry_over',
    `SELECT id, name, status, visitor_id = $2 AS is_theirs FROM chat_conversations
     WHERE tenant_id = $1 AND (visitor_id = $2 OR id = $3) ORDER BY id FOR UPDATE`,
    [tenantId, anonymous, link.conversationId],
  );
  const { rows: visitors } = await tx.query<{ id: string; display_name: string | null; email: string | null }>(
    'lock_visitors_of_sign_in',
    `SELECT id, display_name, email FROM chat_visitors WHERE tenant_id = $1 AND id = ANY($2::uuid[]) AND blocked_at IS NULL AND erased_at IS NULL ORDER BY id FOR UPDATE`,
    [tenantId, [anonymous, visitor]],
  );
  // A concurrent sign-in, block or erasure committed first.
  const before = visitors.find(({ id }) => id === anonymous);
  if (before === undefined || visitors.length !== 2) return null;
  const theirs = locked.filter(({ is_theirs: isTheirs }) => isTheirs);
  const ids = theirs.map(({ id }) => id);
  const isOpen = theirs.some(({ id, status }) => id === session.conversation_id && status !== 'closed');
  const conversationId = isOpen ? session.conversation_id : link.conversationId;
  await Promise.all([
    tx.query(
      'carry_over_conversations',
      // The one in which they go on is their latest: that of a later link is found by it. A title of before may be a
      // typed name: none is kept.
      `UPDATE chat_conversations c SET visitor_id = v.id, updated_at = clock_timestamp(),
         moved_at = CASE WHEN c.id = $4 THEN clock_timestamp() ELSE c.moved_at END,
         moved_by = CASE WHEN c.id = $4 THEN pg_current_xact_id() ELSE c.moved_by END,
         name = coalesce(v.display_name, v.email, v.external_id, 'Visitor')
       FROM chat_visitors v WHERE v.id = $3 AND c.tenant_id = $1 AND c.id = ANY($2::uuid[])`,
      [tenantId, ids, visitor, conversationId],
    ),
    tx.query(
      'carry_over_messages',
      `UPDATE chat_messages SET sender_id = $4
       WHERE tenant_id = $1 AND conversation_id = ANY($2::uuid[]) AND sender_type = 'visitor' AND sender_id = $3`,
      [tenantId, ids, anonymous, visitor],
    ),
    tx.query(
      'carry_over_files',
      `UPDATE chat_files SET sent_by = $4 WHERE tenant_id = $1 AND conversation_id = ANY($2::uuid[]) AND sent_by = $3`,
      [tenantId, ids, `visitor:${anonymous}`, `visitor:${visitor}`],
    ),
    tx.query(
      'point_link_to_carried_over',
      'UPDATE chat_links SET conversation_id = $3 WHERE tenant_id = $1 AND id = $2',
      [tenantId, link.id, conversationId],
    ),
    // Deletes the sessions too.
    tx.query('remove_anonymous_visitor', 'DELETE FROM chat_visitors WHERE tenant_id = $1 AND id = $2', [
      tenantId,
      anonymous,
    ]),
    recordAudit(tx, {
      tenantId,
      actor: `visitor:${visitor}`,
      action: 'visitor.signed_in',
      targetType: 'visitor',
      targetId: visitor,
      details: { anonymousVisitorId: anonymous, conversationIds: ids },
    }),
  ]);
  const knownNames = [before.display_name, before.email].filter((part) => part !== null);
  const titles = new Set(theirs.map(({ name }) => name).filter((name) => ![...knownNames, 'Visitor'].includes(name)));
  const sentences = [
    ...(knownNames.length === 0 ? [] : [`Before, they called themselves: ${knownNames.join(', ')}.`]),
    ...(titles.size === 0 ? [] : [`Earlier title: ${[...titles].join(', ')}.`]),
  ];
  return {
    conversationIds: ids,
    conversationId,
    introduction: sentences.length === 0 ? '' : ['The visitor signed in.', ...sentences].join(' '),
  };
}
