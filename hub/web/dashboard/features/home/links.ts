import type { LinkProps } from '@tanstack/react-router';
import type { RunFilters } from '../runs/filters.ts';

/** A link to the runs behind a number. */
export const runsLink = (filters: RunFilters): LinkProps => ({ to: '/runs', search: filters }) as LinkProps;
