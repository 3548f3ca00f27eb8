import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { useState } from 'react';
import type { Node } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { query } from '../../app/api.ts';
import { useLanguage, useWords } from '../../app/language.tsx';
import { useIsAdmin } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/form.tsx';
import { Card, Empty, Page, TextLink } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { PairDialog } from '../start/pair-dialog.tsx';
import { NodeStatusPills, NodeTags, PowersAtAGlance, systemName } from './node-labels.tsx';
import { nodeStatuses } from './node-search.ts';
import type { NodeStatus } from './node-search.ts';
import { Pager, StackedCell, StackedRow, StackedTable } from './stacked-table.tsx';

/** Events report that a node comes or goes. The switches of its owner arrive with its heartbeats. */
export const rereadNodesMs = 15_000;
/** Waiting approvals and runs that are counted at most. */
const counted = 100;
/** A row has many elements, and a page at most 3,000. */
const pageRows = 40;

/** What waits for each node: runs with a command for it, and approvals of its programs. */
function useWaiting(): (nodeId: string) => { runs: number; approvals: number } {
  const approvals = useQuery(
    query('listAutomationApprovalSummaries', { query: { status: 'pending', limit: counted } }),
  );
  const runs = useQuery({
    ...query('listAutomationRuns', { query: { status: 'running', limit: counted } }),
    refetchInterval: rereadNodesMs,
  });
  return (nodeId) => ({
    approvals: approvals.data?.data.filter((approval) => approval.nodeId === nodeId).length ?? 0,
    runs:
      runs.data?.data.filter(({ waitsFor }) => waitsFor?.kind === 'node_command' && waitsFor.nodeId === nodeId)
        .length ?? 0,
  });
}

const columns =
  'md:grid-cols-[minmax(8rem,1.5fr)_minmax(7rem,1fr)_minmax(9rem,1.5fr)_minmax(6rem,1fr)_9.5rem_minmax(6rem,1fr)]';

function NodeRow({ node, waiting }: { node: Node; waiting: { runs: number; approvals: number } }) {
  const { words, format } = useLanguage();
  const { nodes, common } = words;
  const { device } = node;
  const commands = { to: '/nodes/$nodeId/{-$tab}', params: { nodeId: node.id, tab: 'commands' } } as const;
  return (
    <StackedRow columns={columns}>
      <div role="rowheader" className="min-w-0 pb-1 wrap-anywhere md:pb-0">
        <div className="font-semibold">
          <TextLink to="/nodes/$nodeId/{-$tab}" params={{ nodeId: node.id }}>
            <bdi>{visibleLine(node.name)}</bdi>
          </TextLink>
        </div>
        {device !== null && <bdi className="text-sm text-text-muted">{visibleLine(device.name)}</bdi>}
        <NodeTags node={node} />
      </div>
      <StackedCell label={nodes.status}>
        <NodeStatusPills node={node} />
      </StackedCell>
      <StackedCell label={nodes.system}>
        {device === null ? (
          common.none
        ) : (
          <span className="wrap-anywhere">
            <bdi>{systemName(device)}</bdi>
            <span className="block text-sm text-text-muted">
              {format(nodes.companionVersion, { version: visibleLine(device.appVersion) })}
            </span>
          </span>
        )}
      </StackedCell>
      <StackedCell label={nodes.lastSeen}>
        {node.lastSeenAt === null ? nodes.never : <RelativeTime at={node.lastSeenAt} />}
      </StackedCell>
      <StackedCell label={nodes.powers}>
        {node.status === 'pending' || node.status === 'revoked' ? common.none : <PowersAtAGlance node={node} />}
      </StackedCell>
      <StackedCell label={nodes.waiting}>
        {waiting.approvals > 0 && (
          <div>
            <TextLink {...commands}>
              {format(waiting.approvals === 1 ? nodes.oneApproval : nodes.approvals, { count: waiting.approvals })}
            </TextLink>
          </div>
        )}
        {waiting.runs > 0 && (
          <div>
            <TextLink {...commands}>
              {format(waiting.runs === 1 ? nodes.oneRun : nodes.runs, { count: waiting.runs })}
            </TextLink>
          </div>
        )}
        {waiting.approvals + waiting.runs === 0 && <span className="text-text-muted">{nodes.nothingWaits}</span>}
      </StackedCell>
    </StackedRow>
  );
}

function PairButton() {
  const { nodes } = useWords();
  const [isPairing, setPairing] = useState(false);
  return (
    <>
      <Button variant="primary" onClick={() => setPairing(true)}>
        {nodes.pair}
      </Button>
      {isPairing && <PairDialog onClose={() => setPairing(false)} />}
    </>
  );
}

/** The machines of the workspace. */
export function NodesPage() {
  const { words } = useLanguage();
  const { nodes, common } = words;
  const isAdmin = useIsAdmin();
  const navigate = useNavigate({ from: '/nodes' });
  const { status, tag, cursor } = useSearch({ from: '/nodes' });
  const waitingFor = useWaiting();
  const filter = { ...(status === undefined ? {} : { status }), ...(tag === undefined ? {} : { tag }) };
  const list = useQuery({
    ...query('listAutomationNodes', {
      query: { limit: pageRows, ...filter, ...(cursor === undefined ? {} : { cursor }) },
    }),
    refetchInterval: rereadNodesMs,
  });
  return (
    <Page title={common.nodes} meta={nodes.about} actions={isAdmin && <PairButton />}>
      <Card>
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-3.5 py-2">
          <Select
            aria-label={nodes.filter}
            className="w-auto!"
            value={status ?? ''}
            onChange={({ target }) =>
              background(
                navigate({
                  search: {
                    ...(target.value === '' ? {} : { status: target.value as NodeStatus }),
                    ...(tag === undefined || target.value === 'revoked' ? {} : { tag }),
                  },
                  replace: true,
                }),
              )
            }
          >
            <option value="">{nodes.allButRevoked}</option>
            {nodeStatuses.map((name) => (
              <option key={name} value={name}>
                {common.status[name]}
              </option>
            ))}
          </Select>
          {tag !== undefined && (
            <Button
              size="small"
              title={nodes.allTags}
              onClick={() => background(navigate({ search: status === undefined ? {} : { status }, replace: true }))}
            >
              {nodes.withTag} <bdi>{visibleLine(tag)}</bdi> <X size={14} aria-hidden />
              <span className="sr-only">{nodes.allTags}</span>
            </Button>
          )}
        </div>
        <Loaded of={list}>
          {({ data: rows, meta }) => (
            <>
              {rows.length === 0 &&
                (status === undefined && tag === undefined ? (
                  <Empty title={nodes.empty}>
                    <p className="mb-3">{isAdmin ? nodes.emptyText : nodes.emptyForAgents}</p>
                    {isAdmin && <PairButton />}
                  </Empty>
                ) : (
                  <Empty title={nodes.emptyFilter} />
                ))}
              {rows.length > 0 && (
                <StackedTable
                  label={common.nodes}
                  columns={columns}
                  head={[nodes.name, nodes.status, nodes.system, nodes.lastSeen, nodes.powers, nodes.waiting]}
                >
                  {rows.map((node) => (
                    <NodeRow key={node.id} node={node} waiting={waitingFor(node.id)} />
                  ))}
                </StackedTable>
              )}
              <Pager
                cursor={cursor}
                next={meta.nextCursor}
                linkTo={(at) => ({ to: '/nodes', search: { ...filter, ...(at === undefined ? {} : { cursor: at }) } })}
              />
            </>
          )}
        </Loaded>
      </Card>
    </Page>
  );
}
