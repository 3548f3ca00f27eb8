import { useEffect, useRef } from 'preact/hooks';
import { canInterrupt } from '../state.ts';
import { MicrophoneIcon } from './icons.tsx';
import type { PartProps } from './part-props.ts';

/** Whoever lets go sooner pressed once to begin, and presses again to send, in milliseconds. */
const tapMs = 350;

/** Held while somebody speaks, or pressed before and after; hands-free it switches listening on and off. */
export function TalkButton({ session, state }: PartProps) {
  const { language, isHandsFree, isListening, connection } = state;
  const { words } = language;
  const button = useRef<HTMLButtonElement>(null);
  const pressedAt = useRef<number | null>(null);
  useEffect(() => {
    session.levels.answer = (level) => button.current?.style.setProperty('--answer', level.toFixed(3));
  }, [session]);

  const press = () => {
    if (isHandsFree) void session.toggleListening();
    else if (isListening) session.endUtterance();
    else {
      pressedAt.current = performance.now();
      void session.startUtterance();
    }
  };
  const release = () => {
    const pressStartedAt = pressedAt.current;
    pressedAt.current = null;
    if (pressStartedAt === null || performance.now() - pressStartedAt < tapMs) return;
    // Before it listens there is nothing to send: the person was asked for the microphone meanwhile.
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
      disabled={connection !== 'open' && !isListening}
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
        // Of programs that press buttons for people; fingers and keys were heard above.
        if (event.detail === 0) press();
      }}
    >
      <MicrophoneIcon />
      <span>{label}</span>
    </button>
  );
}
