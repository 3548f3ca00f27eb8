import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { background } from '../../../../shared/web/background.ts';
import { Level } from '../../kit/level.tsx';
import type { Language } from '../language.ts';
import type { CallView } from '../state.ts';
import { phaseText } from './announcements.tsx';
import { CallIcon, HangUpIcon, HoldIcon, KeypadIcon, MuteIcon } from './icons.tsx';
import { Keypad } from './keypad.tsx';
import { nameOf } from './names.ts';
import type { PartProps } from './part-props.ts';

/** The current call with its buttons. */
export function CallPanel({ phone, state, call }: PartProps & { call: CallView }) {
  const { language, connection } = state;
  const { words } = language;
  const { peer, phase, isMuted, isHeld, digits } = call;
  const [isKeypadOpen, setKeypadOpen] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const isTalking = phase === 'talking';
  const isIncoming = phase === 'incoming';
  // Focus moves to the name instead of a button: a user who is typing must not answer or end a call by accident.
  useLayoutEffect(() => heading.current?.focus(), [isIncoming]);
  return (
    <section class="call" aria-labelledby="peer" data-phase={phase}>
      <h2 id="peer" ref={heading} tabIndex={-1}>
        {nameOf(peer, language)}
      </h2>
      {peer.number !== '' && <p dir="ltr">{peer.number}</p>}
      <p class="phase">
        {isIncoming ? words.incoming : phaseText(call, words)}
        {isTalking && <Clock since={call.since} language={language} />}
      </p>
      {isTalking && !isKeypadOpen && <Quality call={call} words={words} format={language.format} />}
      {isTalking && !isKeypadOpen && (
        <div class="levels">
          <div class="side">
            <span aria-hidden="true">{words.microphoneLevel}</span>
            <Level levels={phone.levels} side="microphone" label={words.microphoneLevel} isOn={!isMuted && !isHeld} />
          </div>
          <div class="side">
            <span aria-hidden="true">{words.answerLevel}</span>
            <Level levels={phone.levels} side="answer" label={words.answerLevel} isOn />
          </div>
        </div>
      )}
      {isTalking && (
        <div class="tools">
          <button type="button" class="tool" aria-pressed={isMuted} onClick={() => phone.toggleMute()}>
            <MuteIcon />
            <span>{words.mute}</span>
          </button>
          <button
            type="button"
            class="tool"
            aria-pressed={isHeld}
            disabled={connection !== 'ready'}
            onClick={() => phone.toggleHold()}
          >
            <HoldIcon />
            <span>{words.hold}</span>
          </button>
          <button type="button" class="tool" aria-expanded={isKeypadOpen} onClick={() => setKeypadOpen(!isKeypadOpen)}>
            <KeypadIcon />
            <span>{words.keypad}</span>
          </button>
        </div>
      )}
      <div class="ends">
        {isIncoming && (
          <button type="button" class="round take" onClick={() => background(phone.answer())}>
            <CallIcon />
            <span>{words.answer}</span>
          </button>
        )}
        <button type="button" class="round leave" onClick={() => phone.hangUp()}>
          <HangUpIcon />
          <span>{isIncoming ? words.reject : words.hangUp}</span>
        </button>
      </div>
      {isTalking && isKeypadOpen && <Keypad phone={phone} state={state} digits={digits} />}
    </section>
  );
}

const secondMs = 1_000;

/** Duration of the call. Screen readers do not read it out, because it changes every second. */
function Clock({ since, language }: { since: number; language: Language }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), secondMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="clock" aria-live="off">
      {language.clock(Math.max(0, now - since) / secondMs)}
    </span>
  );
}

type QualityProps = { call: CallView } & Pick<PartProps['state']['language'], 'words' | 'format'>;

function Quality({ call: { quality, isHeld, isHeldByOther, isBroken }, words, format }: QualityProps) {
  // Silence is expected while the call is on hold, and an outage has its own message.
  if (quality === null || ((isHeld || isHeldByOther || isBroken) && quality.verdict === 'silent')) return null;
  const { verdict, lostPercent: lost, jitterMs: jitter, roundTripMs } = quality;
  const measures =
    roundTripMs === null
      ? format(words.measuredPart, { jitter, lost })
      : format(words.measured, { delay: Math.round(roundTripMs / 2), jitter, lost });
  return (
    <div class="quality" role="group" aria-label={words.quality} data-quality={verdict}>
      <p>{words[verdict]}</p>
      {verdict !== 'silent' && <p class="soft">{measures}</p>}
    </div>
  );
}
