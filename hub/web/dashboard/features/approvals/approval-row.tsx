import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';
import type { ApprovalSummary } from '../../../../../shared/client/client.ts';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsolate } from '../../ui/isolate.ts';
import { Pill, StatusPill } from '../../ui/status.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { useDeciderText, useRequesterText } from './decider.tsx';
import { useApprovalTitle } from './title.tsx';

/** Texts with a dot between them, without those that are missing. */
function Line({ parts }: { parts: readonly ReactNode[] }) {
  return parts
    .filter((part) => part !== null && part !== false)
    .map((part, index) => (
      <span key={index}>
        {index > 0 && <span aria-hidden> · </span>}
        {part}
      </span>
    ));
}

/** An approval of a list: what it asks for, from where, and until when or who decided. */
export function ApprovalRow({ approval }: { approval: ApprovalSummary }) {
  const { words, format } = useLanguage();
  const texts = words.approvals;
  const title = useApprovalTitle()(approval);
  const requesters = useRequesterText()(approval.requestedBy);
  const deciderText = useDeciderText();
  const isolate = useIsolate();
  const { status, decider, decidedAt, note, expiresAt, required, approvedCount } = approval;
  return (
    <li className="border-b last:border-b-0">
      <Link
        to="/approvals/$approvalId"
        params={{ approvalId: approval.id }}
        className="flex items-center gap-3 px-4 py-3 text-text no-underline hover:bg-hover"
      >
        <span className="flex min-w-0 flex-1 flex-col gap-0.5">
          <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className="min-w-0 font-semibold wrap-anywhere">{title}</span>
            {status !== 'pending' && <StatusPill status={status} />}
            {approval.environment === 'test' && <Pill tone="neutral">{texts.testRun}</Pill>}
          </span>
          {approval.kind === 'system.run' && (
            <span dir="ltr" className="overflow-hidden text-start font-mono text-sm text-ellipsis whitespace-pre">
              {visibleLine(approval.title)}
            </span>
          )}
          <span className="text-sm text-text-muted wrap-anywhere">
            <Line
              parts={[
                isolate(visibleLine(approval.workflowName)),
                requesters,
                required > 1 && status === 'pending' && format(texts.progress, { count: approvedCount, required }),
                <RelativeTime key="created" at={approval.createdAt} />,
              ]}
            />
          </span>
          {status === 'pending' && expiresAt !== null && (
            <span className="text-sm text-warning">
              {texts.expiry} <RelativeTime at={expiresAt} />
            </span>
          )}
          {status !== 'pending' && decider !== null && decidedAt !== null && (
            <span className="text-sm text-text-muted wrap-anywhere">
              <Line
                parts={[
                  format(texts.decidedLine[status], { who: deciderText(decider) }),
                  <RelativeTime key="decided" at={decidedAt} />,
                ]}
              />
            </span>
          )}
          {note !== null && note !== '' && (
            <span className="line-clamp-2 text-sm wrap-anywhere">
              {format(texts.withNote, { note: isolate(visibleText(note)) })}
            </span>
          )}
        </span>
        <ChevronRight size={18} className="shrink-0 text-text-muted rtl:-scale-x-100" aria-hidden />
      </Link>
    </li>
  );
}
