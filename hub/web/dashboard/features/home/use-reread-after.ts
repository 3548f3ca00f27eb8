import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { OperationId } from '../../app/api.ts';
import { reread, useWorkspaceEvents } from '../../app/live-updates.tsx';

/** Reads operations again after events of a type, at most once in `everyMs`, however many events arrive. */
export function useRereadAfter(type: string, operations: readonly OperationId[], everyMs: number): void {
  const cache = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useWorkspaceEvents((events) => {
    if (timer.current !== undefined || !events.some((event) => event.type === type)) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      reread(cache, operations);
    }, everyMs);
  });
}
