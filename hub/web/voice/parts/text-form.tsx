import { useState } from 'preact/hooks';
import type { maxInputLength } from '../../../../shared/contract/ai/runs.ts';
import { SendIcon } from './icons.tsx';
import type { PartProps } from './part-props.ts';

const maxLength: typeof maxInputLength = 4_000;

/** Sends written input. */
export function TextForm({ session, state: { language, connection } }: PartProps) {
  const { words } = language;
  const [draft, setDraft] = useState('');
  const text = draft.trim();
  const send = () => {
    if (text !== '' && session.sendText(text)) setDraft('');
  };
  return (
    <form
      class="write"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <input
        type="text"
        dir="auto"
        autocomplete="off"
        enterkeyhint="send"
        maxLength={maxLength}
        value={draft}
        aria-label={words.write}
        placeholder={words.write}
        onInput={({ currentTarget }) => setDraft(currentTarget.value)}
      />
      <button type="submit" class="send" aria-label={words.send} disabled={text === '' || connection !== 'open'}>
        <SendIcon />
      </button>
    </form>
  );
}
