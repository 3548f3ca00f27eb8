import { useQueryClient } from '@tanstack/react-query';
import type { QueryClient, QueryKey } from '@tanstack/react-query';
import { createContext, useContext, useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { background } from '../../../../shared/web/background.ts';
import type { OperationId } from './api.ts';
import { LiveEvents } from './live-events.ts';
import type { WorkspaceEvent } from './live-events.ts';
import { Rereads } from './rereads.ts';
import type { RereadOptions } from './rereads.ts';
import { checkSession } from './session-state.ts';
import { useTenantId } from './session.tsx';

const LiveContext = createContext<LiveEvents | null>(null);
const RereadsContext = createContext<Rereads | null>(null);

/** Lists and counts that are read again after events of a type. Pages that show single objects patch them themselves. */
const listsOf: Partial<Record<string, OperationId>> = {
  approval: 'listAutomationApprovalSummaries',
  node: 'listAutomationNodes',
};

/** Marks responses of operations as old, so that those on the page are read again. */
export function reread(client: QueryClient, operations: Iterable<OperationId>): void {
  for (const id of operations) background(client.invalidateQueries({ queryKey: [id] }));
}

/** Whether events may be missing: before `ready`, and before `reset`. */
export const isGap = ({ type }: WorkspaceEvent) => type === 'ready' || type === 'reset';

/** Connects the page to the live events of the workspace. */
export function LiveUpdates({ children }: { children: ReactNode }) {
  const tenantId = useTenantId();
  const client = useQueryClient();
  const [rereads] = useState(() => new Rereads(client));
  const [live, setLive] = useState<LiveEvents | null>(null);
  useEffect(() => {
    const events = new LiveEvents(tenantId);
    const stopListening = events.subscribe((batch) => {
      for (const { type } of batch) {
        if (type === 'end') background(checkSession());
        const list = listsOf[type];
        if (list !== undefined) rereads.request([list]);
      }
      if (batch.some(isGap)) for (const { queryKey } of client.getQueryCache().getAll()) rereads.request(queryKey);
    });
    const stop = events.start();
    setLive(events);
    return () => {
      stopListening();
      stop();
    };
  }, [tenantId, client, rereads]);
  return (
    <RereadsContext value={rereads}>
      <LiveContext value={live}>{children}</LiveContext>
    </RereadsContext>
  );
}

/** Calls a function with each batch of workspace events while the component is on the page. */
export function useWorkspaceEvents(listener: (events: readonly WorkspaceEvent[]) => void): void {
  const live = useContext(LiveContext);
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => live?.subscribe((events) => latest.current(events)), [live]);
}

export function useRereads(): Rereads {
  const rereads = useContext(RereadsContext);
  if (rereads === null) throw new Error('The page has no live updates.');
  return rereads;
}

/** Reads responses again after events that concern them. */
export function useRereadOn(
  concerns: (event: WorkspaceEvent) => boolean,
  keys: readonly QueryKey[],
  options?: RereadOptions,
): void {
  const rereads = useRereads();
  useWorkspaceEvents((events) => {
    if (events.some(concerns)) for (const key of keys) rereads.request(key, options);
  });
}
