import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';
import { background } from '../../../../../shared/web/background.ts';
import type { SettingsSearch } from './search.ts';

const from = '/settings/{-$section}';

/** The open object and the filters in the address, and a function that changes some of them. */
export function useSettingsSearch(): [
  SettingsSearch,
  (change: { [Name in keyof SettingsSearch]: string | undefined }) => void,
] {
  const search = useSearch({ from });
  const navigate = useNavigate({ from });
  const change = useCallback(
    (values: { [Name in keyof SettingsSearch]: string | undefined }) =>
      background(
        navigate({
          search: (before) =>
            Object.fromEntries(
              Object.entries({ ...before, ...values }).filter(([, value]) => value !== undefined && value !== ''),
            ),
          resetScroll: false,
        }),
      ),
    [navigate],
  );
  return [search, change];
}
