import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useRef } from 'react';
import type { Node, NodeCommand } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { pagedQuery, query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { reread, useWorkspaceEvents } from '../../app/live-updates.tsx';
import { Button } from '../../ui/button.tsx';
import { LoadError } from '../../ui/error.tsx';
import { Select } from '../../ui/form.tsx';
import { Card, Empty, TextLink } from '../../ui/layout.tsx';
import { Loading } from '../../ui/loaded.tsx';
import { Pill } from '../../ui/status.tsx';
import type { Tone } from '../../ui/status.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { Duration, LocalTime } from '../../ui/time.tsx';
import { commandStatuses } from './node-search.ts';
import type { CommandStatus } from './node-search.ts';

const tones: Record<CommandStatus, Tone> = {
  pending: 'warning',
  leased: 'accent',
  succeeded: 'success',
  failed: 'danger',
  withdrawn: 'neutral',
};
const rereadMs = 1_000;

/** Reads the commands again after events of runs, at most once a second. */
function useLiveCommands(): void {
  const cache = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useWorkspaceEvents((events) => {
    if (!events.some(({ type }) => type === 'step' || type === 'run')) return;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      reread(cache, ['listAutomationNodeCommands']);
    }, rereadMs);
  });
}

/** Programs that wait until a person approves them. The hub sends them to the node afterwards. */
function WaitingApprovals({ nodeId }: { nodeId: string }) {
  const { nodes } = useLanguage().words;
  const { data } = useQuery(query('listAutomationApprovalSummaries', { query: { status: 'pending', limit: 100 } }));
  const waiting = data?.data.filter((approval) => approval.nodeId === nodeId) ?? [];
  if (waiting.length === 0) return null;
  return (
    <Card className="mb-3.5 border-s-4 border-s-warning p-4">
      <h2 className="mb-1">{nodes.waitingApproval}</h2>
      <ul>
        {waiting.slice(0, 5).map(({ id, title, createdAt }) => (
          <li key={id} className="wrap-anywhere">
            <TextLink to="/approvals/$approvalId" params={{ approvalId: id }}>
              {visibleLine(title)}
            </TextLink>{' '}
            <span className="text-sm text-text-muted">
              <LocalTime at={createdAt} />
            </span>
          </li>
        ))}
      </ul>
      {waiting.length > 5 && <TextLink to="/approvals">{nodes.allApprovals}</TextLink>}
    </Card>
  );
}

function CommandRow({ command }: { command: NodeCommand }) {
  const { words, format } = useLanguage();
  const { nodes, common } = words;
  const { error, handedOutAt, finishedAt } = command;
  return (
    <Row>
      <Cell
        {...(error === null
          ? {}
          : { note: <span className="wrap-anywhere">{visibleLine(`${error.code}: ${error.message}`)}</span> })}
      >
        <code>{visibleLine(command.type)}</code>
      </Cell>
      <Cell>
        <Pill tone={tones[command.status]}>{nodes.commandStatus[command.status]}</Pill>
      </Cell>
      <Cell className="whitespace-nowrap">
        <LocalTime at={command.createdAt} />
      </Cell>
      <Cell className="whitespace-nowrap">
        {handedOutAt === null ? common.none : <Duration from={handedOutAt} to={finishedAt} />}
      </Cell>
      <Cell {...(command.attempt > 1 ? { note: format(nodes.attempt, { number: command.attempt }) } : {})}>
        <TextLink to="/runs/$runId" params={{ runId: command.runId }}>
          {format(nodes.runStep, { run: command.runId.slice(0, 13), step: command.stepIndex + 1 })}
        </TextLink>
      </Cell>
      <Cell>{command.type === 'system.run' ? nodes.byPerson : common.none}</Cell>
    </Row>
  );
}

/** What the workspace sent to a machine, newest first. */
export function CommandsTab({ node }: { node: Node }) {
  const { words } = useLanguage();
  const { nodes, common } = words;
  const from = '/nodes/$nodeId/{-$tab}';
  const { status } = useSearch({ from });
  const navigate = useNavigate({ from });
  useLiveCommands();
  const list = useInfiniteQuery(
    pagedQuery('listAutomationNodeCommands', {
      params: { id: node.id },
      query: { limit: 50, ...(status === undefined ? {} : { status }) },
    }),
  );
  const rows = list.data?.pages.flatMap(({ data }) => data);
  return (
    <>
      <WaitingApprovals nodeId={node.id} />
      <Card>
        <div className="border-b px-3.5 py-2">
          <Select
            aria-label={nodes.filter}
            className="w-auto!"
            value={status ?? ''}
            onChange={({ target }) =>
              background(
                navigate({
                  search: target.value === '' ? {} : { status: target.value as CommandStatus },
                  replace: true,
                }),
              )
            }
          >
            <option value="">{nodes.allCommands}</option>
            {commandStatuses.map((name) => (
              <option key={name} value={name}>
                {nodes.commandStatus[name]}
              </option>
            ))}
          </Select>
        </div>
        {rows === undefined &&
          (list.error === null ? <Loading /> : <LoadError error={list.error} onRetry={list.refetch} />)}
        {rows?.length === 0 && (
          <Empty title={status === undefined ? nodes.noCommands : nodes.noCommandsInStatus}>
            {status === undefined && (
              <TextLink to={from} params={{ nodeId: node.id, tab: 'console' }}>
                {nodes.tryCommand}
              </TextLink>
            )}
          </Empty>
        )}
        {rows !== undefined && rows.length > 0 && (
          <Table head={[nodes.command, nodes.status, nodes.sent, nodes.took, nodes.run, nodes.approval]}>
            {rows.map((command) => (
              <CommandRow key={command.id} command={command} />
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
    </>
  );
}
