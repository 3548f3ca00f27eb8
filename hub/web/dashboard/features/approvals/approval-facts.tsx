import type { ApprovalDetail } from '../../../../../shared/client/client.ts';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useNow } from '../../app/now.ts';
import { useIsolate } from '../../ui/isolate.ts';
import { Facts, Section, TextLink } from '../../ui/layout.tsx';
import { StatusPill } from '../../ui/status.tsx';
import { LocalTime, RelativeTime, TextWithTime } from '../../ui/time.tsx';
import { CopyButton } from '../../ui/value.tsx';
import { useDeciderText, useRequesterText } from './decider.tsx';
import { callOf, programOf, stepNameOf } from './request.ts';

/** Who asked, from which run, who decides and until when. */
export function ApprovalFacts({ approval }: { approval: ApprovalDetail }) {
  const { words, format } = useLanguage();
  const texts = words.approvals;
  const now = useNow();
  const requesterText = useRequesterText();
  const isolate = useIsolate();
  const { workflowId, runId, nodeId, escalateAt, expiresAt, approvers } = approval;
  const triggers: Readonly<Record<string, string>> = texts.triggers;
  const escalation = escalateAt !== null && (
    <TextWithTime
      key="escalation"
      text={Date.parse(escalateAt) > now ? texts.escalationFrom : texts.escalationSince}
      time={<LocalTime at={escalateAt} />}
    />
  );
  const call = callOf(approval);
  const program = call === null ? null : programOf(call);
  const step =
    approval.kind === 'step' || program === null
      ? format(texts.step, { step: approval.stepIndex + 1 })
      : format(texts.namedStep, {
          step: approval.stepIndex + 1,
          name: isolate(visibleLine(stepNameOf(approval.title, program.argv))),
        });
  return (
    <Section title={texts.context}>
      <Facts
        rows={[
          [texts.requestedBy, requesterText(approval.requestedBy) ?? words.common.none],
          [texts.trigger, triggers[approval.triggerType] ?? visibleLine(approval.triggerType)],
          [
            texts.workflow,
            <TextLink key="workflow" to="/workflows/$workflowId/{-$tab}" params={{ workflowId }}>
              {visibleLine(approval.workflowName)}
            </TextLink>,
          ],
          [
            texts.run,
            <TextLink key="run" to="/runs/$runId" params={{ runId }}>
              {step}
            </TextLink>,
          ],
          ...(nodeId === null
            ? []
            : [
                [
                  texts.node,
                  <TextLink key="node" to="/nodes/$nodeId/{-$tab}" params={{ nodeId }}>
                    {visibleLine(approval.nodeName ?? nodeId)}
                  </TextLink>,
                ] as const,
              ]),
          [texts.requested, <LocalTime key="requested" at={approval.createdAt} />],
          [texts.expiry, expiresAt === null ? texts.neverExpires : <LocalTime key="expiry" at={expiresAt} />],
          ...(escalation === false ? [] : [[texts.escalation, escalation] as const]),
          [
            texts.approvers,
            approvers.length === 0 ? texts.anyApprover : approvers.map((address) => visibleLine(address)).join(', '),
          ],
        ]}
      />
    </Section>
  );
}

/** The approvals so far, and how many are required. */
export function Votes({ approval: { votes, required } }: { approval: ApprovalDetail }) {
  const { words, format } = useLanguage();
  const texts = words.approvals;
  const deciderText = useDeciderText();
  const count = votes.filter(({ decision }) => decision === 'approved').length;
  return (
    <Section
      title={texts.votes}
      actions={<span className="text-sm text-text-muted">{format(texts.progress, { count, required })}</span>}
    >
      {votes.length === 0 ? (
        <p className="text-text-muted">{texts.noVotes}</p>
      ) : (
        <ul className="flex flex-col gap-2">
          {votes.map(({ approver, decider, decision, note, at }) => (
            <li key={approver} className="text-sm">
              <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
                <StatusPill status={decision} />
                <span className="min-w-0 wrap-anywhere">
                  {decider === null ? visibleLine(approver) : deciderText(decider)}
                </span>
                <span className="text-text-muted">
                  <RelativeTime at={at} />
                </span>
              </div>
              {note !== null && note !== '' && (
                <p dir="auto" className="mt-0.5 wrap-anywhere whitespace-pre-line">
                  {visibleText(note)}
                </p>
              )}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** The hash that binds the request, in groups that people can compare. */
export function RequestHash({ approval }: { approval: ApprovalDetail }) {
  const texts = useLanguage().words.approvals;
  const { kind, status, requestHash: hash } = approval;
  const isRefused = status === 'rejected' || status === 'expired';
  const meaning =
    callOf(approval) === null ? 'question' : isRefused ? 'refused' : kind === 'system.run' ? 'program' : 'call';
  const groups = hash.match(/.{1,8}/g) ?? [];
  return (
    <Section title={texts.hash}>
      <div className="flex items-start gap-2">
        <code dir="ltr" className="flex min-w-0 flex-1 flex-wrap gap-x-2">
          {groups.map((group, index) => (
            <span key={index}>{group}</span>
          ))}
        </code>
        <CopyButton text={hash} label={texts.copyHash} />
      </div>
      <p className="mt-1 text-sm text-text-muted">{texts.hashTexts[meaning]}</p>
    </Section>
  );
}
