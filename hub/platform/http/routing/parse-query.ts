import { AppError } from '../../../../shared/errors.ts';

/** Parses the query of a URL. @throws AppError `validation_failed` for a repeated parameter. */
export function parseQuery(url: string): Record<string, string> {
  const query: Record<string, string> = {};
  const search = url.indexOf('?');
  for (const [name, value] of new URLSearchParams(search === -1 ? '' : url.slice(search + 1))) {
    if (Object.hasOwn(query, name))
      throw new AppError('validation_failed', `query.${name.slice(0, 100)} is given twice.`, {
        details: [{ path: `query.${name}`, message: 'is given twice' }],
      });
    Object.defineProperty(query, name, { value, enumerable: true });
  }
  return query;
}
