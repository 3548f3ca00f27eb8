import { ApiError } from '../../../../../shared/client/client.ts';
import { client } from '../../app/api.ts';
import { browserFiltersKey, filtersOf, filtersOfQuery, queryOf, readRunSearch } from './filters.ts';

/** A filter as an earlier version of the dashboard stored it in the browser. */
interface BrowserFilter {
  name: string;
  filters: Record<string, unknown>;
}

const lockName = 'outrigger.runs.filters';
const maxNameLength = 60;

const isFilter = (value: unknown): value is BrowserFilter => {
  const { name, filters } = (value ?? {}) as Partial<Record<keyof BrowserFilter, unknown>>;
  return typeof name === 'string' && typeof filters === 'object' && filters !== null;
};

function readStored(tenantId: string): BrowserFilter[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(browserFiltersKey(tenantId)) ?? '[]');
    return Array.isArray(list) ? list.filter(isFilter) : [];
  } catch {
    return [];
  }
}

/** Removes one filter. Another tab may have added further ones meanwhile. */
function removeStored(tenantId: string, filter: BrowserFilter): void {
  const text = JSON.stringify(filter);
  const left = readStored(tenantId).filter((each) => JSON.stringify(each) !== text);
  if (left.length === 0) localStorage.removeItem(browserFiltersKey(tenantId));
  else localStorage.setItem(browserFiltersKey(tenantId), JSON.stringify(left));
}

/** The query in the order in which `queryOf` writes it. */
const normalize = (query: string) => queryOf(filtersOfQuery(query));

/** The name with a number, if the account has another filter with this name; null if it has this filter. */
function freeName(name: string, query: string, known: ReadonlyMap<string, string>): string | null {
  const plain = name.replaceAll('\0', '').trim() || query;
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? '' : ` (${number})`;
    const candidate =
      plain
        .slice(0, maxNameLength - suffix.length)
        .trimEnd()
        .toWellFormed() + suffix;
    const existing = known.get(candidate);
    if (existing === undefined) return candidate;
    if (existing === query) return null;
  }
}

async function move(tenantId: string, path: string): Promise<number> {
  const stored = readStored(tenantId);
  if (stored.length === 0) {
    localStorage.removeItem(browserFiltersKey(tenantId));
    return 0;
  }
  const { filters: own } = await client.call('readSavedFilters');
  const known = new Map(own.filter((one) => one.path === path).map((one) => [one.name, normalize(one.query)]));
  for (const [index, filter] of stored.entries()) {
    const query = queryOf(filtersOf(readRunSearch(filter.filters)));
    // Without a valid value, the filter would be the whole list.
    const name = query === '' ? null : freeName(filter.name, query, known);
    if (name !== null) {
      try {
        await client.call('saveFilter', { body: { path, name, query } });
      } catch (error) {
        // Everything that is left is tried again at the next visit.
        const isFull = error instanceof ApiError && error.code === 'conflict';
        return isFull ? stored.length - index : 0;
      }
      known.set(name, query);
    }
    removeStored(tenantId, filter);
  }
  return 0;
}

/**
 * Moves the filters of this browser into the account, and changes none there: a filter whose name the account uses for
 * another query gets a number. Two tabs move one after another.
 * @returns the number of filters for which the account has no place. They stay in the browser.
 */
export const moveBrowserFilters = (tenantId: string, path: string): Promise<number> =>
  // A page that is loaded by http has no locks.
  'locks' in navigator ? navigator.locks.request(lockName, () => move(tenantId, path)) : move(tenantId, path);
