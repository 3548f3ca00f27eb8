import { useQueryClient } from '@tanstack/react-query';
import type { QueryClient } from '@tanstack/react-query';
import { createContext, useContext, useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { background } from '../../../../shared/web/background.ts';
import type { OperationId } from './api.ts';
import { listsOf } from './lists-of-event.ts';
import { LiveEvents } from './live-events.ts';
import type { WorkspaceEvent } from './live-events.ts';
import { sessionState } from './session-state.ts';
import { useTenantId } from './session.tsx';

const LiveContext = createContext<LiveEvents | null>(null);

/** A list is read again at most this often, however many events arrive. */
const rereadMs = 1_000;

/** Marks responses of operations as old, so that those on the page are read again. */
export function reread(client: QueryClient, operations: Iterable<OperationId>): void {
  for (const id of operations) background(client.invalidateQueries({ queryKey: [id] }));
}

/** Connects the page to the live events of the workspace. */
export function LiveUpdates({ children }: { children: ReactNode }) {
  const tenantId = useTenantId();
  const client = useQueryClient();
  const [live, setLive] = useState<LiveEvents | null>(null);
  useEffect(() => {
    const events = new LiveEvents(tenantId);
    const due = new Set<OperationId>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    // A list that is being read now is read again afterwards: to cancel the request each time would starve a slow list.
    const rereadDue = () => {
      const idle = [...due].filter((id) => client.isFetching({ queryKey: [id] }) === 0);
      reread(client, idle);
      for (const id of idle) due.delete(id);
      timer = due.size === 0 ? undefined : setTimeout(rereadDue, rereadMs);
    };
    const stopListening = events.subscribe((batch) => {
      for (const event of batch) {
        const { type } = event;
        // Events may be missing before `ready` and are missing before `reset`: what the page shows may be old.
        if (type === 'ready' || type === 'reset') background(client.invalidateQueries());
        if (type === 'end') sessionState.set({ isExpired: true });
        for (const id of listsOf(event)) due.add(id);
      }
      if (due.size > 0) timer ??= setTimeout(rereadDue, rereadMs);
    });
    const stop = events.start();
    setLive(events);
    return () => {
      stopListening();
      clearTimeout(timer);
      stop();
    };
  }, [tenantId, client]);
  return <LiveContext value={live}>{children}</LiveContext>;
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
