import { AlarmClock, ArrowLeft, Check, RotateCcw, Tag, User, UserPlus } from 'lucide-react';
import { useEffect, useRef } from 'react';
import type { InboxConversationDetail } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useStore } from '../../app/use-store.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { StatusPill } from '../../ui/status.tsx';
import { LocalTime, TextWithTime } from '../../ui/time.tsx';
import type { ConversationDialog } from './conversation-dialogs.tsx';
import { useInboxLive } from './live.tsx';
import { usePeople, useVisitorName } from './people.ts';
import type { ConversationActions } from './use-conversation-actions.ts';
import { opening, useInboxAddress } from './use-inbox-address.ts';

const Key = ({ children }: { children: string }) => (
  <kbd aria-hidden className="text-xs hidden font-normal @xl:inline">
    {children}
  </kbd>
);

/** Members who view the conversation now, except the agent. */
function Viewers({ conversation }: { conversation: InboxConversationDetail }) {
  const { words, format } = useLanguage();
  const { ownId, nameOf } = usePeople();
  const { viewers } = useStore(useInboxLive().store);
  const others = (viewers[conversation.id] ?? conversation.viewers).filter((id) => id !== ownId);
  return (
    <span role="status" className="text-sm text-warning">
      {others.length > 0 &&
        format(others.length === 1 ? words.inbox.viewing : words.inbox.viewingMany, {
          names: others.map(nameOf).join(', '),
        })}
    </span>
  );
}

/** Who the conversation is with, who answers it, and what agents do with it. */
export function ConversationHeader({
  conversation,
  actions,
  onResolve,
  onShow,
}: {
  conversation: InboxConversationDetail;
  actions: ConversationActions;
  onResolve: () => void;
  onShow: (dialog: ConversationDialog) => void;
}) {
  const { words } = useLanguage();
  const { inbox, common } = words;
  const { go } = useInboxAddress();
  const nameOf = useVisitorName();
  const { ownerOf } = usePeople();
  const { status, snoozedUntil, priority, environment } = conversation;
  const heading = useRef<HTMLHeadingElement>(null);
  // A conversation that replaces another one takes over the lost focus.
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  const isActive = status === 'open' || status === 'pending';
  const isSnoozed = isActive && snoozedUntil !== null && Date.parse(snoozedUntil) > Date.now();
  return (
    <header className="@container border-b bg-surface px-2 py-1.5 sm:px-4">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <IconButton label={inbox.backToList} className="lg:hidden" onClick={() => go(opening(undefined))}>
          <ArrowLeft size={18} aria-hidden className="rtl:-scale-x-100" />
        </IconButton>
        <div className="min-w-0 grow basis-40">
          <h2
            ref={heading}
            tabIndex={-1}
            id="conversation-title"
            className="outline-none flex min-w-0 items-center gap-2 text-lg"
          >
            <bdi className="min-w-0 truncate">{nameOf(conversation)}</bdi>
            <StatusPill status={isSnoozed ? 'snoozed' : status} />
          </h2>
          <p className="flex flex-wrap gap-x-2 text-sm text-text-muted">
            <span>{visibleLine(ownerOf(conversation))}</span>
            {isSnoozed && (
              <span>
                <TextWithTime text={inbox.snoozedUntil} time={<LocalTime at={snoozedUntil} />} />
              </span>
            )}
            {priority !== 'normal' && <span>{inbox.priorities[priority]}</span>}
            {environment === 'test' && <span>{common.test}</span>}
            <Viewers conversation={conversation} />
          </p>
        </div>
        <div className="flex flex-wrap items-center gap-1">
          <IconButton label={inbox.visitor} className="xl:hidden" onClick={() => go({ panel: 'visitor' })}>
            <User size={18} aria-hidden />
          </IconButton>
          <IconButton label={inbox.statusAndPriority} onClick={() => onShow('status')}>
            <Tag size={17} aria-hidden />
          </IconButton>
          <Button size="small" aria-label={inbox.snooze} title={inbox.snooze} onClick={() => onShow('snooze')}>
            <AlarmClock size={15} aria-hidden />
            <span className="hidden @md:inline">{inbox.snooze}</span>
            <Key>S</Key>
          </Button>
          <Button size="small" aria-label={inbox.assign} title={inbox.assign} onClick={() => onShow('assign')}>
            <UserPlus size={15} aria-hidden />
            <span className="hidden @md:inline">{inbox.assign}</span>
            <Key>⇧A</Key>
          </Button>
          <Button size="small" variant="primary" isBusy={actions.isBusy} onClick={onResolve}>
            {isActive ? <Check size={15} aria-hidden /> : <RotateCcw size={15} aria-hidden />}
            {isActive ? inbox.resolve : inbox.reopen}
            <Key>E</Key>
          </Button>
        </div>
      </div>
      <ErrorNote error={actions.error} />
    </header>
  );
}
