import type { ReactNode } from 'react';
import type { RunSummary, RunWait } from '../../../../../shared/client/operations.ts';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { TextLink } from '../../ui/layout.tsx';
import { shortId } from '../../ui/object-links.tsx';
import { Pill, StatusPill } from '../../ui/status.tsx';
import { LocalTime, TextWithTime } from '../../ui/time.tsx';
import { useActorName } from './use-members.ts';

const fieldOf = (trigger: object, name: string): string => {
  const value = (trigger as Record<string, unknown>)[name];
  return typeof value === 'string' ? visibleLine(value) : '';
};

/** Writes why a run waits, in one line. */
function useWaitText(): (wait: RunWait) => ReactNode {
  const { words, format } = useLanguage();
  const { wait: texts } = words.runs;
  return (wait) => {
    const until = 'until' in wait ? wait.until : null;
    const withTime = (text: string, values: Record<string, string> = {}) =>
      until === null ? (
        format(text, values)
      ) : (
        <TextWithTime text={text} values={values} time={<LocalTime at={until} />} />
      );
    switch (wait.kind) {
      case 'limit': {
        const reason = texts.limit[wait.limit];
        return until === null ? reason : withTime(texts.limitUntil, { reason });
      }
      case 'quiet_hours':
        return until === null ? texts.quietHours : withTime(texts.quietHoursUntil);
      case 'node_command': {
        const text = !wait.nodeOnline
          ? texts.nodeOffline
          : wait.waitsForOwner
            ? texts.nodeOwner
            : wait.handedOut
              ? texts.nodeWorks
              : texts.nodePending;
        return withTime(text, { node: visibleLine(wait.nodeName) });
      }
      case 'approval':
        return until === null ? texts.approval : withTime(texts.approvalUntil);
      case 'run':
        return format(texts.run, { id: shortId(wait.runId) });
      case 'jitter':
      case 'delay':
      case 'retry':
        return withTime(texts[wait.kind]);
    }
  };
}

/** The status of a run, with the reason why it waits or failed. */
export function RunStatusCell({ run }: { run: RunSummary }) {
  const waitText = useWaitText();
  const { status, waitsFor, error } = run;
  return (
    <>
      <StatusPill status={status} />
      {waitsFor !== null && (
        <div className="mt-0.5 line-clamp-2 text-sm wrap-anywhere text-text-muted">
          {waitsFor.kind === 'approval' ? (
            <TextLink to="/approvals/$approvalId" params={{ approvalId: waitsFor.approvalId }}>
              {waitText(waitsFor)}
            </TextLink>
          ) : (
            waitText(waitsFor)
          )}
        </div>
      )}
      {error !== null && (
        <div
          dir="auto"
          className="mt-0.5 line-clamp-2 text-sm wrap-anywhere text-text-muted rtl:text-right"
          title={visibleText(error.message)}
        >
          <code>{visibleLine(error.code)}</code> {visibleText(error.message)}
        </div>
      )}
    </>
  );
}

/** What started a run, or who retried or replayed it. */
export function StartedBy({ run: { trigger } }: { run: RunSummary }) {
  const { words, format } = useLanguage();
  const { by, triggerType } = words.runs;
  const actorName = useActorName();
  const runLink = (text: string, id: string) => (
    <TextLink to="/runs/$runId" params={{ runId: id }}>
      {format(text, { id: shortId(id) })}
    </TextLink>
  );
  const ranAgainBy = fieldOf(trigger, 'ranAgainBy');
  if (ranAgainBy !== '') return actorName(ranAgainBy);
  switch (trigger.type) {
    case 'manual':
      return actorName(fieldOf(trigger, 'by'));
    case 'schedule':
    case 'heartbeat': {
      const fireAt = new Date(fieldOf(trigger, 'fireAt'));
      if (Number.isNaN(fireAt.getTime())) return triggerType[trigger.type];
      return <TextWithTime text={by[trigger.type]} time={<LocalTime at={fireAt.toISOString()} />} />;
    }
    case 'webhook':
    case 'event': {
      const event = fieldOf(trigger, 'event');
      return event === '' ? triggerType[trigger.type] : format(by[trigger.type], { event });
    }
    case 'channel': {
      const provider = fieldOf(trigger, 'provider');
      return provider === '' ? triggerType.channel : format(by.channel, { provider });
    }
    case 'subagent':
      return runLink(by.run, fieldOf(trigger, 'parentRunId'));
    case 'error':
      return runLink(by.error, fieldOf(trigger, 'runId'));
    case 'skill':
      return format(by.skill, { skill: fieldOf(trigger, 'skillId') });
    case 'sequence':
      return (
        <TextLink to="/sequences/$sequenceId" params={{ sequenceId: fieldOf(trigger, 'sequenceId') }}>
          {by.sequence}
        </TextLink>
      );
    default:
      return visibleLine(trigger.type);
  }
}

/** Id, version, attempt and environment of a run, in one line. */
export function RunMeta({ run }: { run: RunSummary }) {
  const { words, format } = useLanguage();
  return (
    <span className="flex flex-wrap items-center gap-x-1.5 text-sm text-text-muted">
      <code title={run.id}>{shortId(run.id)}</code>
      <span>· {format(words.runs.version, { version: String(run.workflowVersion) })}</span>
      {run.attempt > 1 && <span>· {format(words.runs.attempt, { count: run.attempt })}</span>}
      {run.environment === 'test' && <Pill tone="neutral">{words.common.test}</Pill>}
    </span>
  );
}
