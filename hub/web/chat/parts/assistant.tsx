import { useState } from 'preact/hooks';
import { background } from '../../../../shared/web/background.ts';
import type { PartProps } from './part-props.ts';

/** Shows that an AI assistant answers, and a button that hands the conversation over to a person. */
export function Assistant({ chat, state }: PartProps) {
  const { words } = state.language;
  const [isAsking, setAsking] = useState(false);
  const [hasFailed, setFailed] = useState(false);
  const assistant = state.conversation?.assistant ?? null;
  if (assistant === null) return null;
  const ask = async () => {
    setAsking(true);
    setFailed(false);
    try {
      await chat.askForPerson();
      // The focused button disappears, so the focus moves to the main field.
      document.querySelector<HTMLElement>('[data-first]')?.focus();
    } catch {
      setFailed(true);
    } finally {
      setAsking(false);
    }
  };
  return (
    <div class="assistant">
      <p dir="auto">{assistant.disclosure === '' ? words.assisted : assistant.disclosure}</p>
      <button type="button" class="second" disabled={isAsking} onClick={() => background(ask())}>
        {words.askPerson}
      </button>
      <p class="failure" role="alert">
        {hasFailed ? words.failed : ''}
      </p>
    </div>
  );
}
