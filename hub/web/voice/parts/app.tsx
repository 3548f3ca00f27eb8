import { useEffect } from 'preact/hooks';
import { background } from '../../../../shared/web/background.ts';
import { signOut } from '../../../../shared/web/push-subscription.ts';
import { useStore } from '../../kit/store.ts';
import type { VoiceStore } from '../state.ts';
import type { VoiceSession } from '../voice-session.ts';
import { Controls } from './controls.tsx';
import { Problems } from './problems.tsx';
import { Settings } from './settings.tsx';
import { TextForm } from './text-form.tsx';
import { Transcript } from './transcript.tsx';

/** Isolates a text, so that its direction does not change the text around it. */
const isolated = (text: string) => `\u2068${text}\u2069`;

export function App({ session, store }: { session: VoiceSession; store: VoiceStore }) {
  const state = useStore(store);
  const { language, signedInUser, problem } = state;
  const { words, format } = language;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.isComposing) return;
      if (!store.state.isHandsFree) session.cancelUtterance();
      session.interrupt();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [session, store]);
  const isUsable = problem === null || problem === 'notConfigured';
  return (
    <main class="voice">
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
              <input type="hidden" name="to" value="/voice" />
              <button type="submit">{words.signOut}</button>
            </form>
          )}
        </nav>
      </header>
      <Problems session={session} state={state} />
      <Transcript session={session} state={state} />
      {isUsable && (
        <div class="dock">
          <Controls session={session} state={state} />
          <TextForm session={session} state={state} />
          <Settings session={session} state={state} />
        </div>
      )}
    </main>
  );
}
