import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { twilioApiUrl } from '../../../../shared/contract/calls/connections.ts';
import type { CallConnection, callConnections as resource } from '../../../../shared/contract/calls/connections.ts';
import type { Carrier } from '../../../../shared/contract/calls/records.ts';
import { invalidBody, notFound } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { EgressRefused } from '../../../platform/egress/egress.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import { newId } from '../../../platform/ids.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import { isOfSmallOrder } from './small-order.ts';

interface ConnectionRow {
  id: string;
  provider: Carrier;
  name: string;
  account_sid: string | null;
  api_base_url: string | null;
  last_event_at: Date | null;
  reconciled_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

const columns = 'id, provider, name, account_sid, api_base_url, last_event_at, reconciled_at, created_at, updated_at';

export interface ConnectionsDependencies {
  db: Database;
  cursors: Cursors;
  egress: Egress;
  secrets: Secrets;
  limits: WorkspaceLimits;
}

/** Purpose under which the secrets of connections are sealed. */
export const sealPurpose = 'call-connections';

/** Carrier connections of workspaces and their secrets. */
export class Connections {
  readonly #deps: ConnectionsDependencies;

  constructor(dependencies: ConnectionsDependencies) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: z.output<typeof resource.listCallConnections.query>, baseUrl: string) {
    const { db, cursors } = this.#deps;
    const read = async (limit: number, before: string | undefined) =>
      (
        await db.read(tenantId, (tx) =>
          tx.query<ConnectionRow>(
            'list_call_connections',
            `SELECT ${columns} FROM call_connections WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
            [tenantId, before ?? null, limit],
          ),
        )
      ).rows;
    return readPage(cursors, `call-connections:${tenantId}`, query, read, (row) => present(row, baseUrl));
  }

  /** @throws AppError `not_found`. */
  async get(tenantId: string, id: string, baseUrl: string): Promise<CallConnection> {
    return present(await this.#deps.db.read(tenantId, (tx) => find(tx, tenantId, id, false)), baseUrl);
  }

  /** @throws AppError `validation_failed`, `workspace_limit_reached`. */
  async create(
    tenantId: string,
    body: z.output<typeof resource.createCallConnection.body>,
    actor: string,
    baseUrl: string,
  ) {
    const { db, secrets, limits } = this.#deps;
    assertFields(body.provider, body);
    const isTwilio = body.provider === 'twilio';
    const apiBaseUrl = isTwilio ? this.#checkedUrl(body.apiBaseUrl ?? twilioApiUrl) : null;
    const { secret, response } = secretOf(body.provider, body);
    const row = await db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<ConnectionRow>(
        'create_call_connection',
        `INSERT INTO call_connections (id, tenant_id, provider, name, sealed_secret, account_sid, api_base_url)
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${columns}`,
        [
          newId(),
          tenantId,
          body.provider,
          body.name,
          secrets.seal(sealPurpose, secret),
          body.accountSid ?? null,
          apiBaseUrl,
        ],
      );
      await limits.assertWithin(tx, tenantId, 'callConnection');
      const created = rows[0] as ConnectionRow;
      await audit(tx, tenantId, created.id, actor, 'created', { provider: body.provider });
      return created;
    });
    return { ...present(row, baseUrl), ...response };
  }

  /** @throws AppError `not_found`, `validation_failed`. */
  async update(
    tenantId: string,
    id: string,
    body: z.output<typeof resource.updateCallConnection.body>,
    actor: string,
    baseUrl: string,
  ): Promise<CallConnection> {
    const { db, secrets } = this.#deps;
    const apiBaseUrl = body.apiBaseUrl === undefined ? null : this.#checkedUrl(body.apiBaseUrl);
    const row = await db.workspace(tenantId, async (tx) => {
      const before = await find(tx, tenantId, id, true);
      if (before.provider !== 'twilio')
        for (const field of ['accountSid', 'apiBaseUrl', 'authToken'] as const)
          if (body[field] !== undefined) throw invalidBody(field, 'is for Twilio');
      const moves = apiBaseUrl !== null && apiBaseUrl !== before.api_base_url;
      if (moves && body.authToken === undefined)
        throw invalidBody(
          'authToken',
          'is required with another apiBaseUrl: a secret is only sent to the address that it was set for',
        );
      if (!moves && body.authToken !== undefined)
        throw invalidBody('authToken', 'is changed by POST /calls/connections/{id}/rotate');
      const { rows } = await tx.query<ConnectionRow>(
        'update_call_connection',
        `UPDATE call_connections SET name = coalesce($3, name), account_sid = CASE WHEN $4 THEN $5 ELSE account_sid END, api_base_url = coalesce($6, api_base_url),
           sealed_secret = coalesce($7, sealed_secret), updated_at = now()
         WHERE tenant_id = $1 AND id = $2 RETURNING ${columns}`,
        [
          tenantId,
          id,
          body.name ?? null,
          body.accountSid !== undefined,
          body.accountSid ?? null,
          apiBaseUrl,
          body.authToken === undefined ? null : secrets.seal(sealPurpose, body.authToken),
        ],
      );
      await audit(tx, tenantId, id, actor, 'updated', { changed: Object.keys(body) });
      return rows[0] as ConnectionRow;
    });
    return present(row, baseUrl);
  }

  /** @throws AppError `not_found`. */
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const { rowCount } = await tx.query(
        'delete_call_connection',
        'DELETE FROM call_connections WHERE tenant_id = $1 AND id = $2',
        [tenantId, id],
      );
      if (rowCount === 0) throw notFound('connection', id);
      await audit(tx, tenantId, id, actor, 'deleted', {});
    });
    return { id, deleted: true };
  }

  /** @throws AppError `not_found`, `validation_failed`. */
  async rotate(
    tenantId: string,
    id: string,
    body: z.output<typeof resource.rotateCallConnection.body>,
    actor: string,
    baseUrl: string,
  ) {
    const { db, secrets } = this.#deps;
    return db.workspace(tenantId, async (tx) => {
      const { provider } = await find(tx, tenantId, id, true);
      assertFields(provider, body);
      const { secret, response } = secretOf(provider, body);
      const { rows } = await tx.query<ConnectionRow>(
        'rotate_call_connection',
        `UPDATE call_connections SET sealed_previous_secret = CASE WHEN $4 > 0 THEN sealed_secret END, previous_until = now() + make_interval(hours => $4),
           sealed_secret = $3, updated_at = now() WHERE tenant_id = $1 AND id = $2 RETURNING ${columns}`,
        [tenantId, id, secrets.seal(sealPurpose, secret), body.overlapHours],
      );
      await audit(tx, tenantId, id, actor, 'secret_rotated', { overlapHours: body.overlapHours });
      return { ...present(rows[0] as ConnectionRow, baseUrl), ...response };
    });
  }

  /** Validates an API address and removes trailing slashes. @throws AppError `validation_failed`. */
  #checkedUrl(address: string): string {
    const url = URL.parse(address);
    if (url === null || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '')
      throw invalidBody('apiBaseUrl', `must be an https address, such as ${twilioApiUrl}`);
    try {
      this.#deps.egress.check(url.href);
    } catch (error) {
      if (error instanceof EgressRefused)
        throw invalidBody('apiBaseUrl', `can't be reached from here: ${error.message.replace(/\.$/, '')}`);
      throw error;
    }
    return url.href.replace(/(?<!\/)\/+$/, '');
  }
}

const present = (row: ConnectionRow, baseUrl: string): CallConnection => ({
  id: row.id,
  provider: row.provider,
  name: row.name,
  url: `${baseUrl.replace(/(?<!\/)\/+$/, '')}/carrier/${row.provider}/${row.id}/voice-status`,
  accountSid: row.account_sid,
  apiBaseUrl: row.api_base_url,
  lastEventAt: row.last_event_at?.toISOString() ?? null,
  reconciledAt: row.reconciled_at?.toISOString() ?? null,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
});

/** @throws AppError `not_found`. */
async function find(tx: Transaction, tenantId: string, id: string, locks: boolean): Promise<ConnectionRow> {
  const { rows } = await tx.query<ConnectionRow>(
    locks ? 'lock_call_connection' : 'find_call_connection',
    `SELECT ${columns} FROM call_connections WHERE tenant_id = $1 AND id = $2${locks ? ' FOR UPDATE' : ''}`,
    [tenantId, id],
  );
  if (rows[0] === undefined) throw notFound('connection', id);
  return rows[0];
}

const fieldsOf: Record<Carrier, readonly string[]> = {
  twilio: ['authToken', 'accountSid', 'apiBaseUrl'],
  telnyx: ['publicKey'],
  kamailio: [],
};
const carrierNames: Record<Carrier, string> = { twilio: 'Twilio', telnyx: 'Telnyx', kamailio: 'Kamailio' };

/** @throws AppError `validation_failed` for fields of another carrier. */
function assertFields(provider: Carrier, body: Record<string, unknown>): void {
  for (const field of Object.values(fieldsOf).flat())
    if (body[field] !== undefined && !fieldsOf[provider].includes(field))
      throw invalidBody(field, `is not for ${carrierNames[provider]}; leave it out`);
}

/** The secret of a connection, and the part of it that the response contains. @throws AppError `validation_failed`. */
function secretOf(
  provider: Carrier,
  { authToken, publicKey }: { authToken?: string | undefined; publicKey?: string | undefined },
): { secret: string; response: { secret?: string } } {
  if (provider === 'kamailio') {
    const secret = randomBytes(32).toString('base64url');
    return { secret, response: { secret } };
  }
  const given = provider === 'twilio' ? authToken : publicKey;
  if (given === undefined)
    throw invalidBody(provider === 'twilio' ? 'authToken' : 'publicKey', `is required for ${carrierNames[provider]}`);
  if (provider === 'telnyx' && isOfSmallOrder(given))
    throw invalidBody('publicKey', 'must be the key of your Telnyx account: this key accepts forged signatures');
  return { secret: given, response: {} };
}

const audit = (tx: Transaction, tenantId: string, id: string, actor: string, what: string, details: JsonObject) =>
  recordAudit(tx, {
    tenantId,
    actor,
    action: `call_connection.${what}`,
    targetType: 'call_connection',
    targetId: id,
    details,
  });
