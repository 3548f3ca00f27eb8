import { maxCallConnections } from '../../../../shared/contract/calls/connections.ts';
import { maxCannedReplies } from '../../../../shared/contract/chat/canned-replies.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';

interface Limit {
  /** Maximum number per workspace. */
  max: number;
  /** Name of the kind in the error message. */
  name: string;
  remedy: string;
  /** FROM clause with the counted rows, in the order of an index on the workspace. */
  rows: string;
}

const deleteUnused = 'delete some that you do not use';

/**
 * Limits per workspace and kind. They are far above manual use, and low enough that a faulty script cannot fill the
 * disk.
 */
const limits = {
  workflow: {
    max: 5_000,
    name: 'workflows',
    remedy: deleteUnused,
    rows: 'workflows WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY id',
  },
  schedule: {
    max: 1_000,
    name: 'workflows with a schedule',
    remedy: 'delete some, or give them another trigger',
    rows: `workflows WHERE tenant_id = $1 AND deleted_at IS NULL AND trigger->>'type' = 'schedule' ORDER BY id`,
  },
  sequence: { max: 1_000, name: 'sequences', remedy: deleteUnused, rows: 'sequences WHERE tenant_id = $1 ORDER BY id' },
  agent: { max: 1_000, name: 'agents', remedy: deleteUnused, rows: 'agents WHERE tenant_id = $1 ORDER BY id' },
  toolProfile: {
    max: 1_000,
    name: 'tool profiles',
    remedy: deleteUnused,
    rows: 'tool_profiles WHERE tenant_id = $1 ORDER BY id',
  },
  channel: { max: 500, name: 'channels', remedy: deleteUnused, rows: 'channels WHERE tenant_id = $1 ORDER BY id' },
  contactList: {
    max: 1_000,
    name: 'contact lists',
    remedy: deleteUnused,
    rows: 'contact_lists WHERE tenant_id = $1 ORDER BY id',
  },
  contact: {
    max: 100_000,
    name: 'contacts',
    remedy: 'delete some, or lists that you do not use',
    rows: 'contacts WHERE tenant_id = $1 ORDER BY email',
  },
  campaign: { max: 5_000, name: 'campaigns', remedy: deleteUnused, rows: 'campaigns WHERE tenant_id = $1 ORDER BY id' },
  node: {
    max: 2_000,
    name: 'nodes and pairing codes',
    remedy: 'revoke some that you do not use',
    rows: 'nodes WHERE tenant_id = $1 AND revoked_at IS NULL ORDER BY id',
  },
  session: {
    max: 50_000,
    name: 'sessions',
    remedy: 'delete some that have ended',
    rows: 'automation_sessions WHERE tenant_id = $1 ORDER BY id',
  },
  invitation: {
    max: 500,
    name: 'open invitations',
    remedy: 'revoke some',
    rows: 'invitations WHERE tenant_id = $1 AND expires_at > now() ORDER BY id',
  },
  webhook: {
    max: 20,
    name: 'webhooks',
    remedy: deleteUnused,
    rows: 'webhooks WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY id',
  },
  callConnection: {
    max: maxCallConnections,
    name: 'carrier connections',
    remedy: deleteUnused,
    rows: 'call_connections WHERE tenant_id = $1 ORDER BY id',
  },
  cannedReply: {
    max: maxCannedReplies,
    name: 'canned replies',
    remedy: deleteUnused,
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

/** What each limit counts, and its maximum per workspace. */
export const workspaceLimits: readonly { name: string; max: number }[] = Object.values(limits).map(({ name, max }) => ({
  name,
  max,
}));

/**
 * Checks the limits of a workspace.
 * It counts after the insert, in the same transaction and without a lock. Concurrent transactions do not see each
 * other's rows, so the total can exceed the limit by their rows.
 */
export class WorkspaceLimits {
  readonly #max: Partial<Record<LimitedKind, number>>;

  /** @param max replaces declared limits in tests. */
  constructor(max: Partial<Record<LimitedKind, number>> = {}) {
    this.#max = max;
  }

  /** Call it after the insert. The error rolls back the transaction. @throws AppError `workspace_limit_reached`. */
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
      `A workspace may have ${max.toLocaleString('en')} ${name}, and this workspace has reached the limit; ${remedy}.`,
    );
  }
}
