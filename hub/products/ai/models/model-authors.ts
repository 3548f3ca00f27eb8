import type { Transaction } from '../../../platform/db/database.ts';
import { eq } from '../../../platform/db/orm.ts';
import { authorsAfter } from '../../../platform/field-authors.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';
import { modelConfigs } from './schema.ts';

type ModelsRow = typeof modelConfigs.$inferSelect;

/**
 * The authors of the models of a workspace and their order after a change. Prices do not affect answers,
 * so they have no author.
 */
export function authorsOfModels(
  before: ModelsRow | undefined,
  after: Pick<ModelsRow, 'models' | 'order'>,
  actor: string,
): FieldAuthors {
  const valuesOf = ({ models, order }: Pick<ModelsRow, 'models' | 'order'>) => ({
    models: models.map(({ prices: _prices, ...model }) => model),
    order,
  });
  const earlier = before === undefined ? null : { values: valuesOf(before), authors: before.authors };
  return authorsAfter(earlier, valuesOf(after), actor);
}

/** The users who last changed the models of a workspace. Empty while the workspace uses the hub's own model. */
export async function readModelAuthors(tx: Transaction, tenantId: string): Promise<string[]> {
  const [row] = await tx
    .select({ authors: modelConfigs.authors, order: modelConfigs.order })
    .from(modelConfigs)
    .where(eq(modelConfigs.tenantId, tenantId));
  return row === undefined || row.order.length === 0 ? [] : Object.values(row.authors);
}
