import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalDetail } from '../../../../../shared/client/operations.ts';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { reread } from '../../app/live-updates.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote, LoadError } from '../../ui/error.tsx';
import { JsonTree } from '../../ui/json-tree.tsx';
import { TextLink } from '../../ui/layout.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { RequestView } from '../approvals/request-view.tsx';
import { callOf } from '../approvals/request.ts';
import { Banner } from './banner.tsx';

/** An argument as a shell would need it, so that the reader sees where each begins and ends. */
const quoted = (argument: string) =>
  /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${visibleLine(argument).replaceAll("'", String.raw`'\''`)}'`;

/** The program of a `system.run` approval; null for other requests. */
function commandOf({ kind, request }: ApprovalDetail): { line: string; cwd: string | null; hasMore: boolean } | null {
  if (kind !== 'system.run' || typeof request !== 'object' || request === null) return null;
  const { argv, cwd, env, stdin } = request as Record<string, unknown>;
  if (!Array.isArray(argv)) return null;
  return {
    line: argv.map((argument) => quoted(String(argument))).join(' '),
    cwd: typeof cwd === 'string' ? visibleLine(cwd) : null,
    hasMore: (typeof stdin === 'string' && stdin !== '') || Object.keys((env ?? {}) as object).length > 0,
  };
}

function Details({ approval }: { approval: ApprovalDetail }) {
  const { words, format, number } = useLanguage();
  const { approvalWords: texts } = words.run;
  const command = commandOf(approval);
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
      {command !== null && (
        <p className="my-1">
          <code className="rounded-sm bg-surface-muted px-1.5 py-0.5 text-text">{command.line}</code>{' '}
          {command.cwd === null ? texts.inHome : format(texts.inFolder, { folder: command.cwd })}
        </p>
      )}
      {approval.message !== '' && <p className="my-1 text-text whitespace-pre-wrap">{visibleText(approval.message)}</p>}
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
      {approval.kind !== 'system.run' && callOf(approval) !== null && (
        <div className="my-2 text-text">
          <RequestView approval={approval} />
        </div>
      )}
      {approval.kind === 'system.run' && (
        // Variables and standard input change what a program does, so they are open at first.
        <details className="mt-1.5" open={command === null || command.hasMore}>
          <summary className="text-sm">{texts.wholeRequest}</summary>
          <div className="mt-1.5">
            <JsonTree value={approval.request} />
          </div>
        </details>
      )}
    </>
  );
}

/** A click within this time was meant for the buttons of the approval that was shown before. */
const settleMs = 500;

function Decision({ approval }: { approval: ApprovalDetail }) {
  const { words, format } = useLanguage();
  const { approvalWords: texts } = words.run;
  const cache = useQueryClient();
  const [decision, setDecision] = useState<'approved' | 'rejected' | null>(null);
  const action = useAction('decideAutomationApproval', {
    onDone: () => reread(cache, ['getAutomationApproval', 'getAutomationRun', 'listAutomationApprovalSummaries']),
  });
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), settleMs);
    return () => clearTimeout(timer);
  }, []);
  // A failure can mean that another approver was faster: the approval says who.
  const { error } = action;
  const isDone = approval.status !== 'pending' || action.isSuccess;
  const decide = (choice: 'approved' | 'rejected') => {
    setDecision(choice);
    action
      .run({ params: { id: approval.id }, body: { decision: choice } })
      .catch(() => reread(cache, ['getAutomationApproval', 'getAutomationRun']));
  };
  const title =
    approval.kind === 'system.run'
      ? format(texts.command, { node: visibleLine(approval.nodeName ?? '') })
      : visibleLine(approval.title);
  return (
    <Banner
      tone="warning"
      title={title}
      actions={
        !isDone &&
        approval.canDecide && (
          <>
            <Button
              variant="danger"
              isBusy={action.isPending && decision === 'rejected'}
              disabled={action.isPending || !isSettled}
              onClick={() => decide('rejected')}
            >
              {texts.reject}
            </Button>
            <Button
              variant="primary"
              isBusy={action.isPending && decision === 'approved'}
              disabled={action.isPending || !isSettled}
              onClick={() => decide('approved')}
            >
              {texts.approve}
            </Button>
          </>
        )
      }
    >
      <Details approval={approval} />
      {!isDone && approval.refusal !== null && (
        <p className="mt-1 font-semibold">{visibleLine(approval.refusal.message)}</p>
      )}
      {isDone && (
        <p role="status" className="mt-1 font-semibold text-text">
          {approval.decider !== null
            ? format(approval.status === 'approved' ? texts.approvedBy : texts.rejectedBy, {
                name: visibleLine(approval.decider.name),
              })
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
  return <Decision approval={data} />;
}
