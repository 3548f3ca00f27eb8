import type { Input } from '../../app/api.ts';

/** Statuses of a run, in the order of the filter. */
const runStatuses = ['failed', 'queued', 'waiting_approval', 'running', 'succeeded', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];

/** Types of triggers that a filter offers. Runs can have further types, which the address may name. */
export const triggerTypes = [
  'manual',
  'schedule',
  'heartbeat',
  'webhook',
  'event',
  'channel',
  'subagent',
  'sequence',
  'error',
  'skill',
] as const;

const hourMs = 3_600_000;
/** Periods of the filter, in milliseconds. */
export const periods = { '1h': hourMs, '24h': 24 * hourMs, '7d': 7 * 24 * hourMs, '30d': 30 * 24 * hourMs } as const;
export type Period = keyof typeof periods;

/** Filters of a list of runs, as they are in the address. */
export interface RunFilters {
  /** Statuses, separated by commas. */
  status?: string | undefined;
  workflow?: string | undefined;
  node?: string | undefined;
  trigger?: string | undefined;
  environment?: 'live' | 'test' | undefined;
  /** Error code. */
  code?: string | undefined;
  /** Start of the id. */
  id?: string | undefined;
  period?: Period | undefined;
  /** Queued at this time or later, as in `2026-11-27T14:00:00.000Z`. Not together with `period`. */
  from?: string | undefined;
  /** Queued before this time. */
  to?: string | undefined;
}

export interface RunSearch extends RunFilters {
  /** Where the list begins, for runs older than those that fit into one list. */
  cursor?: string | undefined;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const idPrefix = /^[0-9a-f-]{4,36}$/i;

/** Whether a text can be the start of an id and not an error code. */
export const isIdPrefix = (text: string) => idPrefix.test(text) && /[0-9]/.test(text);

const textOf = (value: unknown, maxLength: number): string | undefined => {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  return text === '' || text.length > maxLength ? undefined : text;
};
const matching = (value: unknown, pattern: RegExp) => {
  const text = textOf(value, 100);
  return text !== undefined && pattern.test(text) ? text : undefined;
};
const timeOf = (value: unknown) => {
  const text = textOf(value, 40);
  return text !== undefined && !Number.isNaN(Date.parse(text)) ? new Date(text).toISOString() : undefined;
};
const isStatus = (name: string): name is RunStatus => runStatuses.some((status) => status === name);

/** Reads the filters of an address. Values that the hub would refuse are left out. */
export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const statuses = (textOf(search['status'], 200) ?? '').split(',').filter(isStatus);
  const period = textOf(search['period'], 10);
  const environment = search['environment'];
  const found: RunSearch = {
    status: statuses.length === 0 ? undefined : [...new Set(statuses)].join(','),
    workflow: matching(search['workflow'], uuid),
    node: matching(search['node'], uuid),
    trigger: textOf(search['trigger'], 50),
    environment: environment === 'live' || environment === 'test' ? environment : undefined,
    code: textOf(search['code'], 100),
    id: matching(search['id'], idPrefix),
    period: period !== undefined && Object.hasOwn(periods, period) ? (period as Period) : undefined,
    from: period === undefined ? timeOf(search['from']) : undefined,
    to: period === undefined ? timeOf(search['to']) : undefined,
    cursor: textOf(search['cursor'], 2_000),
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

/** The filters without the place in the list. */
export function filtersOf({ cursor: _cursor, ...filters }: RunSearch): RunFilters {
  return filters;
}

/** The filters as the query of an address. */
export const queryOf = (filters: RunFilters): string =>
  new URLSearchParams(
    Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  ).toString();

/** Reads the query of an address, as `queryOf` writes it. */
export const filtersOfQuery = (query: string): RunFilters =>
  filtersOf(readRunSearch(Object.fromEntries(new URLSearchParams(query))));

export const hasFilters = (filters: RunFilters) => Object.values(filters).some((value) => value !== undefined);

export type RunQuery = NonNullable<Input<'estimateAutomationRuns'>['query']>;

/** A period begins at a full step, so that the list of the last minutes is still in the cache when the reader comes back. */
const periodStepMs = 300_000;

/** The filters as the API takes them. A period ends now. */
export function runQueryOf(filters: RunFilters, now: number): RunQuery {
  return {
    ...(filters.status === undefined ? {} : { statuses: filters.status }),
    ...(filters.workflow === undefined ? {} : { workflowId: filters.workflow }),
    ...(filters.node === undefined ? {} : { nodeId: filters.node }),
    ...(filters.trigger === undefined ? {} : { triggerType: filters.trigger }),
    ...(filters.environment === undefined ? {} : { environment: filters.environment }),
    ...(filters.code === undefined ? {} : { errorCode: filters.code }),
    ...(filters.id === undefined ? {} : { idPrefix: filters.id }),
    ...(filters.from === undefined ? {} : { from: filters.from }),
    ...(filters.to === undefined ? {} : { to: filters.to }),
    ...(filters.period === undefined
      ? {}
      : { from: new Date(Math.floor((now - periods[filters.period]) / periodStepMs) * periodStepMs).toISOString() }),
  };
}

/** Where an earlier version of the dashboard stored the saved filters of a workspace in the browser. */
export const browserFiltersKey = (tenantId: string) => `outrigger.runs.filters.${tenantId}`;
