import {
  awaitedNodes,
  groupFailures,
  useFailedRuns,
  useNodes,
  usePendingApprovals,
  useRunningRuns,
  useUnread,
} from './data.ts';
import type { useProducts } from './data.ts';

/** What waits for a person. */
export function useNeeds({ entitlements, hasAutomations, hasChat }: ReturnType<typeof useProducts>) {
  const pending = usePendingApprovals(hasAutomations);
  const failed = useFailedRuns(hasAutomations);
  const running = useRunningRuns(hasAutomations);
  const nodeList = useNodes(hasAutomations);
  const inbox = useUnread(hasChat);
  const queries = [entitlements, pending, failed, running, nodeList, inbox];
  const approvals = (pending.data?.data ?? []).filter(({ canDecide }) => canDecide);
  const failures = groupFailures(failed.data?.data ?? []);
  const nodes = awaitedNodes(running.data?.data ?? [], nodeList.data?.data ?? []);
  const unread = inbox.data?.unread ?? 0;
  return {
    approvals,
    failures,
    nodes,
    unread,
    /** Things that need a person: conversations count as one. */
    count: approvals.length + failures.length + nodes.length + (unread > 0 ? 1 : 0),
    isLoading: queries.some(({ isLoading }) => isLoading),
    /** A failure of a list that was never read. */
    error: queries.find(({ data, error }) => data === undefined && error !== null)?.error ?? null,
    retry: () => Promise.all(queries.filter(({ error }) => error !== null).map(({ refetch }) => refetch())),
  };
}
