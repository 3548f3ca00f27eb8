import type { JsonValue } from '../../../shared/json.ts';
import { pgPolicy, pgTable, sql, text } from './orm.ts';
import { jsonb, systemRole, updatedAt } from './tenancy.ts';

/** Facts of the whole installation, such as the fingerprint of the secret key; for the system role alone. */
export const hubSettings = pgTable(
  'hub_settings',
  { key: text('key').primaryKey(), value: jsonb('value').$type<JsonValue>().notNull(), updatedAt: updatedAt() },
  () => [pgPolicy('system', { for: 'all', to: systemRole, using: sql`true`, withCheck: sql`true` })],
);
