import { useQueryClient } from '@tanstack/react-query';
import type { QueryKey } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { background } from '../../../../../shared/web/background.ts';
import { useWorkspaceEvents } from '../../app/live-updates.tsx';

/** Numbers of a busy workspace change all the time, so they are read again at most this often. */
const rereadMs = 10_000;
/** Several events of one change arrive within this time. */
const settleMs = 500;

/** Reads responses again soon after events of a type, however many arrive. */
export function useRereadAfter(type: 'run' | 'node', keys: readonly QueryKey[]): void {
  const cache = useQueryClient();
  const latest = useRef(keys);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const readAt = useRef(-rereadMs);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  useWorkspaceEvents((events) => {
    if (timer.current !== undefined || !events.some((event) => event.type === type)) return;
    timer.current = setTimeout(
      () => {
        timer.current = undefined;
        readAt.current = performance.now();
        for (const queryKey of latest.current) background(cache.invalidateQueries({ queryKey }));
      },
      Math.max(settleMs, readAt.current + rereadMs - performance.now()),
    );
  });
}
