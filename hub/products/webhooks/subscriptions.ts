import type { z } from 'zod';
import type { Webhook, webhooks as resource } from '../../../shared/contract/webhooks/webhooks.ts';
import { invalidBody, notFound } from '../../../shared/errors.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { readPage } from '../../platform/cursor.ts';
import type { Cursors } from '../../platform/cursor.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { EgressRefused } from '../../platform/egress/egress.ts';
import type { Egress } from '../../platform/egress/egress.ts';
import { newId } from '../../platform/ids.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { recordAudit } from '../core/audit/index.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { hintOf, newSecret, secretPurpose } from './signature.ts';
import type { Wake } from './wake.ts';

type Environment = 'live' | 'test';

interface WebhookRow {
  id: string;
  url: string;
  events: Webhook['events'];
  description: string;
  active: boolean;
  environment: 'live' | 'test';
  secret_hint: string;
  disabled_reason: string | null;
  created_at: Date;
  updated_at: Date;
}

const columns =
  'id, url, events, description, active, environment, secret_hint, disabled_reason, created_at, updated_at';

const present = (row: WebhookRow): Webhook => ({
  id: row.id,
  url: row.url,
  events: row.events,
  description: row.description,
  active: row.active,
  environment: row.environment,
  includePrivate: false,
  secretHint: row.secret_hint,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
  disabledReason: row.disabled_reason,
});

export interface SubscriptionsDependencies {
  db: Database;
  cursors: Cursors;
  egress: Egress;
  secrets: Secrets;
  limits: WorkspaceLimits;
  wake: Wake;
}

/** Creates, updates and deletes webhooks, and rotates their secrets. */
export class Subscriptions {
  readonly #deps: SubscriptionsDependencies;

  constructor(dependencies: SubscriptionsDependencies) {
    this.#deps = dependencies;
  }

  /** @param environment the environment of the calling API key; null for a user, who sees both environments. */
  list(tenantId: string, environment: Environment | null, query: z.output<typeof resource.listWebhooks.query>) {
    const { db, cursors } = this.#deps;
    const read = async (limit: number, before: string | undefined) =>
      (
        await db.read(tenantId, (tx) =>
          tx.query<WebhookRow>(
            'list_webhooks',
            `SELECT ${columns} FROM webhooks WHERE tenant_id = $1 AND deleted_at IS NULL AND ($2::uuid IS NULL OR id < $2) AND ($4::text IS NULL OR environment = $4) ORDER BY id DESC LIMIT $3`,
            [tenantId, before ?? null, limit, environment],
          ),
        )
      ).rows;
    return readPage(cursors, `webhooks:${tenantId}`, query, read, present);
  }

  /** @param environment as for `list`. @throws AppError `not_found`, also for a webhook of the other environment. */
  async get(tenantId: string, environment: Environment | null, id: string): Promise<Webhook> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<WebhookRow>(
        'get_webhook',
        `SELECT ${columns} FROM webhooks WHERE id = $1 AND deleted_at IS NULL AND ($2::text IS NULL OR environment = $2)`,
        [id, environment],
      ),
    );
    if (rows[0] === undefined) throw notFound('webhook', id);
    return present(rows[0]);
  }

  /**
   * @param caller the environment is null for a user, who may choose the environment in the body.
   * @throws AppError `validation_failed`, `workspace_limit_reached`.
   */
  async create(
    tenantId: string,
    body: z.output<typeof resource.createWebhook.body>,
    caller: { actor: string; environment: 'live' | 'test' | null },
  ) {
    const { db, secrets, limits } = this.#deps;
    const url = this.#normaliseUrl(body.url);
    const environment = body.environment ?? caller.environment ?? 'live';
    if (caller.environment !== null && environment !== caller.environment)
      throw invalidBody('environment', `must match the environment of the API key, ${caller.environment}`);
    const secret = newSecret();
    const row = await db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<WebhookRow>(
        'create_webhook',
        `INSERT INTO webhooks (id, tenant_id, url, events, description, environment, active, sealed_secret, secret_hint)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING ${columns}`,
        [
          newId(),
          tenantId,
          url,
          body.events,
          body.description,
          environment,
          body.active,
          secrets.seal(secretPurpose, secret),
          hintOf(secret),
        ],
      );
      await limits.assertWithin(tx, tenantId, 'webhook');
      return this.#audited(tx, tenantId, rows[0], caller.actor, 'created', {
        host: new URL(url).host,
        events: body.events,
        environment,
      });
    });
    return { ...present(row), secret };
  }

  /** @throws AppError `not_found`, `validation_failed`. */
  async update(
    tenantId: string,
    id: string,
    body: z.output<typeof resource.updateWebhook.body>,
    actor: string,
  ): Promise<Webhook> {
    const url = body.url === undefined ? null : this.#normaliseUrl(body.url);
    const row = await this.#deps.db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<WebhookRow>(
        'update_webhook',
        `UPDATE webhooks SET url = coalesce($2, url), events = coalesce($3::text[], events), description = coalesce($4, description),
           active = coalesce($5::boolean, active), disabled_reason = CASE WHEN $5 THEN NULL ELSE disabled_reason END,
           failing_since = CASE WHEN $5 OR $2 <> url THEN NULL ELSE failing_since END, failures = CASE WHEN $5 OR $2 <> url THEN 0 ELSE failures END,
           mail_due_at = CASE WHEN $5 THEN NULL ELSE mail_due_at END, updated_at = now()
         WHERE id = $1 AND deleted_at IS NULL RETURNING ${columns}`,
        [id, url, body.events ?? null, body.description ?? null, body.active ?? null],
      );
      const updated = await this.#audited(tx, tenantId, rows[0], actor, 'updated', { changed: Object.keys(body) }, id);
      this.#deps.wake(tx, { tenantId, environment: updated.environment, webhookIds: [id] });
      return updated;
    });
    return present(row);
  }

  /**
   * Marks the webhook as deleted. A task removes its deliveries in batches, because a long lock on the row would block
   * every event of the workspace. @throws AppError `not_found`.
   */
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<WebhookRow>(
        'delete_webhook',
        `UPDATE webhooks SET deleted_at = now(), active = false, sealed_secret = '', sealed_previous_secret = NULL, previous_until = NULL, mail_due_at = NULL
         WHERE id = $1 AND deleted_at IS NULL RETURNING ${columns}`,
        [id],
      );
      await this.#audited(tx, tenantId, rows[0], actor, 'deleted', {}, id);
    });
    return { id, deleted: true };
  }

  /** Creates a new secret. The previous secret continues to sign for `overlapHours`. @throws AppError `not_found`. */
  async rotateSecret(tenantId: string, id: string, overlapHours: number, actor: string) {
    const { db, secrets } = this.#deps;
    const secret = newSecret();
    const row = await db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<WebhookRow>(
        'rotate_webhook_secret',
        `UPDATE webhooks SET sealed_previous_secret = CASE WHEN $4 > 0 THEN sealed_secret END, previous_until = now() + make_interval(hours => $4),
           sealed_secret = $2, secret_hint = $3, updated_at = now()
         WHERE id = $1 AND deleted_at IS NULL RETURNING ${columns}`,
        [id, secrets.seal(secretPurpose, secret), hintOf(secret), overlapHours],
      );
      return this.#audited(tx, tenantId, rows[0], actor, 'secret_rotated', { overlapHours }, id);
    });
    return { ...present(row), secret };
  }

  /** Validates and normalises a URL. @throws AppError `validation_failed`. */
  #normaliseUrl(address: string): string {
    const url = URL.parse(address);
    if (url === null || !['https:', 'http:'].includes(url.protocol))
      throw invalidBody('url', 'must be an https address, such as https://example.com/hooks');
    if (url.username !== '' || url.password !== '')
      throw invalidBody('url', 'must contain no user name or password; verify the signature instead');
    if (url.protocol === 'http:' && !isLoopback(url.hostname)) throw invalidBody('url', 'must begin with https://');
    try {
      this.#deps.egress.check(url.href);
    } catch (error) {
      if (error instanceof EgressRefused)
        throw invalidBody('url', `can't be reached from here: ${error.message.replace(/\.$/, '')}`);
      throw error;
    }
    return url.href;
  }

  async #audited(
    tx: Transaction,
    tenantId: string,
    row: WebhookRow | undefined,
    actor: string,
    what: string,
    details: JsonObject,
    id = row?.id ?? '',
  ): Promise<WebhookRow> {
    if (row === undefined) throw notFound('webhook', id);
    await recordAudit(tx, {
      tenantId,
      actor,
      action: `webhook.${what}`,
      targetType: 'webhook',
      targetId: row.id,
      details,
    });
    return row;
  }
}

const isLoopback = (hostname: string) =>
  hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
