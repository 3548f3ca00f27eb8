import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { LinkProps } from '@tanstack/react-router';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { usePendingApprovals, useSlo, useUnread } from './data.ts';
import { runsLink } from './links.ts';
import { useRereadAfter } from './use-reread-after.ts';

const openStatuses = 'queued,running,waiting_approval';
const dayMs = 86_400_000;

/** A number with what it counts; a link to its rows. */
function Tile({ value, label, link }: { value: string | null; label: string; link: LinkProps }) {
  const { none } = useLanguage().words.common;
  return (
    <li className="flex">
      <Link
        {...link}
        className="flex-1 rounded-(--radius-large) border bg-surface px-4 py-3 text-text no-underline hover:border-border-button hover:bg-surface-muted"
      >
        <span className="block text-2xl font-bold">{value ?? none}</span>
        <span className="block text-text-muted">{label}</span>
      </Link>
    </li>
  );
}

function AutomationTiles() {
  const { words, number, format, variant } = useLanguage();
  const texts = words.home;
  const approvals = usePendingApprovals(true).data;
  const slo = useSlo(true).data;
  const openQuery = query('estimateAutomationRuns', { query: { statuses: openStatuses } });
  const open = useQuery(openQuery).data;
  useRereadAfter('run', [openQuery.queryKey]);
  const decidable = approvals?.data.filter(({ canDecide }) => canDecide).length;
  const percent = new Intl.NumberFormat(variant, { style: 'percent', maximumFractionDigits: 1 });
  return (
    <>
      <Tile
        value={
          decidable === undefined
            ? null
            : approvals?.meta.nextCursor === null
              ? number(decidable)
              : format(texts.atLeast, { count: decidable })
        }
        label={decidable === 1 ? texts.oneApproval : texts.approvals}
        link={{ to: '/approvals' }}
      />
      <Tile
        value={slo === undefined ? null : number(slo.runs.total)}
        label={
          slo === undefined || slo.runs.successRate === null
            ? slo?.runs.total === 1
              ? texts.oneRun
              : texts.runs
            : format(slo.runs.total === 1 ? texts.oneRunWithRate : texts.runsWithRate, {
                rate: percent.format(slo.runs.successRate),
              })
        }
        link={runsLink(slo === undefined ? {} : { from: new Date(Date.parse(slo.to) - dayMs).toISOString() })}
      />
      <Tile
        value={
          open === undefined ? null : open.isExact ? number(open.count) : format(texts.about, { count: open.count })
        }
        label={open?.count === 1 ? texts.oneInProgress : texts.inProgress}
        link={runsLink({ status: openStatuses })}
      />
      <Tile
        value={slo === undefined ? null : format(texts.onlineOf, { online: slo.nodes.online, total: slo.nodes.total })}
        label={texts.nodesOnline}
        link={{ to: '/nodes' }}
      />
    </>
  );
}

function UnreadTile() {
  const { words, number } = useLanguage();
  const { data } = useUnread(true);
  return (
    <Tile
      value={data === undefined ? null : number(data.unread)}
      label={data?.unread === 1 ? words.home.oneUnread : words.home.unread}
      link={{ to: '/inbox' }}
    />
  );
}

/** The numbers of the workspace at the top of the page. */
export function Tiles({ hasAutomations, hasChat }: { hasAutomations: boolean; hasChat: boolean }) {
  return (
    <ul className="mb-3.5 grid grid-cols-2 gap-3.5 md:grid-cols-[repeat(auto-fit,minmax(11rem,1fr))]">
      {hasAutomations && <AutomationTiles />}
      {hasChat && <UnreadTile />}
    </ul>
  );
}
