import { useLayoutEffect, useRef } from 'preact/hooks';
import { background } from '../../../../shared/web/background.ts';
import { canCall } from '../state.ts';
import { lastText } from './announcements.tsx';
import { CallIcon } from './icons.tsx';
import type { PartProps } from './part-props.ts';

/** The dial field, with the outcome of the previous call. */
export function DialForm({ phone, state }: PartProps) {
  const { language, dialled, isDialledInvalid, last } = state;
  const { words } = language;
  const input = useRef<HTMLInputElement>(null);
  const wasInCall = last !== null;
  // The focused button that ended the call was removed, so the focus is lost.
  useLayoutEffect(() => {
    if (wasInCall && document.activeElement === document.body) input.current?.focus();
  }, [wasInCall]);
  return (
    <form
      class="dial"
      onSubmit={(event) => {
        event.preventDefault();
        background(phone.dial());
      }}
    >
      {last !== null && (
        <p class="last" data-outcome={last.outcome} aria-hidden="true">
          {lastText(last, language)}
        </p>
      )}
      <label class="field">
        <span>{words.dial}</span>
        <input
          ref={input}
          type="text"
          dir="ltr"
          inputMode="tel"
          enterkeyhint="go"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          maxLength={200}
          value={dialled}
          aria-describedby="dial-hint"
          aria-invalid={isDialledInvalid}
          onInput={({ currentTarget }) => phone.setDialled(currentTarget.value)}
        />
      </label>
      <p
        id="dial-hint"
        class={isDialledInvalid ? 'hint wrong' : 'soft hint'}
        role={isDialledInvalid ? 'alert' : undefined}
      >
        {isDialledInvalid ? words.dialWrong : words.dialHint}
      </p>
      <button type="submit" class="round take" disabled={!canCall(state) || dialled.trim() === ''}>
        <CallIcon />
        <span>{words.call}</span>
      </button>
    </form>
  );
}
