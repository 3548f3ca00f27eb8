import type { Transaction } from '../../../platform/db/database.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { publishChatChange } from '../changes/index.ts';
import { conversationColumns } from '../conversations/index.ts';
import type { ConversationRow } from '../conversations/index.ts';
import { appendConversation } from './append-conversation.ts';
import type { Append, AppendDependencies } from './append-conversation.ts';
import { hashOf } from './sessions.ts';

export interface SignIn {
  /** Session token of the anonymous visitor. */
  anonymousSession: string;
  /** The link that names the identified visitor. */
  link: { id: string; visitorId: string; conversationId: string };
}

type LockedConversation = ConversationRow & { is_theirs: boolean; has_started: boolean };

/**
 * Moves the conversations of an anonymous visitor to the identified visitor of a link. The caller proves both
 * identities by a session token and a link token. The anonymous visitor and its sessions are deleted, so that a session
 * carries over once.
 * If the identified visitor has a conversation that is not closed, the messages of the anonymous visitor's open
 * conversation move into it, so that its id stays the id that the site knows. That of the link is preferred.
 * @returns the id of the conversation in which the visitor continues; null, and changes nothing, when the session is unknown, expired, of an identified or blocked visitor, or of
 * another environment.
 */
export async function carryOver(
  tx: Transaction,
  tenantId: string,
  deps: AppendDependencies,
  { anonymousSession, link }: SignIn,
): Promise<string | null> {
  const { messageWriter } = deps;
  const {
    rows: [session],
  } = await tx.query<{ visitor_id: string; conversation_id: string; open_id: string | null }>(
    'find_anonymous_session',
    `SELECT s.visitor_id, s.conversation_id, (
       SELECT o.id FROM chat_conversations o WHERE o.visitor_id = $4 AND o.environment = l.environment AND o.status <> 'closed'
       ORDER BY o.id = l.id DESC, o.moved_at DESC, o.id DESC LIMIT 1) AS open_id
     FROM chat_sessions s JOIN chat_visitors v ON v.id = s.visitor_id
       JOIN chat_conversations c ON c.id = s.conversation_id JOIN chat_conversations l ON l.id = $3
     WHERE s.tenant_id = $1 AND s.token_hash = $2 AND s.expires_at > now() AND v.external_id IS NULL AND v.blocked_at IS NULL
       AND v.erased_at IS NULL AND c.visitor_id = v.id AND c.environment = l.environment`,
    [tenantId, hashOf(anonymousSession), link.conversationId, link.visitorId],
  );
  if (session === undefined) return null;
  const [anonymous, visitor] = [session.visitor_id, link.visitorId];
  const targetId = session.open_id ?? link.conversationId;
  // The lock order of all transactions: conversations, then the assignment, then visitors, then their dependent rows.
  const { rows: locked } = await tx.query<LockedConversation>(
    'lock_conversations_to_carry_over',
    `SELECT ${conversationColumns}, has_started, visitor_id = $2 AS is_theirs FROM chat_conversations
     WHERE tenant_id = $1 AND (visitor_id = $2 OR id = ANY($3::uuid[])) ORDER BY id FOR UPDATE`,
    [tenantId, anonymous, [link.conversationId, targetId]],
  );
  const theirs = locked.filter(({ is_theirs: isTheirs }) => isTheirs);
  const notClosed = locked.filter(({ status }) => status !== 'closed');
  const source = notClosed.find(({ id, is_theirs: isTheirs }) => isTheirs && id === session.conversation_id);
  const target = notClosed.find(({ id, visitor_id: of }) => id === targetId && of === visitor);
  if (source !== undefined && target !== undefined)
    await deps.assignment.lock(tx, tenantId, target.id, source.has_started ? 'returning' : 'message');
  const { rows: visitors } = await tx.query<{ id: string; display_name: string | null; email: string | null }>(
    'lock_visitors_of_sign_in',
    `SELECT id, display_name, email FROM chat_visitors WHERE tenant_id = $1 AND id = ANY($2::uuid[]) AND blocked_at IS NULL AND erased_at IS NULL ORDER BY id FOR UPDATE`,
    [tenantId, [anonymous, visitor]],
  );
  // A concurrent sign-in, block or erasure committed first.
  const before = visitors.find(({ id }) => id === anonymous);
  if (before === undefined || visitors.length !== 2) return null;
  const ids = theirs.map(({ id }) => id);
  const conversationId = source === undefined ? link.conversationId : (target ?? source).id;
  await Promise.all([
    tx.query(
      'carry_over_conversations',
      // The conversation in which the visitor continues is the newest, so that a later link opens it. An earlier title
      // may be a typed name, so none is kept.
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
  const append =
    source === undefined || target === undefined
      ? null
      : { source: { ...source, visitor_id: visitor }, target, hasStarted: source.has_started };
  if (append !== null)
    await appendConversation(tx, tenantId, deps, append, { actor: `visitor:${visitor}`, environment: null });
  const content = noteOf(before, theirs, append);
  // The name and email address of an anonymous visitor are unverified. They are kept in a note for agents only.
  if (content !== '')
    await messageWriter.write(
      tx,
      tenantId,
      conversationId,
      { content, private: true, senderType: 'system', senderId: null },
      { actor: 'system', environment: null },
    );
  for (const id of ids) {
    publishChatChange(tx, tenantId, id, { kind: 'access' });
    publishChatChange(tx, tenantId, id, { kind: 'conversation' });
  }
  return conversationId;
}

/** Text of the private note: what the anonymous visitor entered, titles from agents, and which messages moved. */
function noteOf(
  { display_name: name, email }: { display_name: string | null; email: string | null },
  theirs: readonly ConversationRow[],
  append: Append | null,
): string {
  const knownNames = [name, email].filter((part) => part !== null);
  const titles = new Set(theirs.map((each) => each.name).filter((each) => ![...knownNames, 'Visitor'].includes(each)));
  const count = append === null || append.target.last_seq === 0 ? 0 : append.source.last_seq;
  const sentences = [
    ...(count === 0
      ? []
      : [`The last ${count === 1 ? 'message is' : `${count} messages are`} from before the sign-in.`]),
    ...(knownNames.length === 0 ? [] : [`Before, they called themselves: ${knownNames.join(', ')}.`]),
    ...(titles.size === 0 ? [] : [`Earlier title: ${[...titles].join(', ')}.`]),
  ];
  return sentences.length === 0 ? '' : ['The visitor signed in.', ...sentences].join(' ');
}
