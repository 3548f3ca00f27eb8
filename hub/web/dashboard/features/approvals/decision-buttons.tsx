import type { ReactNode, RefObject } from 'react';
import { useEffect, useId, useRef, useState } from 'react';
import type { ApprovalDetail } from '../../../../../shared/client/client.ts';
import { useWords } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Field, TextArea } from '../../ui/form.tsx';
import type { Reading } from './reading.ts';
import { callOf } from './request.ts';

/** A click within this time was meant for what the page showed before. */
const settleMs = 500;
const maxNoteCharacters = 2_000;

type Choice = 'approved' | 'rejected';

/** Whether the component is shown for long enough that a click is meant for it. */
function useSettled(): boolean {
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), settleMs);
    return () => clearTimeout(timer);
  }, []);
  return isSettled;
}

/** Two buttons of the same size, in reach of a thumb. */
const Pair = ({ children }: { children: ReactNode }) => <div className="grid grid-cols-2 gap-2.5">{children}</div>;

/** Cancel and Reject, for a user who pressed Reject once. */
function Confirmation({
  deciding,
  onCancel,
  onReject,
}: {
  deciding: Choice | null;
  onCancel: () => void;
  onReject: () => void;
}) {
  const { approvals: texts, common } = useWords();
  const isOff = !useSettled() || deciding !== null;
  return (
    <Pair>
      <Button className="min-h-12" disabled={isOff} onClick={onCancel}>
        {common.cancel}
      </Button>
      <Button
        variant="danger"
        className="min-h-12"
        disabled={isOff}
        aria-busy={deciding === 'rejected' || undefined}
        onClick={onReject}
      >
        {texts.reject}
      </Button>
    </Pair>
  );
}

/**
 * Reject and Approve. Approve waits until the end of what will run was in view. Reject asks once more, with the field
 * for the reason.
 */
export function DecisionButtons({
  approval,
  reading,
  isRead,
  deciding,
  onDecide,
  offersNote = false,
}: {
  approval: ApprovalDetail;
  reading: Reading;
  isRead: boolean;
  /** The decision that is being sent. */
  deciding: Choice | null;
  onDecide: (decision: Choice, note: string) => void;
  /** Whether a note can also be added to an approval. */
  offersNote?: boolean;
}) {
  const texts = useWords().approvals;
  const reasonId = useId();
  const isSettled = useSettled();
  const [note, setNote] = useState('');
  const [hasNote, setHasNote] = useState(false);
  const [isRejecting, setRejecting] = useState(false);
  const question = useRef<HTMLParagraphElement>(null);
  const rejectButton = useRef<HTMLButtonElement>(null);
  const wasRejecting = useRef(false);
  // The button with the focus is gone, so the focus moves to what replaced it.
  useEffect(() => {
    if (isRejecting !== wasRejecting.current) (isRejecting ? question : rejectButton).current?.focus();
    wasRejecting.current = isRejecting;
  }, [isRejecting]);
  const cancel = () => {
    setRejecting(false);
    setHasNote(note.trim() !== '');
  };
  const mustRead = callOf(approval) !== null && !isRead;
  const isOff = deciding !== null || !isSettled;
  return (
    <div
      className={`min-w-0 ${offersNote ? '' : 'md:w-88'}`}
      onKeyDown={({ key, nativeEvent }) => {
        if (isRejecting && deciding === null && key === 'Escape' && !nativeEvent.isComposing) cancel();
      }}
    >
      {isRejecting && (
        <p ref={question} tabIndex={-1} className="mb-2 font-semibold outline-none">
          {texts.confirmReject}
        </p>
      )}
      {isRejecting || hasNote ? (
        <Field label={isRejecting ? texts.reason : texts.note} hint={texts.noteHint} isOptional>
          {(attributes) => (
            <TextArea
              {...attributes}
              rows={2}
              maxLength={maxNoteCharacters}
              autoFocus={!isRejecting}
              value={note}
              disabled={deciding !== null}
              onChange={(event) => setNote(event.target.value)}
            />
          )}
        </Field>
      ) : (
        offersNote && (
          <Button
            variant="quiet"
            size="small"
            className="-ms-2 mb-1.5 md:float-start md:mt-2"
            disabled={deciding !== null}
            onClick={() => setHasNote(true)}
          >
            {texts.addNote}
          </Button>
        )
      )}
      <div className="min-w-0 md:ms-auto md:w-88">
        {mustRead && !isRejecting && (
          <p className="mb-2 flex flex-wrap items-center justify-between gap-x-3 gap-y-1 text-sm">
            <span id={reasonId}>{texts.readFirst}</span>
            <Button size="small" onClick={reading.showRest}>
              {texts.showRest}
            </Button>
          </p>
        )}
        {isRejecting ? (
          <Confirmation deciding={deciding} onCancel={cancel} onReject={() => onDecide('rejected', note.trim())} />
        ) : (
          <Pair>
            <Button
              ref={rejectButton}
              variant="danger"
              className="min-h-12"
              disabled={isOff}
              onClick={() => setRejecting(true)}
            >
              {texts.reject}
            </Button>
            <Button
              variant="primary"
              className="min-h-12"
              disabled={mustRead || isOff}
              aria-busy={deciding === 'approved' || undefined}
              aria-describedby={mustRead ? reasonId : undefined}
              onClick={({ detail }) => {
                // The second click of a double click may follow a first one on another button.
                if (detail <= 1) onDecide('approved', note.trim());
              }}
            >
              {texts.approve}
            </Button>
          </Pair>
        )}
      </div>
    </div>
  );
}

/**
 * Moves the focus to the content of the page if it is within an element that goes away, or was on a button that is
 * disabled since `wasPressed`.
 */
export function releaseFocus(element: RefObject<HTMLElement | null>, wasPressed = false): void {
  const { activeElement, body } = document;
  if (element.current?.contains(activeElement) === true || (wasPressed && activeElement === body))
    document.getElementById('content')?.focus();
}
