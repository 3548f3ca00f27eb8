import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { CallRecord } from '../../../../shared/contract/calls/records.ts';
import { background } from '../../../../shared/web/background.ts';
import { peerOf, callListItemOf } from '../peers.ts';
import type { Peer, CallListItem } from '../peers.ts';
import { canCall } from '../state.ts';
import { BetweenIcon, CallIcon, InboundIcon, OutboundIcon } from './icons.tsx';
import { nameOf } from './names.ts';
import type { PartProps } from './part-props.ts';

interface RowProps extends PartProps {
  peer: Peer;
  /** Who was called, in a call between others. */
  other?: Peer | null;
  detail: ComponentChildren;
  icon?: ComponentChildren;
}

/** A list item with a button that calls the peer. */
function Row({ phone, state, peer, other = null, detail, icon }: RowProps) {
  const { language } = state;
  const name = nameOf(peer, language);
  return (
    <li>
      {icon}
      <div class="who">
        <p>{other === null ? name : `${name} ${language.arrow} ${nameOf(other, language)}`}</p>
        <p class="soft">{detail}</p>
      </div>
      {peer.user !== null && (
        <button
          type="button"
          class="again"
          aria-label={language.format(language.words.callName, { name })}
          disabled={!canCall(state)}
          onClick={() => background(phone.callPeer(peer))}
        >
          <CallIcon />
        </button>
      )}
    </li>
  );
}

/** Incoming calls that were not answered while the page was open. */
export function MissedCalls({ phone, state }: PartProps) {
  const { missed, language } = state;
  const { words } = language;
  if (missed.length === 0) return null;
  return (
    <section class="list missed" aria-labelledby="missed">
      <div class="top">
        <h2 id="missed">{words.missed}</h2>
        <button type="button" onClick={() => phone.clearMissed()}>
          {words.forget}
        </button>
      </div>
      <ul>
        {missed.map(({ id, peer, at }) => (
          <Row key={id} phone={phone} state={state} peer={peer} detail={language.time(at)} />
        ))}
      </ul>
    </section>
  );
}

/** Items that a list shows before it is expanded. */
const collapsedCount = 8;

/** A list that shows its first items, and the rest after a click. */
function CollapsibleList({ rows, more }: { rows: readonly ComponentChildren[]; more: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <ul>{isOpen ? rows : rows.slice(0, collapsedCount)}</ul>
      {!isOpen && rows.length > collapsedCount && (
        <button type="button" class="more" onClick={() => setOpen(true)}>
          {more}
        </button>
      )}
    </>
  );
}

const results = {
  missed: 'resultMissed',
  busy: 'resultBusy',
  failed: 'resultFailed',
  voicemail: 'resultVoicemail',
  cancelled: 'resultCancelled',
} as const;
const declinedStatus = 603;

/** Key of the text for the result of a call. Null if the call was answered or is in progress. */
function resultWordOf({ result, sipCode }: CallRecord, kind: CallListItem['kind']) {
  if (result === null || result === 'answered') return null;
  if (sipCode === declinedStatus) return 'resultDeclined';
  // For the called side every unanswered call is a missed call, whatever the reason.
  return kind === 'inbound' && result !== 'voicemail' ? 'resultMissed' : results[result];
}

const callIcons = { inbound: InboundIcon, outbound: OutboundIcon, between: BetweenIcon };

/** Calls of the workspace, as reported by its carriers. */
export function RecentCalls({ phone, state }: PartProps) {
  const { records, account, colleagues, language } = state;
  const { words } = language;
  const directory = { domain: account?.domain ?? '', colleagues };
  const rowOf = (record: CallRecord) => {
    const { kind, peer, other } = callListItemOf(record, account?.user ?? '', directory);
    const word = resultWordOf(record, kind);
    const Icon = callIcons[kind];
    return (
      <Row
        key={record.id}
        phone={phone}
        state={state}
        peer={peer}
        other={other}
        detail={
          <>
            {language.time(new Date(record.startedAt))}
            {record.result === 'answered' && ` · ${language.clock(record.durationSecs)}`}
            {word !== null && ' · '}
            {word !== null && <span class={word === 'resultMissed' ? 'bad' : ''}>{words[word]}</span>}
          </>
        }
        icon={
          <span class="way" role="img" aria-label={words[kind]}>
            <Icon />
          </span>
        }
      />
    );
  };
  return (
    <section class="list" aria-labelledby="recent">
      <div class="top">
        <h2 id="recent">{words.recent}</h2>
      </div>
      <p class="soft note">
        {records === null
          ? account === null
            ? words.connecting
            : words.callsUnread
          : records.length === 0
            ? words.noCalls
            : words.recentHint}
      </p>
      <CollapsibleList rows={(records ?? []).map(rowOf)} more={words.more} />
    </section>
  );
}

/** The other members of the workspace. */
export function Colleagues({ phone, state }: PartProps) {
  const { colleagues, language } = state;
  if (colleagues.length === 0) return null;
  return (
    <section class="list" aria-labelledby="people">
      <div class="top">
        <h2 id="people">{language.words.people}</h2>
      </div>
      <CollapsibleList
        rows={colleagues.map(({ id, user }) => (
          <Row key={id} phone={phone} state={state} peer={peerOf(user, '', colleagues)} detail="" />
        ))}
        more={language.words.more}
      />
    </section>
  );
}
