import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import { identity as resource } from '../../../../shared/contract/core/identity.ts';
import { productPermissions } from '../../../../shared/contract/define.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { isAddressBlock } from '../../../platform/address-block.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import { Batcher } from '../../../platform/db/batcher.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, eq, isNull, sql } from '../../../platform/db/orm.ts';
import { publishAccessChange } from '../../../platform/http/auth/principal.ts';
import type { TokenIdentity } from '../../../platform/http/auth/principal.ts';
import { newId } from '../../../platform/ids.ts';
import { newApiKey, secretHash } from '../../../platform/secrets/api-keys.ts';
import { recordAudit } from '../audit/index.ts';
import { apiTokens } from './schema.ts';
import { assertStillAdmin, listTokens, useTokens } from './store.ts';
import type { FoundToken, TokenRow } from './store.ts';

type CreateBody = z.output<typeof resource.createApiToken.body>;
type ListQuery = z.output<typeof resource.listApiTokens.query>;

const maxCached = 10_000;
/** A cached token expires after this time without a request, in milliseconds. */
const cacheTtlMs = 60_000;

/** API keys of workspaces. */
export class Tokens {
  readonly #deps: { db: Database; cursors: Cursors };
  /** Result of the latest request of each token, by the hex hash of its secret. */
  readonly #cache = new LRUCache<string, TokenIdentity>({ max: maxCached, ttl: cacheTtlMs });
  /** Concurrent look-ups share one statement. */
  readonly #lookUps: Batcher<Buffer, FoundToken | null>;

  constructor(dependencies: { db: Database; cursors: Cursors }) {
    this.#deps = dependencies;
    this.#lookUps = new Batcher({
      flush: async (_key, hashes) => {
        const found = await useTokens(dependencies.db, distinct(hashes));
        return hashes.map((hash) => found.get(hash.toString('hex')) ?? null);
      },
      bytesOf: (hash) => hash.length,
      maxItems: 256,
      // A slow look-up must not delay the others.
      maxFlushesOfKey: 4,
    });
  }

  /** The properties of a key that its owner may see. */
  async show({ tenantId, tokenId, product, environment, permissions, expiresAt }: TokenIdentity) {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<{ name: string }>('read_workspace_name', 'SELECT name FROM tenants WHERE id = $1', [tenantId]),
    );
    return {
      tenantId,
      workspaceName: rows[0]?.name ?? '',
      tokenId,
      product,
      environment,
      permissions,
      expiresAt: expiresAt?.toISOString() ?? null,
    };
  }

  /**
   * @throws AppError `validation_failed` for permissions of another product, an invalid CIDR block or a time in the
   * past; `unauthenticated` or `role_required` when the user is no longer an admin.
   */
  async create(tenantId: string, body: CreateBody, actor: string) {
    checkToken(body);
    const { key, hint, secret } = newApiKey(body.product, body.environment);
    const row = await this.#deps.db.workspace(tenantId, async (tx) => {
      await assertStillAdmin(tx, actor);
      const [inserted] = await tx
        .insert(apiTokens)
        .values({
          id: newId(),
          tenantId,
          name: body.name,
          product: body.product,
          environment: body.environment,
          permissions: [...new Set(body.permissions)],
          keyHint: hint,
          secretHash: secretHash(secret),
          ipAllowlist: body.ipAllowlist ?? [],
          expiresAt: body.expiresAt === undefined ? null : new Date(body.expiresAt),
          createdBy: actor,
        })
        .returning();
      const created = inserted as TokenRow;
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'token.created',
        targetType: 'token',
        targetId: created.id,
        details: { name: body.name, product: body.product, environment: body.environment },
      });
      return created;
    });
    return { ...presentToken(row), tenantId, key };
  }

  list(tenantId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) => listTokens(tx, tenantId, limit, before));
    return readPage(this.#deps.cursors, `tokens:${tenantId}`, query, read, presentToken);
  }

  /** @throws AppError `not_found`. */
  async revoke(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      if (!(await this.revokeWithin(tx, tenantId, id, actor))) throw notFound('token', id);
      publishAccessChange(tx, tenantId);
    });
    return { id, deleted: true };
  }

  /**
   * Revokes a key in a transaction, in which the caller publishes the access change. Returns whether the key existed.
   */
  async revokeWithin(tx: Transaction, tenantId: string, id: string, actor: string): Promise<boolean> {
    const revoked = await tx
      .update(apiTokens)
      .set({ revokedAt: sql`now()` })
      .where(and(eq(apiTokens.tenantId, tenantId), eq(apiTokens.id, id), isNull(apiTokens.revokedAt)))
      .returning({ id: apiTokens.id });
    if (revoked.length > 0)
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'token.revoked',
        targetType: 'token',
        targetId: id,
        details: {},
      });
    return revoked.length > 0;
  }

  /** @throws AppError `invalid_token`, `token_revoked`, `token_expired`. */
  async authenticate(secret: string): Promise<TokenIdentity> {
    const hash = secretHash(secret);
    const key = hash.toString('hex');
    try {
      const identity = identityOf(await this.#lookUps.add('', hash));
      this.#cache.set(key, identity);
      return identity;
    } catch (error) {
      this.#cache.delete(key);
      throw error;
    }
  }

  /** The cached identity of a token, possibly outdated. Use it only to prepare work that `authenticate` then permits. */
  findCached(secret: string): TokenIdentity | null {
    return this.#cache.get(secretHash(secret).toString('hex')) ?? null;
  }
}

const distinct = (hashes: readonly Buffer[]) => [
  ...new Map(hashes.map((hash) => [hash.toString('hex'), hash])).values(),
];

/** @throws AppError `invalid_token`, `token_revoked`, `token_expired`. */
function identityOf(found: FoundToken | null): TokenIdentity {
  if (found === null) throw new AppError('invalid_token', 'This API key is unknown.');
  if (found.revoked) throw new AppError('token_revoked', 'This API key was revoked.');
  if (found.expired) throw new AppError('token_expired', 'This API key has expired.');
  const {
    id,
    tenant_id: tenantId,
    product,
    environment,
    permissions,
    ip_allowlist: ipAllowlist,
    entitlements,
    expires_at: expiresAt,
  } = found;
  return { tokenId: id, tenantId, product, environment, permissions, ipAllowlist, entitlements, expiresAt };
}

function checkToken(body: CreateBody): void {
  const refuse = (path: string, message: string) => {
    throw new AppError('validation_failed', `${path} ${message}.`, { details: [{ path, message }] });
  };
  for (const [index, permission] of body.permissions.entries()) {
    if (!productPermissions[body.product].includes(permission)) {
      refuse(
        `body.permissions[${index}]`,
        `is not a permission of ${body.product}; it has ${productPermissions[body.product].join(', ')}`,
      );
    }
  }
  for (const [index, block] of (body.ipAllowlist ?? []).entries()) {
    if (!isAddressBlock(block))
      refuse(`body.ipAllowlist[${index}]`, 'must be an address or a CIDR block, for example 203.0.113.0/24');
  }
  if (body.expiresAt !== undefined && new Date(body.expiresAt).getTime() <= Date.now())
    refuse('body.expiresAt', 'must be in the future');
}

/** The public form of a token. */
export function presentToken(row: TokenRow) {
  const { id, name, product, environment, permissions, keyHint, ipAllowlist } = row;
  return {
    id,
    name,
    product,
    environment,
    permissions,
    keyHint,
    ipAllowlist,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}
