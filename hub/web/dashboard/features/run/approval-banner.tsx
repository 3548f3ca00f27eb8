import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalDetail } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { reread } from '../../app/live-updates.tsx';
import { ErrorNote, LoadError } from '../../ui/error.tsx';
import { TextLink } from '../../ui/layout.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { ApprovalMessage } from '../approvals/approval-message.tsx';
import { useHasVoted } from '../approvals/decider.tsx';
import { DecisionButtons, releaseFocus } from '../approvals/decision-buttons.tsx';
import { ReadingProvider, useReading } from '../approvals/reading.ts';
import type { Reading } from '../approvals/reading.ts';
import { RequestView } from '../approvals/request-view.tsx';
import { callOf } from '../approvals/request.ts';
import { Banner } from './banner.tsx';

function Details({ approval, reading }: { approval: ApprovalDetail; reading: Reading }) {
  const { words, format, number } = useLanguage();
  const { approvalWords: texts } = words.run;
  const requesters = approval.requestedBy.map(({ name, id }) => visibleLine(name ?? id)).join(', ');
  const approvers = approval.approvers.map((address) => visibleLine(address)).join(', ');
  const parts: ReactNode[] = [
    <span key="by">{requesters === '' ? texts.requestedByRun : format(texts.requestedBy, { names: requesters })}</span>,
    <span key="at">
      <RelativeTime at={approval.createdAt} />
    </span>,
    approvers !== '' && <span key="approvers">{format(texts.approvers, { names: approvers })}</span>,
    approval.required > 1 && (
      <span key="votes">
        {format(texts.votes, {
          count: number(approval.votes.filter(({ decision }) => decision === 'approved').length),
          required: number(approval.required),
        })}
      </span>
    ),
    approval.expiresAt !== null && (
      <span key="until">
        {texts.expires} <RelativeTime at={approval.expiresAt} />
      </span>
    ),
  ].filter((part) => part !== false);
  return (
    <>
      <ApprovalMessage approval={approval} className="my-1 text-text" />
      <p className="flex flex-wrap gap-x-1.5">
        {parts.map((part, index) => (
          <span key={index} className="flex gap-x-1.5">
            {part}
            <span aria-hidden>·</span>
          </span>
        ))}
        <TextLink to="/approvals/$approvalId" params={{ approvalId: approval.id }}>
          {texts.open}
        </TextLink>
      </p>
      {callOf(approval) !== null && (
        <div className="my-2 text-text">
          <ReadingProvider value={reading}>
            <RequestView approval={approval} />
          </ReadingProvider>
        </div>
      )}
    </>
  );
}

function Decision({ approval }: { approval: ApprovalDetail }) {
  const { words, format } = useLanguage();
  const { approvalWords: texts } = words.run;
  const cache = useQueryClient();
  const cover = useRef<HTMLElement>(null);
  const { reading, isRead } = useReading(cover);
  const [decision, setDecision] = useState<'approved' | 'rejected' | null>(null);
  const action = useAction('decideAutomationApproval', {
    onDone: () => reread(cache, ['getAutomationApproval', 'getAutomationRun', 'listAutomationApprovalSummaries']),
  });
  // A failure can mean that another approver was faster: the approval says who.
  const { error } = action;
  const hasVoted = useHasVoted()(approval);
  const isDone = approval.status !== 'pending' || hasVoted || action.isSuccess;
  // The buttons are gone, so the focus moves to what replaced them, and to the page when the banner goes: after the
  // response, or before it when the run went on already.
  const banner = useRef<HTMLElement>(null);
  const outcome = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    if (action.isSuccess) outcome.current?.focus();
  }, [action.isSuccess]);
  const wasPressed = useRef(false);
  useLayoutEffect(() => () => releaseFocus(banner, wasPressed.current), []);
  const decide = (choice: 'approved' | 'rejected', note: string) => {
    setDecision(choice);
    wasPressed.current = true;
    action
      .run({ params: { id: approval.id }, body: { decision: choice, ...(note === '' ? {} : { note }) } })
      .catch(() => reread(cache, ['getAutomationApproval', 'getAutomationRun']));
  };
  const title =
    approval.kind === 'system.run'
      ? format(texts.command, { node: visibleLine(approval.nodeName ?? '') })
      : visibleLine(approval.title);
  return (
    <Banner
      ref={banner}
      tone="warning"
      title={title}
      actions={
        !isDone &&
        approval.canDecide && (
          <DecisionButtons
            approval={approval}
            reading={reading}
            isRead={isRead}
            deciding={action.isPending ? decision : null}
            onDecide={decide}
          />
        )
      }
    >
      <Details approval={approval} reading={reading} />
      {!isDone && approval.refusal !== null && (
        <p className="mt-1 font-semibold">{visibleLine(approval.refusal.message)}</p>
      )}
      {isDone && (
        <p ref={outcome} tabIndex={-1} role="status" className="mt-1 font-semibold text-text outline-none">
          {approval.decider !== null
            ? format(approval.status === 'approved' ? texts.approvedBy : texts.rejectedBy, {
                name: visibleLine(approval.decider.name),
              })
            : hasVoted
              ? words.approvals.voteRecorded
              : texts.decisionSent}
        </p>
      )}
      <ErrorNote error={error} />
    </Banner>
  );
}

/** The approval that the run waits for, with the buttons that decide it. */
export function ApprovalBanner({ approvalId, title }: { approvalId: string; title: string }) {
  const { data, error, refetch } = useQuery(query('getAutomationApproval', { params: { id: approvalId } }));
  if (data === undefined)
    return (
      <Banner tone="warning" title={title}>
        {error === null ? null : <LoadError error={error} onRetry={refetch} />}
      </Banner>
    );
  return <Decision key={data.id} approval={data} />;
}
