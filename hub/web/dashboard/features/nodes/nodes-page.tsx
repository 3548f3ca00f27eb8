import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Node } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { pagedQuery, query } from '../../app/api.ts';
import { useLanguage, useWords } from '../../app/language.tsx';
import { useIsAdmin } from '../../app/session.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { LoadError } from '../../ui/error.tsx';
import { Select } from '../../ui/form.tsx';
import { Card, Empty, Page, TextLink } from '../../ui/layout.tsx';
import { Loading } from '../../ui/loaded.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { NodeStatusPills, PowersAtAGlance, systemName } from './node-labels.tsx';
import { nodeStatuses } from './node-search.ts';
import type { NodeStatus } from './node-search.ts';

/** Events report that a node comes or goes. The switches of its owner arrive with its heartbeats. */
export const rereadNodesMs = 15_000;
/** Waiting approvals and runs that are counted at most. */
const counted = 100;

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

function NodeRow({ node, waiting }: { node: Node; waiting: { runs: number; approvals: number } }) {
  const { words, format } = useLanguage();
  const { nodes, common } = words;
  return (
    <Row>
      <Cell {...(node.device === null ? {} : { note: visibleLine(node.device.name) })} className="max-w-80">
        <span className="font-semibold wrap-anywhere">
          <TextLink to="/nodes/$nodeId/{-$tab}" params={{ nodeId: node.id }}>
            {visibleLine(node.name)}
          </TextLink>
        </span>
      </Cell>
      <Cell>
        <NodeStatusPills node={node} />
      </Cell>
      <Cell
        {...(node.device === null
          ? {}
          : { note: format(nodes.companionVersion, { version: visibleLine(node.device.appVersion) }) })}
      >
        {node.device === null ? common.none : systemName(node.device)}
      </Cell>
      <Cell className="whitespace-nowrap">
        {node.lastSeenAt === null ? nodes.never : <RelativeTime at={node.lastSeenAt} />}
      </Cell>
      <Cell>{node.status !== 'pending' && <PowersAtAGlance node={node} />}</Cell>
      <Cell>
        {waiting.approvals > 0 && (
          <div>
            <TextLink to="/nodes/$nodeId/{-$tab}" params={{ nodeId: node.id, tab: 'commands' }}>
              {format(waiting.approvals === 1 ? nodes.oneApproval : nodes.approvals, { count: waiting.approvals })}
            </TextLink>
          </div>
        )}
        {waiting.runs > 0 && (
          <div>
            <TextLink to="/nodes/$nodeId/{-$tab}" params={{ nodeId: node.id, tab: 'commands' }}>
              {format(waiting.runs === 1 ? nodes.oneRun : nodes.runs, { count: waiting.runs })}
            </TextLink>
          </div>
        )}
        {waiting.approvals + waiting.runs === 0 && <span className="text-text-muted">{nodes.nothingWaits}</span>}
      </Cell>
    </Row>
  );
}

function PairLink() {
  const { nodes } = useWords();
  return (
    <ButtonLink to="/" variant="primary">
      {nodes.pair}
    </ButtonLink>
  );
}

/** The machines of the workspace. */
export function NodesPage() {
  const { words } = useLanguage();
  const { nodes, common } = words;
  const isAdmin = useIsAdmin();
  const navigate = useNavigate({ from: '/nodes' });
  const { status } = useSearch({ from: '/nodes' });
  const waitingFor = useWaiting();
  const list = useInfiniteQuery({
    ...pagedQuery('listAutomationNodes', { query: { limit: 50, ...(status === undefined ? {} : { status }) } }),
    refetchInterval: rereadNodesMs,
  });
  const rows = list.data?.pages.flatMap(({ data }) => data);
  return (
    <Page title={common.nodes} meta={nodes.about} actions={isAdmin && <PairLink />}>
      <Card>
        <div className="border-b px-3.5 py-2">
          <Select
            aria-label={nodes.filter}
            className="w-auto!"
            value={status ?? ''}
            onChange={({ target }) =>
              background(
                navigate({ search: target.value === '' ? {} : { status: target.value as NodeStatus }, replace: true }),
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
        </div>
        {rows === undefined &&
          (list.error === null ? <Loading /> : <LoadError error={list.error} onRetry={list.refetch} />)}
        {rows?.length === 0 &&
          (status === undefined ? (
            <Empty title={nodes.empty}>
              <p className="mb-3">{isAdmin ? nodes.emptyText : nodes.emptyForAgents}</p>
              {isAdmin && <PairLink />}
            </Empty>
          ) : (
            <Empty title={nodes.emptyFilter} />
          ))}
        {rows !== undefined && rows.length > 0 && (
          <Table head={[nodes.name, nodes.status, nodes.system, nodes.lastSeen, nodes.powers, nodes.waiting]}>
            {rows.map((node) => (
              <NodeRow key={node.id} node={node} waiting={waitingFor(node.id)} />
            ))}
          </Table>
        )}
        {list.hasNextPage && (
          <div className="border-t p-2 text-center">
            <Button variant="quiet" isBusy={list.isFetchingNextPage} onClick={() => background(list.fetchNextPage())}>
              {common.more}
            </Button>
          </div>
        )}
      </Card>
    </Page>
  );
}
