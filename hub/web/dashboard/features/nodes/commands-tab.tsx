import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Node, NodeCommand } from '../../../../../shared/client/operations.ts';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useRereadOn } from '../../app/live-updates.tsx';
import { Select } from '../../ui/form.tsx';
import { Card, Empty, TextLink } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { shortId } from '../../ui/object-links.tsx';
import { Pill } from '../../ui/status.tsx';
import type { Tone } from '../../ui/status.tsx';
import { Duration, LocalTime } from '../../ui/time.tsx';
import { commandStatuses } from './node-search.ts';
import type { CommandStatus } from './node-search.ts';
import { Pager, StackedCell, StackedRow, StackedTable } from './stacked-table.tsx';

const tones: Record<CommandStatus, Tone> = {
  pending: 'warning',
  leased: 'accent',
  succeeded: 'success',
  failed: 'danger',
  withdrawn: 'neutral',
};
const pageRows = 50;
const columns =
  'md:grid-cols-[minmax(10rem,3fr)_minmax(7rem,1fr)_minmax(5rem,0.8fr)_minmax(5rem,0.8fr)_minmax(8rem,1.2fr)_minmax(6rem,0.8fr)]';

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
          <li key={id} className="flex flex-wrap items-baseline gap-x-3 wrap-anywhere">
            <TextLink to="/approvals/$approvalId" params={{ approvalId: id }}>
              {visibleLine(title)}
            </TextLink>
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
    <StackedRow columns={columns}>
      <div role="rowheader" className="min-w-0 pb-1 wrap-anywhere md:pb-0">
        <code>{visibleLine(command.type)}</code>
        {error !== null && (
          <div className="text-sm text-text-muted">
            <bdi>{visibleText(`${error.code}: ${error.message}`)}</bdi>
          </div>
        )}
      </div>
      <StackedCell label={nodes.status}>
        <Pill tone={tones[command.status]}>{nodes.commandStatus[command.status]}</Pill>
      </StackedCell>
      <StackedCell label={nodes.sent}>
        <LocalTime at={command.createdAt} />
      </StackedCell>
      <StackedCell label={nodes.took}>
        {handedOutAt === null ? common.none : <Duration from={handedOutAt} to={finishedAt} />}
      </StackedCell>
      <StackedCell label={nodes.run}>
        <TextLink to="/runs/$runId" params={{ runId: command.runId }}>
          {format(nodes.runStep, { run: shortId(command.runId), step: command.stepIndex + 1 })}
        </TextLink>
        {command.attempt > 1 && (
          <div className="text-sm text-text-muted">{format(nodes.attempt, { number: command.attempt })}</div>
        )}
      </StackedCell>
      <StackedCell label={nodes.approval}>{command.type === 'system.run' ? nodes.byPerson : common.none}</StackedCell>
    </StackedRow>
  );
}

/** What the workspace sent to a machine, newest first. */
export function CommandsTab({ node }: { node: Node }) {
  const { words } = useLanguage();
  const { nodes } = words;
  const from = '/nodes/$nodeId/{-$tab}';
  const { status, cursor } = useSearch({ from });
  const navigate = useNavigate({ from });
  useRereadOn(({ type }) => type === 'step' || type === 'run', [['listAutomationNodeCommands']]);
  const filter = status === undefined ? {} : { status };
  const list = useQuery(
    query('listAutomationNodeCommands', {
      params: { id: node.id },
      query: { limit: pageRows, ...filter, ...(cursor === undefined ? {} : { cursor }) },
    }),
  );
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
        <Loaded of={list}>
          {({ data: rows, meta }) => (
            <>
              {rows.length === 0 && (
                <Empty title={status === undefined ? nodes.noCommands : nodes.noCommandsInStatus}>
                  {status === undefined && (
                    <TextLink to={from} params={{ nodeId: node.id, tab: 'console' }}>
                      {nodes.tryCommand}
                    </TextLink>
                  )}
                </Empty>
              )}
              {rows.length > 0 && (
                <StackedTable
                  label={nodes.commands}
                  columns={columns}
                  head={[nodes.command, nodes.status, nodes.sent, nodes.took, nodes.run, nodes.approval]}
                >
                  {rows.map((command) => (
                    <CommandRow key={command.id} command={command} />
                  ))}
                </StackedTable>
              )}
              <Pager
                cursor={cursor}
                next={meta.nextCursor}
                linkTo={(at) => ({
                  to: from,
                  params: { nodeId: node.id, tab: 'commands' },
                  search: { ...filter, ...(at === undefined ? {} : { cursor: at }) },
                })}
              />
            </>
          )}
        </Loaded>
      </Card>
    </>
  );
}
