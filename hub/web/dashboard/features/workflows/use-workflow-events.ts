import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { reread, useWorkspaceEvents } from '../../app/live-updates.tsx';

/** The last runs are read again at most this often. */
const rereadMs = 5_000;

/** Reads the list of workflows again after runs changed, so that their last runs are current. */
export function useWorkflowEvents(): void {
  const cache = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useWorkspaceEvents((events) => {
    if (!events.some(({ type }) => type === 'run')) return;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      reread(cache, ['listAutomationWorkflowSummaries']);
    }, rereadMs);
  });
}
