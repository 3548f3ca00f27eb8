import { background } from '../../../shared/web/background.ts';
import type { PageLanguage } from '../../../shared/web/locale.ts';
import { Retry } from '../kit/problem.tsx';
import { useStore } from '../kit/store.ts';
import type { Notifications } from './notifications.ts';
import type { Words } from './words/english.ts';

/** Isolates a text, so that its direction does not change the text around it. */
const isolated = (text: string) => `\u2068${text}\u2069`;

export interface AppProps {
  notifications: Notifications;
  language: PageLanguage<Words>;
}

export function App({ notifications, language: { words, format } }: AppProps) {
  const { status, user, isBusy, refusal } = useStore(notifications.store);
  const isProblem = status !== 'on' && status !== 'off' && status !== 'loading';
  const isOff = status === 'off' || status === 'stopped' || status === 'noService';
  return (
    <main>
      <h1>{words.title}</h1>
      {user !== null && <p class="soft">{format(words.user, { email: isolated(user.email) })}</p>}
      <p>{words.text}</p>
      <div class={`state ${status}`} role="status" data-status={status}>
        <p>
          <b>{words[status]}</b>
        </p>
        {isProblem && <p>{words[`${status}Text`]}</p>}
      </div>
      {refusal !== null && (
        <p class="refusal" role="alert">
          {refusal}
        </p>
      )}
      <div class="actions">
        {isOff && (
          <button type="button" class="main" disabled={isBusy} onClick={() => background(notifications.turnOn())}>
            {words.turnOn}
          </button>
        )}
        {status === 'on' && (
          <button type="button" class="second" disabled={isBusy} onClick={() => background(notifications.turnOff())}>
            {words.turnOff}
          </button>
        )}
        {(status === 'denied' || status === 'noHub' || (status === 'loading' && refusal !== null)) && (
          <Retry label={words.retry} onRetry={() => background(notifications.load())} />
        )}
      </div>
      <p class="soft">{words.privacy}</p>
      <p class="soft">{words.session}</p>
      <p>
        <a href="/app/settings/profile">{words.back}</a>
      </p>
    </main>
  );
}
