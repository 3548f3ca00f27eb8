import type { z } from 'zod';
import { maxSavedFilters, savedFilters as resource } from '../../../../shared/contract/core/saved-filters.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import { and, asc, eq, sql } from '../../../platform/db/orm.ts';
import type { SessionIdentity } from '../../../platform/http/auth/principal.ts';
import { newId } from '../../../platform/ids.ts';
import { savedFilters, users } from './schema.ts';

type SaveBody = z.output<typeof resource.saveFilter.body>;

/** Filters of lists that a user saved. */
export class SavedFilters {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async read({ tenantId, user }: SessionIdentity) {
    const rows = await this.#db.read(tenantId, (tx) =>
      tx.select().from(savedFilters).where(eq(savedFilters.userId, user.id)).orderBy(asc(savedFilters.id)),
    );
    return { filters: rows.map(present) };
  }

  /** @throws AppError `conflict` for too many filters; `unauthenticated` when the user was removed. */
  async save({ tenantId, user }: SessionIdentity, { path, name, query }: SaveBody) {
    const saved = await this.#db.workspace(tenantId, async (tx) => {
      // Filters that are saved at the same time are counted one after another.
      const locked = await tx.select({ id: users.id }).from(users).where(eq(users.id, user.id)).for('no key update');
      if (locked.length === 0) throw new AppError('unauthenticated', 'You are no longer a member of this workspace.');
      const [row] = await tx
        .insert(savedFilters)
        .values({ id: newId(), tenantId, userId: user.id, path, name, query })
        .onConflictDoUpdate({ target: [savedFilters.userId, savedFilters.path, savedFilters.name], set: { query } })
        .returning();
      const [counted] = await tx
        .select({ count: sql<number>`count(*)::int` })
        .from(savedFilters)
        .where(eq(savedFilters.userId, user.id));
      if ((counted?.count ?? 0) > maxSavedFilters)
        throw new AppError('conflict', `You can save at most ${maxSavedFilters} filters. Delete one of them first.`);
      return row as typeof savedFilters.$inferSelect;
    });
    return present(saved);
  }

  /** @throws AppError `not_found`. */
  async remove({ tenantId, user }: SessionIdentity, id: string): Promise<{ id: string; deleted: true }> {
    const removed = await this.#db.workspace(tenantId, (tx) =>
      tx
        .delete(savedFilters)
        .where(and(eq(savedFilters.userId, user.id), eq(savedFilters.id, id)))
        .returning({ id: savedFilters.id }),
    );
    if (removed.length === 0) throw new AppError('not_found', `You have no saved filter ${id}.`);
    return { id, deleted: true };
  }
}

const present = ({ id, path, name, query, createdAt }: typeof savedFilters.$inferSelect) => ({
  id,
  path,
  name,
  query,
  createdAt: createdAt.toISOString(),
});
