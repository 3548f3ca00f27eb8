import type { ComponentChildren } from 'preact';
import type { CallRecord } from '../../../../shared/contract/calls/records.ts';
import { clockOf } from '../language.ts';
import { peerOf, peerOfRecord } from '../people.ts';
import type { Peer } from '../people.ts';
import { canCall } from '../state.ts';
import { CallIcon, InboundIcon, OutboundIcon } from './icons.tsx';
import { nameOf } from './names.ts';
import type { PartProps } from './part-props.ts';

interface RowProps extends PartProps {
  peer: Peer;
  detail: ComponentChildren;
  icon?: ComponentChildren;
}

/** Somebody who can be called by a click. */
function Row({ phone, state, peer, detail, icon }: RowProps) {
  const { language } = state;
  const name = nameOf(peer, language);
  return (
    <li>
      {icon}
      <div class="who">
        <p dir="auto">{name}</p>
        <p class="soft">{detail}</p>
      </div>
      {peer.user !== null && (
        <button
          type="button"
          class="again"
          aria-label={language.say(language.words.callName, { name })}
          disabled={!canCall(state)}
          onClick={() => void phone.callPeer(peer)}
        >
          <CallIcon />
        </button>
      )}
    </li>
  );
}

/** Calls that nobody took while the page was open. */
export function MissedCalls({ phone, state }: PartProps) {
  const { missed, language } = state;
  const { words } = language;
  if (missed.length === 0) return null;
  return (
    <section class="list missed" aria-labelledby="missed">
      <div class="top">
        <h2 id="missed">{words.missed}</h2>
        <button type="button" onClick={() => phone.forgetMissed()}>
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

const results = {
  missed: 'resultMissed',
  busy: 'resultBusy',
  failed: 'resultFailed',
  voicemail: 'resultVoicemail',
  cancelled: 'resultCancelled',
} as const;

/** Calls of the workspace, as its carriers told them. */
export function RecentCalls({ phone, state }: PartProps) {
  const { records, account, colleagues, language } = state;
  const { words } = language;
  const directory = { domain: account?.domain ?? '', colleagues };
  const detailOf = ({ startedAt, result, durationSecs }: CallRecord) => (
    <>
      {language.time(new Date(startedAt))}
      {result === 'answered' && ` · ${clockOf(durationSecs)}`}
      {result !== null && result !== 'answered' && (
        <>
          {' · '}
          <span class={result === 'missed' ? 'bad' : ''}>{words[results[result]]}</span>
        </>
      )}
    </>
  );
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
      <ul>
        {(records ?? []).map((record) => {
          const isInbound = record.direction === 'inbound';
          return (
            <Row
              key={record.id}
              phone={phone}
              state={state}
              peer={peerOfRecord(isInbound ? record.fromId : record.toId, directory)}
              detail={detailOf(record)}
              icon={
                <span class="way" role="img" aria-label={isInbound ? words.inbound : words.outbound}>
                  {isInbound ? <InboundIcon /> : <OutboundIcon />}
                </span>
              }
            />
          );
        })}
      </ul>
    </section>
  );
}

/** The others of the workspace. */
export function People({ phone, state }: PartProps) {
  const { colleagues, language } = state;
  if (colleagues.length === 0) return null;
  return (
    <section class="list" aria-labelledby="people">
      <div class="top">
        <h2 id="people">{language.words.people}</h2>
      </div>
      <ul>
        {colleagues.map(({ id, user }) => (
          <Row key={id} phone={phone} state={state} peer={peerOf(user, '', colleagues)} detail="" />
        ))}
      </ul>
    </section>
  );
}
