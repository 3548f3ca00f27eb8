import type { Database } from '../../../platform/db/database.ts';
import { eq } from '../../../platform/db/orm.ts';
import { tenants } from '../../../platform/db/tenancy.ts';
import { recordAudit } from '../audit/index.ts';
import { allowedOrigins } from './schema.ts';

/** Origins of other sites whose pages may call the API of a workspace from a browser. */
export class Origins {
  readonly #db: Database;
  /** Origins that the operator allows for all workspaces. */
  readonly #ofHub: ReadonlySet<string>;

  constructor(db: Database, ofHub: readonly string[]) {
    this.#db = db;
    this.#ofHub = new Set(ofHub);
  }

  async list(tenantId: string): Promise<{ origins: string[] }> {
    const rows = await this.#db.read(tenantId, (tx) =>
      tx
        .select({ origin: allowedOrigins.origin })
        .from(allowedOrigins)
        .where(eq(allowedOrigins.tenantId, tenantId))
        .orderBy(allowedOrigins.origin),
    );
    return { origins: rows.map(({ origin }) => origin) };
  }

  async set(tenantId: string, origins: readonly string[], actor: string): Promise<{ origins: string[] }> {
    await this.#db.workspace(tenantId, async (tx) => {
      // A concurrent change waits, so that it also deletes the origins that this one inserts.
      await tx.select({ id: tenants.id }).from(tenants).where(eq(tenants.id, tenantId)).for('no key update');
      await tx.delete(allowedOrigins).where(eq(allowedOrigins.tenantId, tenantId));
      if (origins.length > 0)
        await tx
          .insert(allowedOrigins)
          .values(origins.map((origin) => ({ tenantId, origin })))
          .onConflictDoNothing();
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'allowed_origins.changed',
        targetType: 'workspace',
        targetId: tenantId,
        details: { origins: [...origins] },
      });
    });
    return this.list(tenantId);
  }

  /** Whether an origin may call a workspace, or any workspace if `tenantId` is null. */
  async isAllowed(origin: string, tenantId: string | null): Promise<boolean> {
    if (this.#ofHub.has(origin)) return true;
    if (origin.length > 300) return false;
    const rows = await this.#db.systemStatement(
      'find_allowed_origin',
      'SELECT 1 FROM allowed_origins WHERE origin = $1 AND ($2::uuid IS NULL OR tenant_id = $2) LIMIT 1',
      [origin, tenantId],
    );
    return rows.length > 0;
  }
}
