import type { z } from 'zod';
import { packs as resource } from '../../../../shared/contract/automations/packs.ts';
import type { HubPack, PackGrants } from '../../../../shared/contract/automations/packs.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { and, desc, eq, inArray, lt, sql } from '../../../platform/db/orm.ts';
import { assertDefinitionSize } from '../../../platform/definition-size.ts';
import { newId } from '../../../platform/ids.ts';
import { readLargePage } from '../../../platform/large-pages.ts';
import type { MemoryBudget } from '../../../platform/process/memory-budget.ts';
import { checkPack } from './check.ts';
import type { PackRules } from './check.ts';
import { manifestBytes } from './known-packs.ts';
import { hubPacks } from './schema.ts';
import { shippedPacks } from './shipped.ts';

/** Maximum versions per hub, withdrawn ones included. Listing packs reads all of them. */
const maxVersions = 500;

/** Key under which the operator of the hub reserves memory for responses. */
const operator = 'operator';

/** Packs that the operator of the hub publishes for all workspaces. */
export class HubPacks {
  readonly #db: Database;
  readonly #lists: { cursors: Cursors; answerMemory: MemoryBudget };
  readonly #rules: PackRules;

  constructor({
    db,
    rules,
    ...lists
  }: {
    db: Database;
    cursors: Cursors;
    answerMemory: MemoryBudget;
    rules: PackRules;
  }) {
    this.#db = db;
    this.#lists = lists;
    this.#rules = rules;
  }

  /** Every version, newest first. */
  list(query: z.output<typeof resource.listHubPacks.query>) {
    const db = this.#db;
    return readLargePage(this.#lists, operator, 'hub-packs', query, {
      measure: (limit, after) =>
        db.system((tx) =>
          tx
            .select({ id: hubPacks.id, bytes: manifestBytes })
            .from(hubPacks)
            .where(after === undefined ? undefined : lt(hubPacks.id, after))
            .orderBy(desc(hubPacks.id))
            .limit(limit),
        ),
      read: (ids) => db.system((tx) => tx.select().from(hubPacks).where(inArray(hubPacks.id, ids))),
      present,
    });
  }

  /** @throws AppError `pack_invalid` with every problem, or `conflict` for a version or an id that exists. */
  async publish(given: JsonObject): Promise<{ pack: HubPack; grants: PackGrants }> {
    assertDefinitionSize({ manifest: given });
    const { problems, manifest, grants } = checkPack(given, this.#rules);
    if (problems.length > 0 || manifest === null || grants === null) {
      const details = problems.map(({ path, message }) => ({ path: `body.manifest.${path}`, message }));
      throw new AppError('pack_invalid', `The pack can't be published: ${details[0]?.path} ${details[0]?.message}.`, {
        details,
      });
    }
    if (shippedPacks.some(({ id }) => id === manifest.id))
      throw new AppError('conflict', `${manifest.id} is the id of a shipped pack. Choose another id.`);
    const row = await this.#db.system(async (tx) => {
      const [inserted] = await tx
        .insert(hubPacks)
        .values({ id: newId(), packId: manifest.id, version: manifest.version, manifest })
        .onConflictDoNothing()
        .returning();
      if (inserted === undefined)
        throw new AppError(
          'conflict',
          `${manifest.id} ${manifest.version} is already published, and published versions never change. Raise the version.`,
        );
      const [counted] = await tx.select({ versions: sql<number>`count(*)::int` }).from(hubPacks);
      if ((counted?.versions ?? 0) > maxVersions)
        throw new AppError('conflict', `This hub holds ${maxVersions} versions of packs, which is the limit.`);
      return inserted;
    });
    return { pack: present(row), grants };
  }

  /** @throws AppError `not_found`. */
  async withdraw(packId: string, version: string): Promise<HubPack> {
    const [row] = await this.#db.system((tx) =>
      tx
        .update(hubPacks)
        .set({ withdrawnAt: sql`coalesce(${hubPacks.withdrawnAt}, now())` })
        .where(and(eq(hubPacks.packId, packId), eq(hubPacks.version, version)))
        .returning(),
    );
    if (row === undefined)
      throw new AppError(
        'not_found',
        `No pack ${packId} ${version} is published. GET /platform/packs lists all packs.`,
      );
    return present(row);
  }
}

function present({ id, packId, version, manifest, createdAt, withdrawnAt }: typeof hubPacks.$inferSelect): HubPack {
  return {
    id,
    packId,
    version,
    manifest,
    createdAt: createdAt.toISOString(),
    withdrawnAt: withdrawnAt?.toISOString() ?? null,
  };
}
