import { useState } from 'react';
import type { ReactNode } from 'react';
import type { InboxConversationDetail } from '../../../../../shared/client/operations.ts';
import { background } from '../../../../../shared/web/background.ts';
import { useLanguage } from '../../app/language.tsx';
import { noteFailure } from '../../app/session-state.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Field, Input } from '../../ui/form.tsx';
import { LocalTime, TextWithTime } from '../../ui/time.tsx';
import { usePeople } from './people.ts';
import type { ConversationActions } from './use-conversation-actions.ts';

export type ConversationDialog = 'snooze' | 'assign' | 'status';

interface DialogProps {
  conversation: InboxConversationDetail;
  actions: ConversationActions;
  onClose: () => void;
}

/** A choice that takes effect immediately. */
function Choice({
  isChosen = false,
  isFirst = false,
  isDisabled,
  onChoose,
  note,
  children,
}: {
  isChosen?: boolean;
  /** Gets the focus when the dialog opens. */
  isFirst?: boolean;
  isDisabled: boolean;
  onChoose: () => void;
  note?: ReactNode;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      aria-disabled={isDisabled}
      autoFocus={isFirst}
      onClick={isDisabled ? undefined : onChoose}
      className="flex w-full items-baseline gap-3 rounded-(--radius-medium) px-3 py-2 text-start hover:bg-hover aria-disabled:opacity-55 aria-pressed:bg-accent-muted aria-pressed:font-semibold"
    >
      <span className="min-w-0 wrap-anywhere">{children}</span>
      {note !== undefined && <span className="ms-auto text-sm whitespace-nowrap text-text-muted">{note}</span>}
    </button>
  );
}

/** Choices between which the arrow keys move. */
function Choices({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div
      role="group"
      aria-label={label}
      onKeyDown={(event) => {
        const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
        if (step === 0) return;
        event.preventDefault();
        const buttons = [...event.currentTarget.querySelectorAll('button')];
        const index = buttons.indexOf(document.activeElement as HTMLButtonElement);
        buttons[(index + step + buttons.length) % buttons.length]?.focus();
      }}
    >
      {children}
    </div>
  );
}

export function AssignDialog({ conversation, actions, onClose }: DialogProps) {
  const { words, format } = useLanguage();
  const { inbox, common } = words;
  const { agents, ownId, nameOf } = usePeople();
  const assign = (userId: string | null) => background(actions.assign(userId).then(onClose, noteFailure));
  const sorted = agents.toSorted((one, other) => Number(other.userId === ownId) - Number(one.userId === ownId));
  return (
    <Dialog title={inbox.assignTitle} onClose={onClose}>
      <ErrorNote error={actions.error} />
      <Choices label={inbox.assignTitle}>
        {sorted.map(({ userId, presence, openConversations }, index) => (
          <Choice
            key={userId}
            isChosen={userId === conversation.assignedUserId}
            isFirst={index === 0}
            isDisabled={actions.isBusy}
            onChoose={() => assign(userId)}
            note={`${presence === 'offline' ? common.status.offline : inbox.presences[presence]} · ${format(inbox.openCount, { count: openConversations })}`}
          >
            {userId === ownId ? inbox.assignToMe : nameOf(userId)}
          </Choice>
        ))}
        {conversation.assignedUserId !== null && (
          <Choice isDisabled={actions.isBusy} onChoose={() => assign(null)}>
            {inbox.assignNobody}
          </Choice>
        )}
      </Choices>
    </Dialog>
  );
}

const hourMs = 3_600_000;
const morning = 9;

function atMorning(days: number): Date {
  const at = new Date();
  at.setDate(at.getDate() + days);
  at.setHours(morning, 0, 0, 0);
  return at;
}

/** The local time in the form that the field of the browser takes. */
function fieldValue(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function SnoozeDialog({ conversation, actions, onClose, onSnoozed }: DialogProps & { onSnoozed: () => void }) {
  const { words, shortDateTime } = useLanguage();
  const { inbox } = words;
  const now = new Date();
  const [custom, setCustom] = useState(() => fieldValue(new Date(Date.now() + hourMs)));
  const { snoozedUntil } = conversation;
  const isSnoozed = snoozedUntil !== null && Date.parse(snoozedUntil) > Date.now();
  const snooze = (until: Date | null) =>
    background(
      until === null
        ? actions.change({ snoozedUntil: null }).then(onClose, noteFailure)
        : actions.snooze(until).then(onSnoozed, noteFailure),
    );
  const daysToMonday = (8 - now.getDay()) % 7 || 7;
  const choices: readonly (readonly [label: string, until: Date])[] = [
    [inbox.snoozeHour, new Date(now.getTime() + hourMs)],
    [inbox.snoozeHours, new Date(now.getTime() + 3 * hourMs)],
    [inbox.snoozeTomorrow, atMorning(1)],
    [inbox.snoozeMonday, atMorning(daysToMonday)],
  ];
  const customTime = new Date(custom);
  const isUsable = customTime.getTime() > Date.now();
  return (
    <Dialog title={inbox.snoozeTitle} onClose={onClose}>
      <p className="mb-2 text-text-muted">
        {isSnoozed ? (
          <TextWithTime text={inbox.snoozedUntil} time={<LocalTime at={snoozedUntil} />} />
        ) : (
          inbox.snoozeText
        )}
      </p>
      <ErrorNote error={actions.error} />
      <Choices label={inbox.snoozeTitle}>
        {isSnoozed && (
          <Choice isFirst isDisabled={actions.isBusy} onChoose={() => snooze(null)}>
            {inbox.wakeNow}
          </Choice>
        )}
        {choices.map(([label, until], index) => (
          <Choice
            key={label}
            isFirst={!isSnoozed && index === 0}
            isDisabled={actions.isBusy}
            onChoose={() => snooze(until)}
            note={shortDateTime(until, now)}
          >
            {label}
          </Choice>
        ))}
      </Choices>
      <form
        className="mt-3 flex flex-wrap items-end gap-2 border-t pt-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (isUsable) snooze(customTime);
        }}
      >
        <div className="grow">
          <Field label={inbox.snoozeCustom} error={isUsable ? null : inbox.snoozePast}>
            {(attributes) => (
              <Input
                {...attributes}
                type="datetime-local"
                value={custom}
                onChange={(event) => setCustom(event.target.value)}
              />
            )}
          </Field>
        </div>
        <Button type="submit" className="mb-3" isBusy={actions.isBusy} disabled={!isUsable}>
          {inbox.snooze}
        </Button>
      </form>
    </Dialog>
  );
}

const statuses = ['open', 'pending', 'resolved', 'closed'] as const;
const priorities = ['low', 'normal', 'high', 'urgent'] as const;

export function StatusDialog({ conversation, actions, onClose }: DialogProps) {
  const { words } = useLanguage();
  const { inbox, common } = words;
  const [name, setName] = useState(conversation.name);
  const change = (body: Parameters<ConversationActions['change']>[0]) =>
    background(actions.change(body).then(onClose, noteFailure));
  return (
    <Dialog title={inbox.statusAndPriority} onClose={onClose}>
      <ErrorNote error={actions.error} />
      <div className="grid gap-4 sm:grid-cols-2">
        <Choices label={inbox.status}>
          <h3 className="mb-1 text-text-muted">{inbox.status}</h3>
          {statuses.map((status) => (
            <Choice
              key={status}
              isChosen={conversation.status === status}
              isFirst={conversation.status === status}
              isDisabled={actions.isBusy}
              onChoose={() => change({ status })}
            >
              {common.status[status]}
            </Choice>
          ))}
          <p className="mt-1 px-3 text-sm text-text-muted">{inbox.resolvedHint}</p>
          <p className="mt-1 px-3 text-sm text-text-muted">{inbox.closedHint}</p>
        </Choices>
        <Choices label={inbox.priority}>
          <h3 className="mb-1 text-text-muted">{inbox.priority}</h3>
          {priorities.map((priority) => (
            <Choice
              key={priority}
              isChosen={conversation.priority === priority}
              isDisabled={actions.isBusy}
              onChoose={() => change({ priority })}
            >
              {inbox.priorities[priority]}
            </Choice>
          ))}
        </Choices>
      </div>
      <form
        className="mt-3 border-t pt-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== '') change({ name: name.trim() });
        }}
      >
        <Field label={inbox.title} hint={inbox.titleHint}>
          {(attributes) => (
            <Input {...attributes} value={name} maxLength={200} onChange={(event) => setName(event.target.value)} />
          )}
        </Field>
        <Button type="submit" isBusy={actions.isBusy} disabled={name.trim() === '' || name === conversation.name}>
          {common.save}
        </Button>
      </form>
    </Dialog>
  );
}
