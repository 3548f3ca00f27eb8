import { useQuery } from '@tanstack/react-query';
import type { Node, RunSummary } from '../../../../../shared/client/client.ts';
import { query } from '../../app/api.ts';
import { useTenantId } from '../../app/session.tsx';
import { useDayStart } from './period.ts';

/** Rows that the home page reads of each list. Larger lists are counted as "at least". */
const readRows = 100;

/** What the workspace can use, and the request that reads it. */
export function useProducts() {
  const entitlements = useQuery(query('readEntitlements'));
  return {
    entitlements,
    hasAutomations: entitlements.data?.automations === true,
    hasChat: entitlements.data?.conversations_suite === true,
  };
}

// Each has the input of the navigation, so that both share a response.
export const useUnread = (isEnabled: boolean) => {
  const tenantId = useTenantId();
  return useQuery({ ...query('countInboxConversations', { params: { tenantId } }), enabled: isEnabled });
};
export const usePendingApprovals = (isEnabled: boolean) =>
  useQuery({
    ...query('listAutomationApprovalSummaries', { query: { status: 'pending', limit: readRows } }),
    enabled: isEnabled,
  });

export const useNodes = (isEnabled: boolean) =>
  useQuery({ ...query('listAutomationNodes', { query: { limit: readRows } }), enabled: isEnabled });

export const useSlo = (isEnabled: boolean) =>
  useQuery({ ...query('getAutomationSlo', { query: { window: '24h' } }), enabled: isEnabled });

/** Runs that failed in the last 24 hours and were not retried, newest first. */
export function useFailedRuns(isEnabled: boolean) {
  const from = useDayStart();
  return useQuery({
    ...query('listAutomationRuns', { query: { status: 'failed', latest: 'true', from, limit: readRows } }),
    enabled: isEnabled,
  });
}

/** Runs in progress, some of which may wait for a node. */
export const useRunningRuns = (isEnabled: boolean) =>
  useQuery({ ...query('listAutomationRuns', { query: { status: 'running', limit: readRows } }), enabled: isEnabled });

/** Failed runs of a workflow with the same error. */
export interface FailureGroup {
  latest: RunSummary;
  count: number;
}

/** Groups failed runs by workflow and error, the group with the newest failure first. */
export function groupFailures(runs: readonly RunSummary[]): FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const run of runs) {
    const key = `${run.workflowId} ${run.error?.code ?? ''}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { latest: run, count: 1 });
    else group.count += 1;
  }
  return [...groups.values()];
}

/** An offline node and the runs that wait for it. */
export interface AwaitedNode {
  id: string;
  name: string;
  lastSeenAt: string | null;
  runs: number;
}

/** The offline nodes for which runs wait. */
export function awaitedNodes(runs: readonly RunSummary[], nodes: readonly Node[]): AwaitedNode[] {
  const awaited = new Map<string, AwaitedNode>();
  for (const { waitsFor } of runs) {
    if (waitsFor?.kind !== 'node_command' || waitsFor.nodeOnline) continue;
    const { nodeId: id, nodeName: name } = waitsFor;
    const known = awaited.get(id);
    if (known !== undefined) known.runs += 1;
    else awaited.set(id, { id, name, lastSeenAt: nodes.find((node) => node.id === id)?.lastSeenAt ?? null, runs: 1 });
  }
  return [...awaited.values()];
}
