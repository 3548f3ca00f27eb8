import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useRef } from 'react';
import type { ApprovalDetail } from '../../../../../shared/client/client.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useRereadOn } from '../../app/live-updates.tsx';
import { useIsolate } from '../../ui/isolate.ts';
import { Page, TextLink } from '../../ui/layout.tsx';
import type { Crumb } from '../../ui/layout.tsx';
import { LoadedPage } from '../../ui/loaded.tsx';
import { Pill, StatusPill } from '../../ui/status.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { ApprovalFacts, RequestHash, Votes } from './approval-facts.tsx';
import { ApprovalMessage } from './approval-message.tsx';
import { Decision } from './decision.tsx';
import { ReadingProvider, useReading } from './reading.ts';
import { RequestView } from './request-view.tsx';
import { useApprovalTitle } from './title.tsx';

/** A vote that decides nothing sends no event, so approvals that require several are read again. */
const rereadVotesMs = 15_000;

function Approval({ approval, crumbs }: { approval: ApprovalDetail; crumbs: Crumb[] }) {
  const { words, format } = useLanguage();
  const texts = words.approvals;
  const title = useApprovalTitle()(approval);
  const isolate = useIsolate();
  const panel = useRef<HTMLDivElement>(null);
  const { reading, isRead } = useReading(panel);
  const { status, expiresAt, runId } = approval;
  return (
    <Page
      title={title}
      crumbs={crumbs}
      aside={
        <>
          {status === 'pending' && expiresAt !== null ? (
            <Pill tone="warning">
              <span>
                {texts.expiry} <RelativeTime at={expiresAt} />
              </span>
            </Pill>
          ) : (
            <StatusPill status={status} />
          )}
          {approval.environment === 'test' && <Pill tone="neutral">{texts.testRun}</Pill>}
        </>
      }
      meta={
        <>
          {format(texts.from, { workflow: isolate(visibleLine(approval.workflowName)), step: approval.stepIndex + 1 })}{' '}
          <TextLink isInText to="/runs/$runId" params={{ runId }}>
            {texts.seeRun}
          </TextLink>
        </>
      }
    >
      <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="min-w-0">
          <ApprovalMessage approval={approval} className="mb-3" />
          <ReadingProvider value={reading}>
            <RequestView approval={approval} />
          </ReadingProvider>
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <ApprovalFacts approval={approval} />
          <Votes approval={approval} />
          <RequestHash approval={approval} />
        </div>
      </div>
      <Decision approval={approval} panel={panel} reading={reading} isRead={isRead} />
    </Page>
  );
}

/** An approval: what exactly runs, who asked for it, and the decision. */
export function ApprovalPage() {
  const { words } = useLanguage();
  const { approvalId } = useParams({ from: '/approvals/$approvalId' });
  const crumbs: Crumb[] = [{ label: words.common.approvals, link: { to: '/approvals' } }];
  const approval = useQuery({
    ...query('getAutomationApproval', { params: { id: approvalId } }),
    // Who can decide changes with time and with other decisions.
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => (data?.status === 'pending' && data.required > 1 ? rereadVotesMs : false),
  });
  useRereadOn(({ type, id }) => type === 'approval' && id === approvalId, [['getAutomationApproval']]);
  return (
    <LoadedPage of={approval} type="approval" missing={words.approvals.missing} crumbs={crumbs}>
      {(data) => <Approval key={data.id} approval={data} crumbs={crumbs} />}
    </LoadedPage>
  );
}
