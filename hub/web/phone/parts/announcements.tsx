import type { CallView, PhoneState } from '../state.ts';
import { nameOf } from './names.ts';

/** Announcements for screen readers. Incoming calls interrupt (role `alert`), other changes do not (role `status`). */
export function Announcements({ state }: { state: PhoneState }) {
  const { call, language } = state;
  const { words, format } = language;
  const isIncoming = call?.phase === 'incoming';
  return (
    <>
      <p class="visually-hidden" role="alert">
        {isIncoming ? format(words.incomingFrom, { name: nameOf(call.peer, language) }) : ''}
      </p>
      <p class="visually-hidden" role="status">
        {isIncoming ? '' : textOf(state)}
      </p>
    </>
  );
}

function textOf({ call, last, language }: PhoneState): string {
  const { words } = language;
  if (call !== null) return [nameOf(call.peer, language), phaseText(call, words)].join(': ');
  return last === null ? '' : lastText(last, language);
}

export function phaseText(
  { phase, isHeld, isHeldByOther, isBroken }: CallView,
  words: PhoneState['language']['words'],
): string {
  if (phase === 'connecting') return words.pickingUp;
  if (phase !== 'talking') return words[phase];
  if (isBroken) return words.broken;
  return isHeld ? words.held : isHeldByOther ? words.heldByOther : words.talking;
}

export function lastText(
  { peer, outcome, seconds }: NonNullable<PhoneState['last']>,
  language: PhoneState['language'],
): string {
  const text = language.words[outcome];
  return `${nameOf(peer, language)}: ${seconds === null ? text : `${text} · ${language.clock(seconds)}`}`;
}
