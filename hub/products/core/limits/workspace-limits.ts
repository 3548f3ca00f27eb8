import { maxCallConnections } from '../../../../shared/contract/calls/connections.ts';
import { maxCannedReplies } from '../../../../shared/contract/chat/canned-replies.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';

interface Limit {
  /** How many a workspace may have. */
  max: number;
  /** As the message calls them. */
  name: string;
  remedy: string;
  /** Which rows count, and the order in which an index of the workspace has them. */
  rows: string;
}

const deleteSome = 'delete some that nobody uses';

/** How many of each kind a workspace may have: far beyond what people make by hand, and few enough that a script gone wild fills no disk. */
const limits = {
  workflow: {
    max: 5_000,
    name: 'workflows',
    remedy: deleteSome,
    rows: 'workflows WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY id',
  },
  schedule: {
    max: 1_000,
    name: 'workflows with a schedule',
    remedy: 'delete some, or give them another trigger',
    rows: `workflows WHERE tenant_id = $1 AND deleted_at IS NULL AND trigger->>'type' = 'schedule' ORDER BY id`,
  },
  sequence: { max: 1_000, name: 'sequences', remedy: deleteSome, rows: 'sequences WHERE tenant_id = $1 ORDER BY id' },
  agent: { max: 1_000, name: 'agents', remedy: deleteSome, rows: 'agents WHERE tenant_id = $1 ORDER BY id' },
  toolProfile: {
    max: 1_000,
    name: 'tool profiles',
    remedy: deleteSome,
    rows: 'tool_profiles WHERE tenant_id = $1 ORDER BY id',
  },
  channel: { max: 500, name: 'channels', remedy: deleteSome, rows: 'channels WHERE tenant_id = $1 ORDER BY id' },
  contactList: {
    max: 1_000,
    name: 'contact lists',
    remedy: deleteSome,
    rows: 'contact_lists WHERE tenant_id = $1 ORDER BY id',
  },
  contact: {
    max: 100_000,
    name: 'contacts',
    remedy: 'delete some, or lists that nobody uses',
    rows: 'contacts WHERE tenant_id = $1 ORDER BY email',
  },
  campaign: { max: 5_000, name: 'campaigns', remedy: deleteSome, rows: 'campaigns WHERE tenant_id = $1 ORDER BY id' },
  node: {
    max: 2_000,
    name: 'nodes and pairing codes',
    remedy: 'revoke some that nobody uses',
    rows: 'nodes WHERE tenant_id = $1 AND revoked_at IS NULL ORDER BY id',
  },
  session: {
    max: 50_000,
    name: 'sessions',
    remedy: 'delete some that are over',
    rows: 'automation_sessions WHERE tenant_id = $1 ORDER BY id',
  },
  webhook: {
    max: 20,
    name: 'webhooks',
    remedy: deleteSome,
    rows: 'webhooks WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY id',
  },
  callConnection: {
    max: maxCallConnections,
    name: 'connections to carriers',
    remedy: deleteSome,
    rows: 'call_connections WHERE tenant_id = $1 ORDER BY id',
  },
  cannedReply: {
    max: maxCannedReplies,
    name: 'canned replies',
    remedy: deleteSome,
    rows: 'chat_canned_replies WHERE tenant_id = $1 ORDER BY id',
  },
  pack: {
    max: 500,
    name: 'published versions of packs',
    remedy: 'publish further ones in another workspace',
    rows: 'published_packs WHERE tenant_id = $1 ORDER BY pack_id, version',
  },
} satisfies Record<string, Limit>;

export type LimitedKind = keyof typeof limits;

/**
 * The bounds of what a workspace keeps. Counted after a row is written and in its transaction, without a lock: of several at once
 * each sees its own and what is committed, so a workspace goes beyond a limit by no more than was written in that instant.
 */
export class WorkspaceLimits {
  readonly #max: Partial<Record<LimitedKind, number>>;

  /** @param max other numbers than the declared ones; for tests. */
  constructor(max: Partial<Record<LimitedKind, number>> = {}) {
    this.#max = max;
  }

  /** To be called once new rows of a kind are written, which are undone with the transaction. @throws AppError `workspace_limit_reached`. */
  async assertWithin(tx: Transaction, tenantId: string, kind: LimitedKind): Promise<void> {
    const { name, remedy, rows: from } = limits[kind];
    const max = this.#max[kind] ?? limits[kind].max;
    const { rows } = await tx.query<{ count: number }>(
      `count_${kind}`,
      `SELECT count(*)::int AS count FROM (SELECT FROM ${from} LIMIT $2) AS counted`,
      [tenantId, max + 1],
    );
    if ((rows[0]?.count ?? 0) <= max) return;
    throw new AppError(
      'workspace_limit_reached',
      `A workspace may have ${max.toLocaleString('en')} ${name}, and this one has them; ${remedy}.`,
    );
  }
}
