import type { z } from 'zod';
import { marketing as resource } from '../../../shared/contract/marketing/marketing.ts';
import { AppError, notFound } from '../../../shared/errors.ts';
import type { Cursors } from '../../platform/cursor.ts';
import type { Database } from '../../platform/db/database.ts';
import { and, eq, sql } from '../../platform/db/orm.ts';
import { newId } from '../../platform/ids.ts';
import { readLargePage } from '../../platform/large-pages.ts';
import type { MemoryBudget } from '../../platform/process/memory-budget.ts';
import { recordAudit } from '../core/audit/index.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { lockList } from './contact-lists.ts';
import { campaigns } from './schema.ts';
import { dated, mailCounts, measureCampaigns, readCampaigns } from './store.ts';
import type { CampaignRow } from './store.ts';

type ListQuery = z.output<typeof resource.listCampaigns.query>;
type CreateBody = z.output<typeof resource.createCampaign.body>;
type UpdateBody = z.output<typeof resource.updateCampaign.body>;

export interface CampaignsDependencies {
  db: Database;
  cursors: Cursors;
  /** Memory budget for responses with long mails. */
  answerMemory: MemoryBudget;
  limits: WorkspaceLimits;
}

/** Creates, lists, updates and deletes campaigns. */
export class Campaigns {
  readonly #deps: CampaignsDependencies;

  constructor(dependencies: CampaignsDependencies) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: ListQuery) {
    const { db } = this.#deps;
    return readLargePage(this.#deps, tenantId, `campaigns:${tenantId}`, query, {
      measure: (limit, before) => db.read(tenantId, (tx) => measureCampaigns(tx, tenantId, limit, before)),
      read: (ids) => db.read(tenantId, (tx) => readCampaigns(tx, tenantId, ids)),
      present: presentCampaign,
    });
  }

  /** @throws AppError `not_found` for an unknown list, `workspace_limit_reached`. */
  create(tenantId: string, body: CreateBody, actor: string) {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      await lockList(tx, tenantId, body.listId, 'key share');
      const [row] = await tx
        .insert(campaigns)
        .values({ id: newId(), tenantId, ...body })
        .returning();
      const created = row as CampaignRow;
      await this.#deps.limits.assertWithin(tx, tenantId, 'campaign');
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'campaign.created',
        targetType: 'campaign',
        targetId: created.id,
        details: { name: created.name },
      });
      return presentCampaign(created);
    });
  }

  /** @throws AppError `not_found`, `validation_failed` when the campaign would have neither html nor text. */
  update(tenantId: string, id: string, body: UpdateBody, actor: string) {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      if (body.listId !== undefined) await lockList(tx, tenantId, body.listId, 'key share');
      const [row] = await tx
        .update(campaigns)
        .set({ ...body, updatedAt: sql`now()` })
        .where(and(eq(campaigns.tenantId, tenantId), eq(campaigns.id, id)))
        .returning();
      if (row === undefined) throw notFound('campaign', id);
      if (row.html === null && row.text === null)
        throw new AppError('validation_failed', 'body.text is required when there is no html.', {
          details: [{ path: 'body.text', message: 'give html or text' }],
        });
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'campaign.updated',
        targetType: 'campaign',
        targetId: id,
        details: { changed: Object.keys(body) },
      });
      return presentCampaign(row);
    });
  }

  /** @throws AppError `not_found`. */
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const rows = await tx
        .delete(campaigns)
        .where(and(eq(campaigns.tenantId, tenantId), eq(campaigns.id, id)))
        .returning({ id: campaigns.id });
      if (rows.length === 0) throw notFound('campaign', id);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'campaign.deleted',
        targetType: 'campaign',
        targetId: id,
        details: {},
      });
    });
    return { id, deleted: true };
  }
}

function presentCampaign(row: CampaignRow) {
  const {
    tenantId: _own,
    mailsSending: _sending,
    mailsSent: _sent,
    mailsSimulated: _simulated,
    mailsFailed: _failed,
    ...rest
  } = row;
  return { ...dated(rest), mails: mailCounts(row) };
}
