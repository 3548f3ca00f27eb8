import { useState } from 'preact/hooks';
import { background } from '../../../../shared/web/background.ts';
import { HubError } from '../api.ts';
import type { Language } from '../language.ts';
import type { PartProps } from './part-props.ts';

/** The form in which an anonymous visitor enters a question and contact details to start a conversation. */
export function StartForm({ chat, state: { settings, language, draft } }: PartProps) {
  const { words } = language;
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState('');
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  if (settings === null) return null;
  const { preChat, greeting, awayMessage, open } = settings;

  const begin = async (event: Event) => {
    event.preventDefault();
    const content = draft.trim();
    if (isBusy || content === '') return;
    setBusy(true);
    setFailure('');
    try {
      const [trimmedName, trimmedEmail] = [name.trim(), email.trim()];
      await chat.startAnonymous({
        content,
        ...(trimmedName === '' ? {} : { name: trimmedName }),
        ...(trimmedEmail === '' ? {} : { email: trimmedEmail }),
      });
      chat.setDraft('');
    } catch (error) {
      setFailure(failureOf(error, language));
    } finally {
      setBusy(false);
    }
  };

  const field = (
    kind: 'name' | 'email',
    { value, set, limit }: { value: string; set: (value: string) => void; limit: number },
  ) =>
    preChat[kind] !== 'off' && (
      <label>
        <span>
          {words[kind]} {preChat[kind] === 'optional' && <small>({words.optional})</small>}
        </span>
        <input
          type={kind === 'email' ? 'email' : 'text'}
          list={undefined}
          autocomplete={kind}
          maxLength={limit}
          required={preChat[kind] === 'required'}
          dir={kind === 'email' ? 'ltr' : 'auto'}
          value={value}
          onInput={({ currentTarget }) => set(currentTarget.value)}
        />
      </label>
    );

  return (
    <main class="start">
      <form onSubmit={(event) => background(begin(event))}>
        {greeting !== null && greeting !== '' && (
          <p class="greeting" dir="auto">
            {greeting}
          </p>
        )}
        {!open && awayMessage !== '' && (
          <p class="notice" dir="auto">
            {awayMessage}
          </p>
        )}
        {field('name', { value: name, set: setName, limit: 200 })}
        {field('email', { value: email, set: setEmail, limit: 254 })}
        <label>
          <span>{words.question}</span>
          <textarea
            data-first
            rows={4}
            required
            maxLength={10_000}
            dir="auto"
            value={draft}
            onInput={({ currentTarget }) => chat.setDraft(currentTarget.value)}
          />
        </label>
        <p class="failure" role="alert">
          {failure}
        </p>
        <button type="submit" class="main" disabled={isBusy}>
          {words.start}
        </button>
      </form>
    </main>
  );
}

function failureOf(error: unknown, { words, format, timeUntil }: Language): string {
  if (!(error instanceof HubError)) return words.failed;
  if (error.code === 'validation_failed') return error.message;
  if (error.code === 'rate_limited' && error.retryAfterMs > 0)
    return format(words.busy, { when: timeUntil(error.retryAfterMs) });
  return words.failed;
}
