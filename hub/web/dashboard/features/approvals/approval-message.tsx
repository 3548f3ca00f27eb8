import { TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import type { ApprovalDetail } from '../../../../../shared/client/client.ts';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useIsolate } from '../../ui/isolate.ts';
import { LocalTime, TextWithTime } from '../../ui/time.tsx';
import { callOf } from './request.ts';

type EarlierTry = NonNullable<NonNullable<ApprovalDetail['hubMessage']>['earlierTry']>;

/** A warning that approvers must read. */
export function ApprovalWarning({ children }: { children: ReactNode }) {
  return (
    <p className="mb-3 flex items-start gap-2 rounded-(--radius-medium) bg-warning-muted px-3.5 py-2.5 text-warning">
      <TriangleAlert size={17} className="mt-0.5 shrink-0" aria-hidden />
      <span className="min-w-0 wrap-anywhere">{children}</span>
    </p>
  );
}

function EarlierTryWarning({ earlierTry: { commandType, sentAt, code } }: { earlierTry: EarlierTry }) {
  const { words, format } = useLanguage();
  const texts = words.approvals.earlierTry;
  const isolate = useIsolate();
  const isProgram = commandType === 'system.run';
  return (
    <ApprovalWarning>
      <TextWithTime
        text={isProgram ? texts.program : texts.command}
        values={{ command: isolate(visibleLine(commandType)) }}
        time={<LocalTime at={sentAt} />}
      />{' '}
      {texts.ends[code] ?? format(texts.otherEnd, { code: isolate(visibleLine(code)) })} {texts.look}
    </ApprovalWarning>
  );
}

/** The details that the workflow gives, or why the hub asks, in the language of the reader. */
export function ApprovalMessage({ approval, className }: { approval: ApprovalDetail; className: string }) {
  const { words, format } = useLanguage();
  const isolate = useIsolate();
  const { message, hubMessage } = approval;
  if (hubMessage === undefined)
    return message === '' ? null : (
      <p dir="auto" className={`wrap-anywhere whitespace-pre-line ${className}`}>
        {visibleText(message)}
      </p>
    );
  const { reason, earlierTry } = hubMessage;
  return (
    <>
      <p className={`wrap-anywhere ${className}`}>
        {format(words.approvals.hubReasons[reason], { skill: isolate(visibleLine(callOf(approval)?.skillId ?? '')) })}
      </p>
      {earlierTry !== null && <EarlierTryWarning earlierTry={earlierTry} />}
    </>
  );
}
