import { Link } from '@tanstack/react-router';
import type { LinkProps } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { LoadError } from '../../ui/error.tsx';
import { useIsolate } from '../../ui/isolate.ts';
import { Section } from '../../ui/layout.tsx';
import { Loading } from '../../ui/loaded.tsx';
import { Pill } from '../../ui/status.tsx';
import type { Tone } from '../../ui/status.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { useApprovalTitle } from '../approvals/title.tsx';
import type { useNeeds } from './use-needs.ts';

/** Rows of each kind. The numbers above lead to all of them. */
const rowsOfKind = 4;

function Need({
  tone,
  pill,
  title,
  note,
  link,
}: {
  tone: Tone;
  pill: string;
  title: string;
  note: ReactNode;
  link: LinkProps;
}) {
  return (
    <li className="border-b last:border-b-0">
      <Link {...link} className="flex items-center gap-3 px-4 py-2.5 text-text no-underline hover:bg-hover">
        <span className="flex min-w-0 flex-1 flex-col items-start gap-0.5 sm:flex-row sm:items-center sm:gap-3">
          <Pill tone={tone}>{pill}</Pill>
          <span className="w-full min-w-0 flex-1">
            <span className="block wrap-anywhere">{title}</span>
            <span dir="auto" className="block truncate text-sm text-text-muted rtl:text-right">
              {note}
            </span>
          </span>
        </span>
        <ChevronRight size={18} className="shrink-0 text-text-muted rtl:-scale-x-100" aria-hidden />
      </Link>
    </li>
  );
}

/** What waits for a person: approvals, failures, offline nodes with waiting runs, unread conversations. */
export function Needs({ needs }: { needs: ReturnType<typeof useNeeds> }) {
  const { words, format } = useLanguage();
  const texts = words.home;
  const titleOf = useApprovalTitle();
  const isolate = useIsolate();
  const { approvals, failures, nodes, unread, isLoading, error, retry } = needs;
  const isEmpty = approvals.length + failures.length + nodes.length + unread === 0;
  return (
    <Section title={texts.needs}>
      {error !== null ? (
        <LoadError error={error} onRetry={retry} />
      ) : isEmpty ? (
        isLoading ? (
          <Loading />
        ) : (
          <p className="text-text-muted">{texts.needsEmpty}</p>
        )
      ) : (
        <ul className="-mx-4 -mb-2.5">
          {approvals.slice(0, rowsOfKind).map((approval) => (
            <Need
              key={approval.id}
              tone="warning"
              pill={texts.approve}
              title={titleOf(approval)}
              note={
                <>
                  {isolate(visibleLine(approval.workflowName))}
                  {approval.expiresAt !== null && (
                    <>
                      {' · '}
                      {words.approvals.expiry} <RelativeTime at={approval.expiresAt} />
                    </>
                  )}
                </>
              }
              link={{ to: '/approvals/$approvalId', params: { approvalId: approval.id } }}
            />
          ))}
          {failures.slice(0, rowsOfKind).map(({ latest, count }) => (
            <Need
              key={latest.id}
              tone="danger"
              pill={count === 1 ? texts.failed : format(texts.failedTimes, { count })}
              title={visibleLine(latest.workflowName)}
              note={isolate(visibleText(latest.error === null ? '' : `${latest.error.code}: ${latest.error.message}`))}
              link={{ to: '/runs/$runId', params: { runId: latest.id } }}
            />
          ))}
          {nodes.slice(0, rowsOfKind).map(({ id, name, lastSeenAt, runs }) => (
            <Need
              key={id}
              tone="neutral"
              pill={texts.offline}
              title={visibleLine(name)}
              note={
                <>
                  {runs === 1 ? texts.oneRunWaits : format(texts.runsWait, { count: runs })}
                  {lastSeenAt !== null && (
                    <>
                      {' · '}
                      <RelativeTime at={lastSeenAt} />
                    </>
                  )}
                </>
              }
              link={{ to: '/nodes/$nodeId/{-$tab}', params: { nodeId: id } }}
            />
          ))}
          {unread > 0 && (
            <Need
              tone="accent"
              pill={texts.unreadPill}
              title={format(texts.unreadTitle, { count: unread })}
              note={texts.unreadNote}
              link={{ to: '/inbox' }}
            />
          )}
        </ul>
      )}
    </Section>
  );
}
