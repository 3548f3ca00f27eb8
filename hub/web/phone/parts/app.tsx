import { useLayoutEffect } from 'preact/hooks';
import { background } from '../../../../shared/web/background.ts';
import { signOut } from '../../../../shared/web/push-subscription.ts';
import { useStore } from '../../kit/store.ts';
import type { Phone } from '../phone.ts';
import type { PhoneState, PhoneStore } from '../state.ts';
import { Announcements } from './announcements.tsx';
import { CallPanel } from './call-panel.tsx';
import { DialForm } from './dial-form.tsx';
import { Colleagues, MissedCalls, RecentCalls } from './lists.tsx';
import { isolated, nameOf } from './names.ts';
import { Problems } from './problems.tsx';
import { Settings } from './settings.tsx';

function titleOf({ call, missed, language }: PhoneState): string {
  const { words, format } = language;
  if (call?.phase === 'incoming') return format(words.titleIncoming, { name: nameOf(call.peer, language) });
  return missed.length > 0 ? format(words.titleMissed, { count: missed.length }) : words.title;
}

export function App({ phone, store }: { phone: Phone; store: PhoneStore }) {
  const state = useStore(store);
  const { language, signedInUser, problem, connection, call } = state;
  const { words, format } = language;
  const title = titleOf(state);
  useLayoutEffect(() => {
    document.title = title;
  }, [title]);
  const isUsable = problem === null || call !== null;
  return (
    <main class="voice phone">
      <header>
        <h1>{words.title}</h1>
        {signedInUser !== null && (
          <p>
            {format(words.signedIn, {
              email: isolated(signedInUser.email),
              workspace: isolated(signedInUser.workspaceName),
            })}
          </p>
        )}
        <nav>
          {isUsable && (
            <span class="line" data-connection={connection}>
              {words[connection]}
            </span>
          )}
          <a href="./">Outrigger</a>
          {signedInUser !== null && problem !== 'ended' && (
            <form
              method="post"
              action="sign-out"
              onSubmit={(event) => {
                event.preventDefault();
                background(signOut(event.currentTarget));
              }}
            >
              <input type="hidden" name="to" value="/phone" />
              <button type="submit">{words.signOut}</button>
            </form>
          )}
        </nav>
      </header>
      <Announcements state={state} />
      <Problems phone={phone} state={state} />
      {isUsable && (
        <div class="columns">
          <div class="desk">
            {call === null ? (
              <DialForm phone={phone} state={state} />
            ) : (
              <CallPanel phone={phone} state={state} call={call} />
            )}
            <Settings phone={phone} state={state} />
          </div>
          <div class="lists">
            <MissedCalls phone={phone} state={state} />
            <Colleagues phone={phone} state={state} />
            <RecentCalls phone={phone} state={state} />
          </div>
        </div>
      )}
    </main>
  );
}
