import { useEffect, useRef } from 'preact/hooks';
import { background } from '../../../../shared/web/background.ts';
import { activityOf, canInterrupt } from '../state.ts';
import { MicrophoneIcon } from './icons.tsx';
import type { PartProps } from './part-props.ts';

/** A shorter press starts recording, and a second press sends the utterance. */
const tapMs = 350;

/** Records while pressed, or between two short presses. In hands-free mode it starts and stops listening. */
export function TalkButton({ session, state }: PartProps) {
  const { language, isHandsFree, isListening, connection } = state;
  const { words } = language;
  const button = useRef<HTMLButtonElement>(null);
  const pressedAt = useRef<number | null>(null);
  useEffect(() => {
    session.levels.answer = (level) => button.current?.style.setProperty('--answer', level.toFixed(3));
  }, [session]);

  const press = () => {
    if (isHandsFree) background(session.toggleListening());
    else if (isListening) session.endUtterance();
    else {
      pressedAt.current = performance.now();
      background(session.startUtterance());
    }
  };
  const release = () => {
    const pressStartedAt = pressedAt.current;
    pressedAt.current = null;
    if (pressStartedAt === null || performance.now() - pressStartedAt < tapMs) return;
    // Nothing is recorded yet: the browser is asking the user to allow the microphone.
    if (state.microphone === 'opening') session.cancelUtterance();
    else session.endUtterance();
  };
  const isKey = ({ key }: KeyboardEvent) => key === ' ' || key === 'Enter';
  const label = isHandsFree
    ? isListening
      ? words.stopListening
      : words.listen
    : isListening
      ? words.release
      : canInterrupt(state)
        ? words.holdToInterrupt
        : words.hold;
  return (
    <button
      ref={button}
      type="button"
      class="talk"
      aria-describedby="hint"
      data-listening={isListening}
      disabled={(connection !== 'open' || activityOf(state) === 'unavailable') && !isListening}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        press();
      }}
      onPointerUp={release}
      onPointerCancel={release}
      onContextMenu={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (!isKey(event)) return;
        event.preventDefault();
        if (!event.repeat) press();
      }}
      onKeyUp={(event) => {
        if (!isKey(event)) return;
        event.preventDefault();
        release();
      }}
      onBlur={release}
      onClick={(event) => {
        // Clicks by assistive technology have the detail 0; pointer and keyboard events are handled above.
        if (event.detail === 0) press();
      }}
    >
      <MicrophoneIcon />
      <span>{label}</span>
    </button>
  );
}
