import type { IncomingHttpHeaders } from 'node:http';
import type { Response } from 'express';
import { AppError } from '../../../../shared/errors.ts';

/**
 * Parses `If-Match`, for example `"3"`. Returns null when any version matches.
 * @throws AppError `validation_failed`.
 */
export function expectedVersions(headers: IncomingHttpHeaders): number[] | null {
  const header = headers['if-match'];
  if (header === undefined || header.trim() === '*') return null;
  return header.split(',').map((tag) => {
    const version = /^\s*(?:W\/)?"?(\d{1,10})"?\s*$/.exec(tag)?.[1];
    if (version !== undefined) return Number(version);
    throw new AppError('validation_failed', 'If-Match must be the ETag of the resource, such as "3".', {
      details: [{ path: 'headers.if-match', message: 'must be an ETag such as "3"' }],
    });
  });
}

/** Sets the `ETag` header to the version of a resource, and returns the resource. */
export function withETag<Versioned extends { version: number }>(response: Response, resource: Versioned): Versioned {
  response.setHeader('ETag', `"${resource.version}"`);
  return resource;
}
