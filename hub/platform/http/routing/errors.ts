import type { Response } from 'express';
import type { z } from 'zod';
import { unknownField } from '../../../../shared/contract/common.ts';
import type { errorBody } from '../../../../shared/contract/common.ts';
import { AppError, errorCodes, reasonPhrase } from '../../../../shared/errors.ts';
import type { ErrorDetail } from '../../../../shared/errors.ts';
import { fieldPath } from '../../../../shared/field-path.ts';
import { schemaMessage } from '../../../../shared/issue-messages.ts';
import { maxJsonDepth, maxJsonKeys, UnstorableError } from '../../../../shared/json.ts';
import { isDatabaseUnavailable } from '../../db/database.ts';
import type { Logger } from '../../observability/logger.ts';
import { onlyDecimalNumbers } from './decimal-numbers.ts';
import { findTooLongList } from './list-length.ts';
import { sendJson } from './send-json.ts';

/** Converts a thrown value into an error for the caller. Unexpected errors reveal no details. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof UnstorableError)
    return new AppError('validation_failed', `body ${error.message}; send a flatter structure.`, { cause: error });
  if (isDatabaseUnavailable(error))
    return new AppError('unavailable', 'The database is out of reach; try again shortly.', {
      cause: error,
      retryAfterSeconds: 1,
      internal: { part: 'database' },
    });
  return new AppError('internal', 'An unexpected error occurred; the request id finds it in the log.', {
    cause: error,
  });
}

/** An error response. All products share the shape of its body. */
export interface ErrorResponse {
  status: number;
  headers: Record<string, string>;
  body: z.input<typeof errorBody>;
  retryAfterSeconds?: number;
}

/** Builds the response to a failed request, and logs errors that the operator has to fix. */
export function errorResponseOf(error: unknown, requestId: string, logger: Logger): ErrorResponse {
  const appError = toAppError(error);
  const { code, message, details, retryAfterSeconds, runId, assignedUserId } = appError;
  const { status } = errorCodes[code];
  // An expected error, for example a missing AI model, is logged as one line; any other error with its stack.
  if (status === 503 && appError.cause === undefined) logger.error({ requestId, code }, `a request failed: ${message}`);
  else if (status >= 500 && code !== 'not_available')
    logger.error({ err: appError, requestId, code }, 'a request failed');
  return {
    status,
    headers: {
      // The next request may succeed, so an error must not be cached.
      'Cache-Control': 'no-store',
      ...appError.headers,
      ...(retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }),
      ...(status === 429 ? rateLimitHeaders(appError) : {}),
      ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
    },
    body: {
      statusCode: status,
      error: reasonPhrase(status),
      message,
      requestId,
      code,
      ...(runId === undefined ? {} : { runId }),
      ...(assignedUserId === undefined ? {} : { assignedUserId }),
      ...(details === undefined ? {} : { details }),
    },
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/**
 * A request limit that was reached replaces the limit of the key in the headers. Other 429 errors, for example of a
 * memory or cost budget, have no number of requests: the headers then continue to show the limit of the key.
 */
export function rateLimitHeaders({ limit, retryAfterSeconds = 1 }: AppError): Record<string, string> {
  return {
    'Retry-After': String(retryAfterSeconds),
    ...(limit === undefined
      ? {}
      : {
          'X-RateLimit-Limit': String(limit),
          'X-RateLimit-Remaining': '0',
          'X-RateLimit-Reset': String(Math.ceil(Date.now() / 1000) + retryAfterSeconds),
        }),
  };
}

/** Sends an error response. A response that has started is cut off instead. */
export function sendError(response: Response, error: unknown, requestId: string, logger: Logger): void {
  const { status, headers, body } = errorResponseOf(error, requestId, logger);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.status(status);
  sendJson(response, body);
}

const maxDetails = 50;

/**
 * Describes a failed validation: the first `maxDetails` problems, each with its path, and the number of all problems.
 */
function describeIssues(
  part: string,
  issues: readonly z.core.$ZodIssue[],
  input: unknown,
): { details: ErrorDetail[]; count: number } {
  const details: ErrorDetail[] = [];
  let count = 0;
  for (const issue of issues) {
    const left = maxDetails - details.length;
    count += issue.code === 'unrecognized_keys' ? issue.keys.length : 1;
    if (left <= 0) continue;
    const path = fieldPath([part, ...issue.path]);
    if (issue.code === 'unrecognized_keys')
      details.push(
        ...issue.keys.slice(0, left).map((key) => ({
          path: fieldPath([path, key]),
          message: issue.message.startsWith(unknownField) ? issue.message : `${unknownField}; leave it out`,
        })),
      );
    else if (issue.code === 'invalid_type' && valueAt(input, issue.path) === undefined)
      details.push({ path, message: issue.message.startsWith('is required') ? issue.message : 'is required' });
    else
      details.push({
        path,
        message: schemaMessage(issue),
      });
  }
  return { details, count };
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    root,
  );
}

/**
 * Returns the path and number of keys of the first object with too many keys; null when there is none.
 * The check runs before the validation, which reads each key.
 */
function findTooManyKeys(value: unknown, depth = 0): { path: PropertyKey[]; count: number } | null {
  // The validation refuses deeper values because of their depth.
  if (typeof value !== 'object' || value === null || depth > maxJsonDepth) return null;
  const isList = Array.isArray(value);
  const keys = isList ? null : Object.keys(value);
  if (keys !== null && keys.length > maxJsonKeys) return { path: [], count: keys.length };
  const length = keys?.length ?? (value as unknown[]).length;
  for (let index = 0; index < length; index += 1) {
    const key = keys?.[index] ?? index;
    const item = (value as Record<PropertyKey, unknown>)[key];
    if (typeof item !== 'object' || item === null) continue;
    const found = findTooManyKeys(item, depth + 1);
    if (found !== null) return { ...found, path: [key, ...found.path] };
  }
  return null;
}

/**
 * Parses a part of a request or a WebSocket frame.
 * @throws AppError `validation_failed` with the path of each invalid field.
 */
export function parsePart<Schema extends z.ZodType>(
  part: 'params' | 'query' | 'body' | 'frame',
  schema: Schema,
  input: unknown,
): z.output<Schema> {
  const tooMany = findTooManyKeys(input);
  if (tooMany !== null) {
    const path = fieldPath([part, ...tooMany.path]);
    const message = `has ${tooMany.count} keys, and an object may have at most ${maxJsonKeys}`;
    throw new AppError('validation_failed', `${path} ${message}.`, { details: [{ path, message }] });
  }
  const tooLong = findTooLongList(schema, input);
  if (tooLong !== null) {
    const path = fieldPath([part, ...tooLong.path]);
    const { message } = tooLong;
    throw new AppError('validation_failed', `${path} ${message}.`, { details: [{ path, message }] });
  }
  const parsed = schema.safeParse(
    part === 'params' || part === 'query' ? onlyDecimalNumbers(schema, input, part) : input,
  );
  if (parsed.success) return parsed.data;
  const { details, count } = describeIssues(part, parsed.error.issues, input);
  const [first] = details;
  const more = count > 1 ? ` (and ${count - 1} more)` : '';
  throw new AppError('validation_failed', `${first?.path ?? part} ${first?.message ?? 'is not valid'}${more}.`, {
    details,
  });
}
