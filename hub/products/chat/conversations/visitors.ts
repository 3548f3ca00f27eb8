import { maxAttributes, maxAttributesBytes } from '../../../../shared/contract/chat/shapes.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { visitorColumns } from './rows.ts';
import type { VisitorRow } from './rows.ts';

/** Details of a visitor from a caller. */
export interface VisitorDetails {
  /** If omitted, a new visitor is created. */
  externalId?: string | undefined;
  displayName?: string | undefined;
  email?: string | undefined;
  attributes?: JsonObject | undefined;
}

/**
 * Creates or updates the visitor of an external id in an environment, and locks its row.
 * @param path of the attributes in the request.
 * @throws AppError `validation_failed` when there would be too many attributes.
 */
export async function upsertVisitor(
  tx: Transaction,
  tenantId: string,
  environment: 'live' | 'test',
  known: VisitorDetails,
  path: string,
): Promise<VisitorRow & { is_blocked: boolean }> {
  const { set, deleted } = splitAttributes(known.attributes);
  const { rows } = await tx.query<VisitorRow & { is_blocked: boolean } & AttributesSize>(
    'upsert_visitor',
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

/** Number and total size of a visitor's attributes. */
export interface AttributesSize {
  keys: number;
  bytes: number;
}

/** SQL columns of `AttributesSize`, computed from the column `attributes`. */
export const attributesSize =
  '(SELECT count(*)::int FROM jsonb_object_keys(attributes)) AS keys, octet_length(attributes::text) AS bytes';

/**
 * @param path of the attributes in the request.
 * @throws AppError `validation_failed` if the attributes exceed the limits.
 */
export function assertAttributesFit({ keys, bytes }: AttributesSize, path: string): void {
  if (keys <= maxAttributes && bytes <= maxAttributesBytes) return;
  const message = `would give the visitor ${keys} attributes in ${bytes} bytes; the limit is ${maxAttributes} attributes in ${maxAttributesBytes} bytes, and null deletes an attribute`;
  throw new AppError('validation_failed', `${path}: ${message}.`, { details: [{ path, message }] });
}

/** Splits a patch of attributes into the values to set, as JSON, and the keys to delete. */
export function splitAttributes(patch: JsonObject = {}): { set: string; deleted: string[] } {
  const entries = Object.entries(patch);
  return {
    set: JSON.stringify(Object.fromEntries(entries.filter(([, value]) => value !== null))),
    deleted: entries.filter(([, value]) => value === null).map(([key]) => key),
  };
}
