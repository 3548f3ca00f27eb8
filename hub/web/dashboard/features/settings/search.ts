/** What the address of a settings section keeps: the open object and the filters of its list. */
export interface SettingsSearch {
  id?: string;
  delivery?: string;
  status?: string;
  event?: string;
  actor?: string;
  action?: string;
  targetType?: string;
  targetId?: string;
  kind?: string;
  from?: string;
  to?: string;
  tab?: string;
}

const names = [
  'id',
  'delivery',
  'status',
  'event',
  'actor',
  'action',
  'targetType',
  'targetId',
  'kind',
  'from',
  'to',
  'tab',
] as const satisfies readonly (keyof SettingsSearch)[];

/** Keeps the known fields. The router parses `?id=5` as a number, so values become texts again. */
export function validateSettingsSearch(search: Record<string, unknown>): SettingsSearch {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = search[name];
      return typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : [];
    }),
  );
}
