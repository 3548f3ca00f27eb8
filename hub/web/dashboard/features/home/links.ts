import type { LinkProps } from '@tanstack/react-router';

/** Filters of the list of runs, by the names of the API. */
export interface RunFilters {
  status?: string;
  statuses?: string;
  workflowId?: string;
  errorCode?: string;
  from?: string;
  to?: string;
}

/** A link to the runs behind a number. */
export const runsLink = (filters: RunFilters): LinkProps => ({ to: '/runs', search: filters }) as LinkProps;
