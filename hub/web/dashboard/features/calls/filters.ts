import type { CallDirection, CallResult } from '../../../../../shared/client/operations.ts';

export const callDirections = ['inbound', 'outbound'] as const satisfies readonly CallDirection[];
export const callResults = [
  'answered',
  'missed',
  'busy',
  'failed',
  'voicemail',
  'cancelled',
] as const satisfies readonly CallResult[];

/** Filters of the list of calls, as they are in the address. */
export interface CallFilters {
  direction?: CallDirection;
  result?: CallResult;
}

/** Reads the filters from the address. Unknown values are ignored. */
export function callFiltersOf(search: Record<string, unknown>): CallFilters {
  const direction = callDirections.find((each) => each === search['direction']);
  const result = callResults.find((each) => each === search['result']);
  return { ...(direction === undefined ? {} : { direction }), ...(result === undefined ? {} : { result }) };
}
