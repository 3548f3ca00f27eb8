import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { RefObject } from 'react';
import { ApiError } from '../../../../../shared/client/client.ts';
import type { ApprovalDetail } from '../../../../../shared/client/client.ts';
import { visibleText } from '../../../../../shared/visible-text.ts';
import { keyOf, query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { reread } from '../../app/live-updates.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { useIsolate } from '../../ui/isolate.ts';
import { StatusPill } from '../../ui/status.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { useDeciderText, useHasVoted } from './decider.tsx';
import { DecisionButtons } from './decision-buttons.tsx';
import type { Reading } from './reading.ts';

/** Pending approvals among which the next one is searched. The navigation reads the same response. */
const searchedApprovals = 100;

const wasDecidedBefore = (error: Error | null) =>
  error instanceof ApiError && error.code === 'approval_already_decided';

/** The way to the next approval that the user can decide. */
function Next({ afterId }: { afterId: string }) {
  const texts = useLanguage().words.approvals;
  const { data } = useQuery(
    query('listAutomationApprovalSummaries', { query: { status: 'pending', limit: searchedApprovals } }),
  );
  const next = data?.data.find(({ id, canDecide }) => canDecide && id !== afterId);
  if (next !== undefined)
    return (
      <ButtonLink variant="primary" to="/approvals/$approvalId" params={{ approvalId: next.id }}>
        {texts.nextApproval}
      </ButtonLink>
    );
  return (
    <>
      {data !== undefined && <span className="text-text-muted">{texts.allDone}</span>}
      <ButtonLink to="/approvals">{texts.backToList}</ButtonLink>
    </>
  );
}

/** How the approval ended, or why the user cannot decide it. */
function Outcome({ approval, error }: { approval: ApprovalDetail; error: Error | null }) {
  const { words, format } = useLanguage();
  const texts = words.approvals;
  const deciderText = useDeciderText();
  const isolate = useIsolate();
  const { status, decider, decidedAt, note, refusal } = approval;
  const hasVoted = useHasVoted()(approval);
  return (
    <div className="flex flex-col gap-2">
      {wasDecidedBefore(error) && status !== 'pending' && (
        <p role="alert" className="text-danger">
          {texts.notRecorded}
        </p>
      )}
      {status === 'pending' && hasVoted ? (
        <p role="status" className="font-semibold text-success">
          {texts.voteRecorded}
        </p>
      ) : status === 'pending' ? (
        <>
          <p className="font-semibold">{texts.cannotDecide}</p>
          {refusal !== null && (
            <>
              {refusal.code in texts.refusals && <p>{texts.refusals[refusal.code]}</p>}
              <p className="text-text-muted wrap-anywhere">{refusal.message}</p>
            </>
          )}
        </>
      ) : (
        <div>
          <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <StatusPill status={status} />
            {decider !== null && (
              <span className="min-w-0 wrap-anywhere">{format(texts.by, { who: deciderText(decider) })}</span>
            )}
            {decidedAt !== null && (
              <span className="text-text-muted">
                <RelativeTime at={decidedAt} />
              </span>
            )}
          </div>
          {note !== null && note !== '' && (
            <p className="mt-1 wrap-anywhere whitespace-pre-line">
              {format(texts.withNote, { note: isolate(visibleText(note)) })}
            </p>
          )}
        </div>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Next afterId={approval.id} />
      </div>
    </div>
  );
}

/** Decides an approval, or shows who decided it. It stays at the lower edge of the screen, in reach of a thumb. */
export function Decision({
  approval,
  panel,
  reading,
  isRead,
}: {
  approval: ApprovalDetail;
  panel: RefObject<HTMLDivElement | null>;
  reading: Reading;
  isRead: boolean;
}) {
  const texts = useLanguage().words.approvals;
  const cache = useQueryClient();
  const { id, canDecide } = approval;
  const rereadAll = () => reread(cache, ['getAutomationApproval', 'listAutomationApprovalSummaries']);
  const { start, isPending, isSuccess, error, variables } = useAction('decideAutomationApproval', {
    onDone(answer) {
      cache.setQueryData<ApprovalDetail>(keyOf('getAutomationApproval', { params: { id } }), (old) =>
        old === undefined ? undefined : { ...old, ...answer, canDecide: false },
      );
      rereadAll();
    },
  });
  // Who decided first is part of the approval, and the error does not name them.
  useEffect(() => {
    if (error !== null) rereadAll();
  }, [error]);
  // The buttons are gone, so the focus moves to what replaced them.
  useEffect(() => {
    if (isSuccess) panel.current?.focus();
  }, [isSuccess]);
  const decide = (decision: 'approved' | 'rejected', note: string) =>
    start({ params: { id }, body: { decision, ...(note === '' ? {} : { note }) } });
  const chosen = variables?.input?.body.decision;
  const showsButtons = canDecide || isPending;
  return (
    <div
      ref={panel}
      tabIndex={-1}
      role="region"
      aria-label={texts.decide}
      className="sticky bottom-0 z-5 -mx-4 mt-4 -mb-4 border-t bg-surface px-4 pt-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] outline-none md:mx-0 md:mb-0 md:rounded-(--radius-large) md:border"
    >
      {!showsButtons ? (
        <Outcome approval={approval} error={error} />
      ) : (
        <>
          <ErrorNote error={error} />
          <DecisionButtons
            approval={approval}
            reading={reading}
            isRead={isRead}
            deciding={isPending ? (chosen ?? null) : null}
            onDecide={decide}
            offersNote
          />
        </>
      )}
    </div>
  );
}
