import type { IncomingHttpHeaders } from 'node:http';
import type { Response } from 'express';
import { AppError } from '../../../../shared/errors.ts';

/** Accepted values of the current version for a change; null for any version. */
export type ExpectedVersion = readonly number[] | null;

/**
 * Parses `If-Match`, for example `"3"`. Returns null when any version matches.
 * @throws AppError `validation_failed`.
 */
export function expectedVersions(headers: IncomingHttpHeaders): ExpectedVersion {
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

/**
 * @param what names the resource in the message, such as `workflow <id>`.
 * @throws AppError `version_conflict` when the resource has another version than the expected ones.
 */
export function assertVersion(expected: ExpectedVersion, version: number, what: string): void {
  if (expected === null || expected.includes(version)) return;
  throw new AppError(
    'version_conflict',
    `The ${what} has been changed and is at version ${version}. Read it and update that version.`,
    {
      headers: { ETag: `"${version}"` },
      details: [{ path: 'headers.if-match', message: `the newest version is ${version}` }],
    },
  );
}

/** Sets the `ETag` header to the version of a resource, and returns the resource. */
export function withETag<Versioned extends { version: number }>(response: Response, resource: Versioned): Versioned {
  response.setHeader('ETag', `"${resource.version}"`);
  return resource;
}
