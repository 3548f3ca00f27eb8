import type { z } from 'zod';
import type { ChatSettings } from '../../../../shared/contract/chat/settings.ts';
import type { visitorPage as resource } from '../../../../shared/contract/chat/visitor-page.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError, invalidBody } from '../../../../shared/errors.ts';
import { anonymizeAddress } from '../../../platform/anonymous-address.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { VisitorIdentity } from '../../../platform/http/auth/principal.ts';
import { newId } from '../../../platform/ids.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { addressBlock } from '../../../platform/rate-limiter/address-block.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import type { Assignment } from '../assignment/index.ts';
import { publishChatChange } from '../changes/index.ts';
import { conversationColumns, visitorColumns } from '../conversations/index.ts';
import type { ConversationRow, ConversationWriter, MessageWriter, VisitorRow } from '../conversations/index.ts';
import type { ChatEvents } from '../events/index.ts';
import { completeSettings } from '../settings/index.ts';
import { carryOver } from './carry-over.ts';
import type { SessionOpenings } from './session-openings.ts';
import { hashOf, tokenInvalid, visitorBlocked } from './sessions.ts';
import type { VisitorSessions } from './sessions.ts';
import { presentPage, readVisitorView } from './view.ts';

type OpenBody = z.output<typeof resource.openVisitorSession.body>;

/** After a renewal, the old session stays valid for this long. */
const overlapSeconds = 60;

/** Anonymous visitors who may start a chat per workspace and hour: from one address, and in total. */
export interface AnonymousVisitorLimits {
  perAddress: number;
  perWorkspace: number;
}

export interface VisitorEntryDependencies {
  db: Database;
  logger: Logger;
  anonymousVisitorLimits: AnonymousVisitorLimits;
  rateLimiter: RateLimiter;
  openings: SessionOpenings;
  sessions: VisitorSessions;
  conversationWriter: ConversationWriter;
  messageWriter: MessageWriter;
  assignment: Assignment;
  events: ChatEvents;
}

interface Site {
  tenant_id: string;
  settings: Partial<ChatSettings>;
  entitlements: Record<Entitlement, boolean>;
}

interface Link extends Site {
  id: string;
  visitor_id: string;
  conversation_id: string;
  site_key: string | null;
  is_expired: boolean;
  is_blocked: boolean;
}

/**
 * Opens, renews and ends the sessions of visitors.
 */
export class VisitorEntry {
  readonly #deps: VisitorEntryDependencies;
  /** Whether this process has logged that an address reached its limit. */
  #hasLoggedLimit = false;

  constructor(dependencies: VisitorEntryDependencies) {
    this.#deps = dependencies;
  }

  /** @throws AppError `not_found`, `product_not_entitled`. */
  async page(siteKey: string) {
    const site = await this.#site(siteKey);
    if (site === null) throw new AppError('not_found', 'No chat has this site key.');
    assertEntitled(site);
    return presentPage(completeSettings(site.settings), new Date());
  }

  /**
   * Starts a session: of the visitor of a link token, or of a new anonymous visitor if the workspace allows anonymous
   * visitors.
   * @throws AppError `chat_token_invalid`, `chat_token_expired`, `visitor_blocked`, `product_not_entitled`,
   * `unauthenticated`, `validation_failed`, `rate_limited`.
   */
  async open(body: OpenBody, address: string) {
    const { openings } = this.#deps;
    if (body.token === undefined && body.anonymousSession !== undefined)
      throw invalidBody('anonymousSession', 'needs the link token of the visitor who signs in, as `token`');
    openings.assertOpen(address);
    if (body.token === undefined) {
      await openings.countAddress(address);
      return this.#openAnonymous(body, address);
    }
    const { token, anonymousSession } = body;
    return openings.countingRefusals(address, () => this.#openLink(body.siteKey, { token, anonymousSession }, address));
  }

  /** Starts a new session and shortens the old one to `overlapSeconds`. @throws AppError `chat_token_invalid`. */
  renew({ tenantId, sessionId, visitorId, conversationId }: VisitorIdentity) {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const [, { rowCount }] = await Promise.all([
        lockConversationKey(tx, conversationId),
        tx.query(
          'shorten_visitor_session',
          'UPDATE chat_sessions SET expires_at = least(expires_at, now() + make_interval(secs => $2)) WHERE id = $1',
          [sessionId, overlapSeconds],
        ),
      ]);
      if (rowCount === 0) throw tokenInvalid();
      return this.#session(tx, tenantId, visitorId, conversationId);
    });
  }

  async end({ tenantId, sessionId, conversationId }: VisitorIdentity) {
    await this.#deps.db.workspace(tenantId, (tx) => {
      publishChatChange(tx, tenantId, conversationId, { kind: 'access' });
      return tx.query('end_visitor_session', 'DELETE FROM chat_sessions WHERE id = $1', [sessionId]);
    });
    return { ended: true as const };
  }

  /** Starts a session in the visitor's open conversation, or in a new one. The current conversation must be closed. @throws AppError `conflict`, `chat_token_invalid`, `visitor_blocked`.
   */
  async begin({ tenantId, sessionId, visitorId, conversationId, environment }: VisitorIdentity) {
    const { db } = this.#deps;
    return db.workspace(tenantId, async (tx) => {
      const [, locked, session, present, found] = await Promise.all([
        lockConversationKey(tx, conversationId),
        tx.query<VisitorRow & { is_blocked: boolean; is_erased: boolean }>(
          'lock_visitor',
          `SELECT ${visitorColumns}, blocked_at IS NOT NULL AS is_blocked, erased_at IS NOT NULL AS is_erased FROM chat_visitors WHERE id = $1 FOR NO KEY UPDATE`,
          [visitorId],
        ),
        // These statements run after the locks, so that they see a concurrent block, revocation or new conversation.
        tx.query('has_visitor_session', 'SELECT FROM chat_sessions WHERE id = $1', [sessionId]),
        tx.query<{ status: ConversationRow['status'] }>(
          'read_conversation_status',
          'SELECT status FROM chat_conversations WHERE id = $1',
          [conversationId],
        ),
        // Sees a conversation that a concurrent transaction opened for this visitor.
        tx.query<ConversationRow>(
          'find_open_conversation_of_session',
          `SELECT ${conversationColumns} FROM chat_conversations WHERE visitor_id = $1 AND status <> 'closed' AND environment = $2
           ORDER BY moved_at DESC, id DESC LIMIT 1`,
          [visitorId, environment],
        ),
      ]);
      const [visitor] = locked.rows;
      if (visitor === undefined || visitor.is_erased || session.rowCount === 0) throw tokenInvalid();
      if (visitor.is_blocked) throw visitorBlocked();
      if (present.rows[0]?.status !== 'closed')
        throw new AppError('conflict', 'This conversation is not closed. Continue in it.');
      const [open] = found.rows;
      const name = visitor.display_name ?? visitor.email ?? visitor.external_id ?? defaultVisitorName;
      const { id } = open ?? (await this.#openConversation(tx, tenantId, { name, visitor }, environment));
      return this.#session(tx, tenantId, visitorId, id);
    });
  }

  async #openLink(
    siteKey: string,
    { token, anonymousSession }: { token: string; anonymousSession: string | undefined },
    address: string,
  ) {
    const { db } = this.#deps;
    const [link] = await db.systemStatement<Link>(
      'find_chat_link',
      `SELECT l.id, l.tenant_id, l.visitor_id, l.conversation_id, w.site_key, coalesce(w.settings, '{}') AS settings, l.expires_at <= now() AS is_expired,
         v.blocked_at IS NOT NULL AS is_blocked, t.entitlements
       FROM chat_links l JOIN chat_visitors v ON v.id = l.visitor_id JOIN tenants t ON t.id = l.tenant_id
         LEFT JOIN chat_widgets w ON w.tenant_id = l.tenant_id WHERE l.token_hash = $1`,
      [hashOf(token)],
    );
    if (link === undefined || link.site_key !== siteKey) throw tokenInvalid();
    if (link.is_blocked) throw visitorBlocked();
    if (link.is_expired) throw new AppError('chat_token_expired', 'This chat link is over; ask for a new one.');
    assertEntitled(link);
    await this.#deps.openings.countVisitor(link.visitor_id);
    const { keepAddresses } = completeSettings(link.settings);
    const { tenant_id: tenantId, visitor_id: visitorId, conversation_id: conversationId } = link;
    return db.workspace(tenantId, async (tx) => {
      const signIn = { id: link.id, visitorId, conversationId };
      const moved =
        anonymousSession === undefined
          ? null
          : await carryOver(tx, tenantId, this.#deps, { anonymousSession, link: signIn });
      // The same lock order as blocking and erasing a visitor.
      const [, seen, { rowCount }] = await Promise.all([
        lockConversationKey(tx, conversationId),
        tx.query<{ is_blocked: boolean }>(
          'touch_visitor',
          `UPDATE chat_visitors SET last_seen_at = now(), last_address = coalesce($2, last_address) WHERE id = $1
           RETURNING blocked_at IS NOT NULL AND erased_at IS NULL AS is_blocked`,
          [visitorId, keepAddresses ? address : anonymizeAddress(address)],
        ),
        tx.query('lock_chat_link', 'SELECT FROM chat_links WHERE id = $1 FOR KEY SHARE', [link.id]),
      ]);
      if (seen.rows[0]?.is_blocked === true) throw visitorBlocked();
      if (rowCount === 0) throw tokenInvalid();
      const session = await this.#session(tx, tenantId, visitorId, moved ?? conversationId);
      return { ...session, carriedOver: moved !== null };
    });
  }

  async #openAnonymous({ siteKey, name, email }: OpenBody, address: string) {
    const { db } = this.#deps;
    const site = await this.#site(siteKey);
    if (site === null) throw tokenInvalid();
    assertEntitled(site);
    const { allowAnonymous, preChat, keepAddresses } = completeSettings(site.settings);
    if (!allowAnonymous)
      throw new AppError('unauthenticated', 'This chat takes visitors with a link only; send its token.');
    const tenantId = site.tenant_id;
    const given = { name: preChatValue(preChat.name, name), email: preChatValue(preChat.email, email) };
    for (const field of ['name', 'email'] as const)
      if (preChat[field] === 'required' && given[field] === null) throw invalidBody(field, 'is needed in this chat');
    await this.#limitAnonymous(tenantId, address);
    return db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<VisitorRow>(
        'begin_anonymous_visitor',
        `INSERT INTO chat_visitors (id, tenant_id, external_id, display_name, email, attributes, last_seen_at, last_address)
         VALUES ($1, $2, NULL, $3, $4, '{}', now(), $5) RETURNING ${visitorColumns}`,
        [newId(), tenantId, given.name, given.email, keepAddresses ? address : anonymizeAddress(address)],
      );
      const visitor = rows[0] as VisitorRow;
      const title = given.name ?? given.email ?? defaultVisitorName;
      const { id } = await this.#openConversation(tx, tenantId, { name: title, visitor }, 'live');
      return this.#session(tx, tenantId, visitor.id, id);
    });
  }

  async #limitAnonymous(tenantId: string, address: string): Promise<void> {
    const { rateLimiter, anonymousVisitorLimits, logger } = this.#deps;
    const anHour = (limit: number) => ({ limit, windowSeconds: 3_600 });
    const ofAddress = await rateLimiter.take(
      `chat-nobody:${tenantId}:${addressBlock(address)}`,
      anHour(anonymousVisitorLimits.perAddress),
    );
    if (!ofAddress.allowed && !this.#hasLoggedLimit) {
      this.#hasLoggedLimit = true;
      logger.warn(
        { tenantId, address: anonymizeAddress(address), limit: ofAddress.limit },
        'an address reached its limit of anonymous chat visitors an hour (ANONYMOUS_VISITORS_PER_ADDRESS_PER_HOUR); if the hub is behind a proxy, name the proxy in TRUSTED_PROXIES',
      );
    }
    // A refused address does not count towards the workspace limit.
    const full = ofAddress.allowed
      ? await rateLimiter.take(`chat-nobody:${tenantId}`, anHour(anonymousVisitorLimits.perWorkspace))
      : ofAddress;
    if (full.allowed) return;
    const retryAfterSeconds = Math.max(1, Math.ceil((full.resetAt.getTime() - Date.now()) / 1000));
    throw new AppError(
      'rate_limited',
      `Too many new visitors; try again in ${Math.ceil(retryAfterSeconds / 60)} minutes.`,
      { retryAfterSeconds, limit: full.limit },
    );
  }

  #openConversation(
    tx: Transaction,
    tenantId: string,
    { name, visitor }: { name: string; visitor: VisitorRow },
    environment: 'live' | 'test',
  ): Promise<ConversationRow> {
    return this.#deps.conversationWriter.open(
      tx,
      tenantId,
      { name, source: 'widget', priority: 'normal', visitor, hasStarted: false },
      { actor: `visitor:${visitor.id}`, environment },
    );
  }

  async #session(tx: Transaction, tenantId: string, visitorId: string, conversationId: string) {
    const [{ token, expiresAt }, { conversation, settings }] = await Promise.all([
      this.#deps.sessions.begin(tx, tenantId, { visitorId, conversationId }),
      readVisitorView(tx, conversationId),
    ]);
    return {
      token,
      expiresAt: expiresAt.toISOString(),
      visitorId,
      conversation,
      settings: presentPage(settings, new Date()),
      carriedOver: false,
    };
  }

  async #site(siteKey: string): Promise<Site | null> {
    const [site] = await this.#deps.db.systemStatement<Site>(
      'find_chat_site',
      'SELECT w.tenant_id, w.settings, t.entitlements FROM chat_widgets w JOIN tenants t ON t.id = w.tenant_id WHERE w.site_key = $1',
      [siteKey],
    );
    return site ?? null;
  }
}

/** Locks a conversation so that a concurrent revocation of its links and sessions also finds the new session. */
const lockConversationKey = (tx: Transaction, id: string) =>
  tx.query('lock_conversation_key', 'SELECT FROM chat_conversations WHERE id = $1 FOR KEY SHARE', [id]);

/** Name of the conversation of a visitor without a name. */
const defaultVisitorName = 'Visitor';

/** The value of a pre-chat field. Null if the field is off or empty. */
const preChatValue = (setting: 'off' | 'optional' | 'required', value: string | undefined): string | null =>
  setting === 'off' || value === undefined || value.trim() === '' ? null : value;

function assertEntitled({ entitlements }: Site): void {
  if (!entitlements.conversations_suite)
    throw new AppError('product_not_entitled', 'This workspace is not entitled to conversations_suite.');
}
