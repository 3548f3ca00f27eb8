import { allowsCaller } from '../../../../shared/contract/define.ts';
import type { Operation } from '../../../../shared/contract/define.ts';
import type { ErrorCode } from '../../../../shared/errors.ts';
import { acceptsIdempotencyKey } from './parameters.ts';

/** All error codes of an operation: its own, and those that its callers and inputs imply. */
export function errorCodesOf(operation: Operation): ErrorCode[] {
  const codes = new Set<ErrorCode>(operation.errors ?? []);
  const add = (...more: ErrorCode[]) => more.forEach((code) => codes.add(code));
  if (operation.params !== undefined || operation.query !== undefined || operation.body !== undefined)
    add('validation_failed');
  if (operation.body !== undefined) add('invalid_json', 'payload_too_large', 'unsupported_media_type');
  if (operation.params !== undefined) add('not_found');
  if (operation.query !== undefined && 'cursor' in operation.query.shape) add('invalid_cursor');
  if (allowsCaller(operation, 'token', 'hook', 'channel')) {
    add(
      'unauthenticated',
      'invalid_token',
      'token_expired',
      'token_revoked',
      'missing_permission',
      'wrong_product',
      'product_not_entitled',
      'ip_not_allowed',
      'rate_limited',
    );
  }
  if (acceptsIdempotencyKey(operation))
    add('idempotency_key_invalid', 'idempotency_key_reused', 'idempotency_in_progress');
  if (allowsCaller(operation, 'session')) add('unauthenticated', 'session_changed', 'rate_limited');
  if (allowsCaller(operation, 'session') && operation.method !== 'GET') add('origin_not_allowed');
  if (operation.ifMatch !== undefined) add(operation.ifMatch, 'validation_failed');
  if (operation.entitlement !== undefined) add('product_not_entitled');
  if (operation.role === 'admin') add('role_required');
  if (operation.liveOnly === true) add('test_key_not_allowed');
  if (allowsCaller(operation, 'visitor'))
    add(
      'unauthenticated',
      'chat_token_invalid',
      'chat_token_expired',
      'visitor_blocked',
      'product_not_entitled',
      'rate_limited',
    );
  if (allowsCaller(operation, 'device')) add('unauthenticated', 'device_secret_invalid', 'rate_limited');
  if (allowsCaller(operation, 'platform')) add('unauthenticated', 'rate_limited');
  if (operation.ipLimit !== undefined) add('rate_limited');
  if (!allowsCaller(operation, 'public') || operation.body !== undefined) add('unavailable');
  return [...codes].toSorted();
}
