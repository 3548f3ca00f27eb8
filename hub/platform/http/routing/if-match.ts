import type { IncomingHttpHeaders } from 'node:http';
import type { Response } from 'express';
import { AppError } from '../../../../shared/errors.ts';

/** Versions as `If-Match` names them, such as `"3"`; null when any will do. @throws AppError `validation_failed`. */
export function expectedVersions(headers: IncomingHttpHeaders): number[] | null {
  const header = headers['if-match'];
  if (header === undefined || header.trim() === '*') return null;
  return header.split(',').map((tag) => {
    const version = /^\s*(?:W\/)?"?(\d{1,10})"?\s*$/.exec(tag)?.[1];
    if (version !== undefined) return Number(version);
    throw new AppError('validation_failed', 'If-Match must be the ETag of what is changed, such as "3".', {
      details: [{ path: 'headers.if-match', message: 'must be an ETag such as "3"' }],
    });
  });
}

/** Tells with the answer which version it is. */
export function withETag<Shown extends { version: number }>(response: Response, shown: Shown): Shown {
  response.setHeader('ETag', `"${shown.version}"`);
  return shown;
}
