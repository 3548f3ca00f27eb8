import type { ReactNode } from 'react';
import type { Node } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { Facts, Section, TextLink } from '../../ui/layout.tsx';
import { LocalTime, RelativeTime } from '../../ui/time.tsx';
import { CopyButton } from '../../ui/value.tsx';
import { FactsHistory } from './facts-history.tsx';
import { LastPicture } from './last-picture.tsx';
import { systemName } from './node-labels.tsx';
import { OwnerCommand, PausedNote } from './permissions-tab.tsx';
import { powerIcons, powerState, powers } from './powers.ts';

/** A share of a whole, as a bar with its text. A store that is nearly full is red; a busy processor is not. */
function Share({ part, text, isBusy = false }: { part: number; text: ReactNode; isBusy?: boolean }) {
  const percent = Math.max(0, Math.min(100, part * 100));
  return (
    <div>
      <div>{text}</div>
      <div className="mt-0.5 h-1.5 max-w-60 overflow-hidden rounded-full bg-surface-muted">
        <div
          className={`h-full rounded-full ${percent > 90 && !isBusy ? 'bg-danger' : 'bg-accent'}`}
          style={{ width: `${percent}%` }}
        />
      </div>
    </div>
  );
}

function Machine({ node }: { node: Node }) {
  const { words, format, bytes, number, duration } = useLanguage();
  const { nodes } = words;
  const { device, facts } = node;
  if (device === null) return <p className="text-text-muted">{nodes.notPairedText}</p>;
  const rows: [string, ReactNode][] = [
    [nodes.hostName, <bdi key="name">{visibleLine(device.name)}</bdi>],
    [nodes.system, <bdi key="system">{systemName(device)}</bdi>],
  ];
  if (facts?.cpu !== undefined)
    rows.push([
      nodes.processor,
      <Share
        key="cpu"
        isBusy
        part={facts.cpu.loadPercent / 100}
        text={format(nodes.processorText, {
          model: visibleLine(facts.cpu.model),
          cores: facts.cpu.cores,
          load: Math.round(facts.cpu.loadPercent),
        })}
      />,
    ]);
  if (facts?.memory !== undefined) {
    const { totalBytes, availableBytes } = facts.memory;
    rows.push([
      nodes.memory,
      <Share
        key="memory"
        part={totalBytes === 0 ? 0 : (totalBytes - availableBytes) / totalBytes}
        text={format(nodes.freeOf, { free: bytes(availableBytes), total: bytes(totalBytes) })}
      />,
    ]);
  }
  for (const { mount, totalBytes, usedBytes } of (facts?.disks ?? []).slice(0, 8))
    rows.push([
      format(nodes.disk, { mount: visibleLine(mount) }),
      <Share
        key={mount}
        part={totalBytes === 0 ? 0 : usedBytes / totalBytes}
        text={format(nodes.freeOf, { free: bytes(Math.max(0, totalBytes - usedBytes)), total: bytes(totalBytes) })}
      />,
    ]);
  if (facts?.battery !== undefined && facts.battery !== null)
    rows.push([
      nodes.battery,
      format(facts.battery.charging ? nodes.batteryCharging : nodes.batteryText, {
        percent: Math.round(facts.battery.percent),
      }),
    ]);
  if (facts?.displays !== undefined)
    rows.push([
      nodes.displays,
      facts.displays.length === 0
        ? nodes.noDisplay
        : facts.displays
            .map(({ index, name, width, height }) => `${number(index)}: ${visibleLine(name)} ${width} × ${height}`)
            .join(', '),
    ]);
  if (facts?.uptimeSeconds !== undefined) rows.push([nodes.uptime, duration(facts.uptimeSeconds * 1000)]);
  return <Facts rows={rows} />;
}

function PowersSummary({ node }: { node: Node }) {
  const { words } = useLanguage();
  const { nodes } = words;
  return (
    <Section
      title={nodes.powers}
      actions={
        <TextLink to="/nodes/$nodeId/{-$tab}" params={{ nodeId: node.id, tab: 'permissions' }}>
          {nodes.permissions}
        </TextLink>
      }
    >
      <ul className="grid grid-cols-[repeat(auto-fill,minmax(8.5rem,1fr))] gap-2">
        {powers.map((power) => {
          const { verdict, obstacles } = powerState(node, power);
          const Icon = powerIcons[power];
          const isUsable = verdict === 'works' || verdict === 'trial';
          return (
            <li key={power} className="flex items-start gap-2 rounded-(--radius-medium) bg-surface-muted px-2.5 py-2">
              <Icon
                size={18}
                aria-hidden
                className={`mt-0.5 shrink-0 ${isUsable ? 'text-success' : 'text-text-muted'}`}
              />
              <div className="min-w-0">
                <div className="font-semibold">{nodes.power[power].name}</div>
                <div className={`text-sm ${isUsable ? 'text-success' : 'text-text-muted'}`}>
                  {verdict === 'works' && power === 'system'
                    ? nodes.withApproval
                    : obstacles[0] === undefined
                      ? nodes.verdict[verdict]
                      : nodes.obstacle[obstacles[0]]}
                </div>
              </div>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

function LogState({ node: { audit } }: { node: Node }) {
  const { words, number } = useLanguage();
  const { nodes } = words;
  return (
    <Section title={nodes.log}>
      {audit === null ? (
        <p className="text-text-muted">{nodes.noLog}</p>
      ) : (
        <>
          {audit.brokenAt === null ? (
            <p className="mb-2 text-success">{nodes.logIntact}</p>
          ) : (
            <div className="mb-2 rounded-(--radius-medium) bg-danger-muted px-3 py-2 text-danger">
              <p>
                {nodes.logBrokenAt} <LocalTime at={audit.brokenAt} />
              </p>
              <p className="text-sm">{nodes.logBrokenText}</p>
              <OwnerCommand command="npx outrigger-companion audit verify" />
            </div>
          )}
          <Facts
            rows={[
              [nodes.logEntries, number(audit.entries)],
              [
                nodes.logHash,
                <span key="hash" className="flex items-start gap-1">
                  <code className="min-w-0 wrap-anywhere">{audit.hash.slice(0, 16)}…</code>
                  <span className="-my-2">
                    <CopyButton text={audit.hash} />
                  </span>
                </span>,
              ],
            ]}
          />
        </>
      )}
    </Section>
  );
}

function Pairing({ node }: { node: Node }) {
  const { words } = useLanguage();
  const { nodes, common } = words;
  return (
    <Section title={nodes.pairing}>
      <Facts
        rows={[
          [nodes.created, <LocalTime key="created" at={node.createdAt} />],
          [nodes.pairedAt, node.pairedAt === null ? nodes.notPaired : <LocalTime key="paired" at={node.pairedAt} />],
          [nodes.lastSeen, node.lastSeenAt === null ? nodes.never : <RelativeTime key="seen" at={node.lastSeenAt} />],
          [nodes.companion, node.device === null ? common.none : visibleLine(node.device.appVersion)],
          [
            nodes.nodeId,
            <span key="id" className="flex items-start gap-1">
              <code className="min-w-0 wrap-anywhere">{node.id}</code>
              <span className="-my-2">
                <CopyButton text={node.id} />
              </span>
            </span>,
          ],
        ]}
      />
      {node.pairedAt === null && node.status === 'pending' && (
        <p className="mt-2 text-sm text-text-muted">{nodes.notPairedText}</p>
      )}
    </Section>
  );
}

/** The state of a machine and what it reports about itself. */
export function OverviewTab({ node }: { node: Node }) {
  const { nodes } = useLanguage().words;
  return (
    <>
      <PausedNote node={node} />
      <div className="grid items-start gap-3.5 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <div className="flex min-w-0 flex-col gap-3.5">
          {node.device !== null && <PowersSummary node={node} />}
          <Section title={nodes.machine}>
            <Machine node={node} />
          </Section>
          <FactsHistory nodeId={node.id} />
        </div>
        <div className="flex min-w-0 flex-col gap-3.5">
          <LastPicture nodeId={node.id} />
          <LogState node={node} />
          <Pairing node={node} />
        </div>
      </div>
    </>
  );
}
