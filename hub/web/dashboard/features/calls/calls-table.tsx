import type { CallRecord } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { Pill } from '../../ui/status.tsx';
import type { Tone } from '../../ui/status.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { LocalTime } from '../../ui/time.tsx';

const toneOf: Record<NonNullable<CallRecord['result']>, Tone> = {
  answered: 'success',
  missed: 'warning',
  busy: 'warning',
  failed: 'danger',
  voicemail: 'neutral',
  cancelled: 'neutral',
};

/** A caller or callee: the name of a member, or the number. */
function Party({ id, name }: { id: string | null; name: string | null }) {
  const { unknown } = useLanguage().words.calls;
  const number = id === null ? unknown : visibleLine(id);
  if (name === null) return <span dir="ltr">{number}</span>;
  return (
    <>
      {visibleLine(name)}
      <div dir="ltr" className="text-start text-sm text-text-muted">
        {number}
      </div>
    </>
  );
}

function CallRow({ call }: { call: CallRecord }) {
  const { words, format, duration, number } = useLanguage();
  const texts = words.calls;
  const note =
    call.reason === null
      ? call.hangupBy === null
        ? undefined
        : texts.hangup[call.hangupBy]
      : format(texts.reason, { reason: visibleLine(call.reason) });
  return (
    <Row>
      <Cell note={call.direction === null ? undefined : texts.directions[call.direction]}>
        {call.result === null ? (
          <Pill tone="accent">{texts.states[call.state]}</Pill>
        ) : (
          <Pill tone={toneOf[call.result]}>{texts.results[call.result]}</Pill>
        )}
      </Cell>
      <Cell className="wrap-anywhere">
        <Party id={call.fromId} name={call.fromName} />
      </Cell>
      <Cell className="wrap-anywhere">
        <Party id={call.toId} name={call.toName} />
      </Cell>
      <Cell>
        <LocalTime at={call.startedAt} />
      </Cell>
      <Cell note={call.ringSecs === null ? note : format(texts.rang, { duration: duration(call.ringSecs * 1000) })}>
        {duration(call.durationSecs * 1000)}
      </Cell>
      <Cell>{call.mosScore === null ? words.common.none : format(texts.mos, { score: number(call.mosScore) })}</Cell>
    </Row>
  );
}

/** Calls, newest first. */
export function CallsTable({ calls }: { calls: readonly CallRecord[] }) {
  const texts = useLanguage().words.calls;
  return (
    <Table head={[texts.result, texts.from, texts.to, texts.started, texts.talk, texts.quality]}>
      {calls.map((call) => (
        <CallRow key={call.id} call={call} />
      ))}
    </Table>
  );
}
