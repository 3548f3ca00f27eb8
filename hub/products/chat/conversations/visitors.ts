import { maxAttributes, maxAttributesBytes } from '../../../../shared/contract/chat/shapes.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { visitorColumns } from './rows.ts';
import type { VisitorRow } from './rows.ts';

/** Details of a visitor from a caller. */
export interface KnownVisitor {
  /** Without one, a new visitor is made. */
  externalId?: string | undefined;
  displayName?: string | undefined;
  email?: string | undefined;
  attributes?: JsonObject | undefined;
}

/**
 * Creates or updates the visitor of an external id in an environment, and locks its row.
 * @param path where the attributes stand in the request.
 * @throws AppError `validation_failed` when there would be too many attributes.
 */
export async function knowVisitor(
  tx: Transaction,
  tenantId: string,
  environment: 'live' | 'test',
  known: KnownVisitor,
  path: string,
): Promise<VisitorRow & { is_blocked: boolean }> {
  const { set, deleted } = splitAttributes(known.attributes);
  const { rows } = await tx.query<VisitorRow & { is_blocked: boolean } & AttributesSize>(
    'know_visitor',
    `WITH known AS (
       INSERT INTO chat_visitors AS v (id, tenant_id, external_id, display_name, email, attributes, environment)
       VALUES ($1, $2, $3, $4, $5, $6::jsonb, $8)
       ON CONFLICT (tenant_id, environment, external_id) DO UPDATE SET display_name = coalesce(excluded.display_name, v.display_name),
         email = coalesce(excluded.email, v.email), attributes = (v.attributes || excluded.attributes) - $7::text[], updated_at = now()
       RETURNING ${visitorColumns}, blocked_at IS NOT NULL AS is_blocked)
     SELECT *, ${attributesSize} FROM known`,
    [
      newId(),
      tenantId,
      known.externalId ?? null,
      known.displayName ?? null,
      known.email ?? null,
      set,
      deleted,
      environment,
    ],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('a visitor was not written');
  const { keys, bytes, ...visitor } = row;
  assertAttributesFit({ keys, bytes }, path);
  return visitor;
}

/** How many attributes a visitor has, and in how many bytes. */
export interface AttributesSize {
  keys: number;
  bytes: number;
}

/** The columns of it, beside `attributes`. */
export const attributesSize =
  '(SELECT count(*)::int FROM jsonb_object_keys(attributes)) AS keys, octet_length(attributes::text) AS bytes';

/** @param path where the attributes stand in the request. @throws AppError `validation_failed` when there are too many, or too long ones. */
export function assertAttributesFit({ keys, bytes }: AttributesSize, path: string): void {
  if (keys <= maxAttributes && bytes <= maxAttributesBytes) return;
  const message = `together with those that the visitor has, there would be ${keys} attributes in ${bytes} bytes; at most ${maxAttributes} in ${maxAttributesBytes} are kept, and null deletes one`;
  throw new AppError('validation_failed', `${path}: ${message}.`, { details: [{ path, message }] });
}

/** What a patch of attributes sets, as JSON, and which keys it deletes. */
export function splitAttributes(patch: JsonObject = {}): { set: string; deleted: string[] } {
  const entries = Object.entries(patch);
  return {
    set: JSON.stringify(Object.fromEntries(entries.filter(([, value]) => value !== null))),
    deleted: entries.filter(([, value]) => value === null).map(([key]) => key),
  };
}
