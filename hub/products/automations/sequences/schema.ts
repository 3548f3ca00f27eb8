import type { Step } from '../../../../shared/contract/automations/steps.ts';
import { index, pgTable, text, uuid } from '../../../platform/db/orm.ts';
import { createdAt, jsonb, policies, tenantId, updatedAt, version } from '../../../platform/db/tenancy.ts';
import type { FieldAuthors } from '../../../platform/field-authors.ts';

export const sequences = pgTable(
  'sequences',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    steps: jsonb('steps').$type<Step[]>().notNull(),
    /** Last author, as the audit log names actors. */
    changedBy: text('changed_by'),
    /** Last author of each field that can contain a command. */
    authors: jsonb('authors').$type<FieldAuthors>().notNull().default({}),
    version: version(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('sequences_tenant').on(table.tenantId, table.id), ...policies()],
);
