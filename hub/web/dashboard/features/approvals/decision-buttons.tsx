import type { RefObject } from 'react';
import { useEffect, useId, useState } from 'react';
import type { ApprovalDetail } from '../../../../../shared/client/client.ts';
import { useWords } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import type { Reading } from './reading.ts';
import { callOf } from './request.ts';

/** A click within this time was meant for what the page showed before. */
const settleMs = 500;

/** Reject and Approve. Approve waits until the end of what will run was in view. */
export function DecisionButtons({
  approval,
  reading,
  isRead,
  deciding,
  onDecide,
}: {
  approval: ApprovalDetail;
  reading: Reading;
  isRead: boolean;
  /** The decision that is being sent. */
  deciding: 'approved' | 'rejected' | null;
  onDecide: (decision: 'approved' | 'rejected') => void;
}) {
  const texts = useWords().approvals;
  const reasonId = useId();
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), settleMs);
    return () => clearTimeout(timer);
  }, []);
  const mustRead = callOf(approval) !== null && !isRead;
  const buttonOf = (decision: 'approved' | 'rejected', isDisabled: boolean) => (
    <Button
      variant={decision === 'approved' ? 'primary' : 'danger'}
      className="min-h-12"
      disabled={isDisabled || deciding !== null || !isSettled}
      aria-busy={deciding === decision || undefined}
      aria-describedby={isDisabled ? reasonId : undefined}
      onClick={({ detail }) => {
        // The second click of a double click may follow a first one on another button.
        if (detail <= 1) onDecide(decision);
      }}
    >
      {decision === 'approved' ? texts.approve : texts.reject}
    </Button>
  );
  return (
    <div className="min-w-0 md:ms-auto md:w-88">
      {mustRead && (
        <p className="mb-2 flex flex-wrap items-center justify-between gap-x-3 gap-y-1 text-sm">
          <span id={reasonId}>{texts.readFirst}</span>
          <Button size="small" onClick={reading.showRest}>
            {texts.showRest}
          </Button>
        </p>
      )}
      <div className="grid grid-cols-2 gap-2.5">
        {buttonOf('rejected', false)}
        {buttonOf('approved', mustRead)}
      </div>
    </div>
  );
}

/** Moves the focus to the content of the page if it is within an element that goes away. */
export function releaseFocus(element: RefObject<HTMLElement | null>): void {
  if (element.current?.contains(document.activeElement) === true) document.getElementById('content')?.focus();
}
